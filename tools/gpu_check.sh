#!/bin/sh
# gpu_check.sh [BUILD [RESULTS [OP...]]]: what can be shown on a machine with an NVIDIA GPU. Exits 77, and
# says so, where there is none; 1 where anything fails. Into the folder RESULTS (default gpu_results):
#
#   device.csv               the GPU, its driver, its architecture, the date
#   oracle_cuda.json, oracle_cuda_oracle.json
#                            the oracle's lines on both backends, 2 cases of each op and dtype
#   oracle_cublas.json, oracle_cublas_tf32.json, oracle_cudnn.json, oracle_cudnn_tf32.json
#                            the same on the backends over NVIDIA's libraries, 20 cases of each of their ops
#                            and dtypes; where a library is missing, the summary says so instead
#   memcheck.txt, racecheck.txt
#                            compute-sanitizer on some ops, where it is installed
#   nvrtc.txt                registers and spills of every kernel, for sm_80 and sm_90
#   summary.txt              a line for each of these
#
# A step that takes more than $MOTE_GPU_CHECK_SECONDS (default 150) is ended and has failed. With OPs: the
# oracle on these ops alone.
set -eu
if ! command -v nvidia-smi > /dev/null 2>&1 || ! nvidia-smi -L > /dev/null 2>&1; then
  echo "gpu_check: no NVIDIA GPU on this machine" >&2
  exit 77
fi
build=${1:-build/release}
results=${2:-gpu_results}
if [ $# -gt 2 ]; then shift 2; else set --; fi
seconds=${MOTE_GPU_CHECK_SECONDS:-150}
mkdir -p "$results"
: > "$results/summary.txt"
failed=0

# step FILE COMMAND...: its output into the file, how it ended into the summary.
step() {
  file=$results/$1
  shift
  began=$(date +%s)
  code=0
  timeout "$seconds" "$@" > "$file" 2>&1 || code=$?
  test $code -eq 0 || failed=1
  echo "$(basename "$file"): exit $code after $(($(date +%s) - began)) s" | tee -a "$results/summary.txt"
}

{
  date -u +%Y-%m-%dT%H:%M:%SZ
  nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total --format=csv
} > "$results/device.csv"
cat "$results/device.csv"

for backend in cuda cuda_oracle; do
  step "oracle_$backend.json" "$build/bin/mote" check "$@" --plugin "$build/lib/mote/cuda.so" \
    --backend "$backend" --count 2 --seed 1 --workers "$(nproc)" --json
done
# vendor LIBRARY BACKEND "OP..." [ASKED...]: a backend of a library, on its ops or on those that are asked for.
vendor() {
  library=$1
  backend=$2
  ops=$3
  shift 3
  if [ $# -gt 0 ]; then
    has=" $ops "
    ops=
    for op in "$@"; do
      case $has in *" $op "*) ops="$ops $op" ;; esac
    done
  fi
  test -n "$ops" || return 0
  if ! "$build/bin/mote" doctor | grep -q "^ok  *$library "; then
    echo "$backend: $library is not installed" | tee -a "$results/summary.txt"
    return 0
  fi
  # shellcheck disable=SC2086  # a word for each op
  step "oracle_$backend.json" "$build/bin/mote" check $ops --plugin "$build/lib/mote/$library.so" \
    --backend "$backend" --count 80 --seed 1 --workers "$(nproc)" --json
}
convolutions="conv1d conv2d conv3d conv1d.grad conv2d.grad conv3d.grad conv_transpose2d"
vendor cublas cublas "gemm matmul" "$@"
vendor cublas cublas_tf32 "gemm matmul" "$@"
vendor cudnn cudnn "$convolutions max_pool2d max_pool3d avg_pool2d avg_pool3d avg_pool2d.grad avg_pool3d.grad softmax log_softmax softmax.grad lrn batch_norm batch_norm_training relu elu sigmoid silu tanh sigmoid.grad tanh.grad add sub mul min max sqrt sum mean prod reduce_min reduce_max norm1 norm2 global_avg_pool global_max_pool" "$@"
vendor cudnn cudnn_tf32 "$convolutions" "$@"
if [ $# -eq 0 ]; then
  if command -v compute-sanitizer > /dev/null 2>&1; then
    for tool in memcheck racecheck; do
      step $tool.txt compute-sanitizer --tool $tool --error-exitcode 1 "$build/bin/mote" check \
        neg sum softmax layer_norm gemm embedding.grad --in-process --dtype f32 \
        --plugin "$build/lib/mote/cuda.so" --backend cuda --count 2 --seed 1
    done
  else
    echo "compute-sanitizer: not installed" | tee -a "$results/summary.txt"
  fi
  step nvrtc.txt env MOTE_EXHAUSTIVE=1 "$build/bin/cuda_nvrtc_test"
fi
exit $failed
