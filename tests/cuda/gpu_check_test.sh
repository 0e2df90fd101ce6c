#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_check_test.sh TOOLS BUILD FAKE FOLDER: tools/gpu_check.sh reports a missing GPU; on the fake driver, with
# an nvidia-smi that claims a GPU or without one, it judges and times, from a build and from a bundle, and
# reports failed steps and steps that are left out for lack of time. The measured times mean nothing.
set -eu
tools=$1
build=$2
fake=$3
folder=$4
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder/results" "$folder/path" "$folder/bundle"
mkdir -p "$folder/path"

# expect CODE COMMAND...
expect() {
  expected=$1
  shift
  code=0
  "$@" || code=$?
  if [ $code -ne "$expected" ]; then
    echo "$*: exit $code, expected $expected"
    exit 1
  fi
}
# summary STATE "NAME=STATE;..." [CASES]
summary() {
  cmake -DFILE="$folder/results/summary.json" -DSTATE="$1" "-DSTEPS=$2" ${3:+-DCASES=$3} -P "$here/gpu_summary.cmake"
}

# $FAKE_SMI is "works", "does not tell" (it lists GPUs and fails at other questions), or "nothing", as if there
# were no nvidia-smi.
cat > "$folder/path/nvidia-smi" << 'END'
#!/bin/sh
case "$FAKE_SMI $1" in
  "works "* | "does not tell -L") echo 'version "7"' ;;
  *) echo "nvidia-smi has failed" && exit 9 ;;
esac
END
chmod +x "$folder/path/nvidia-smi"
export PATH="$folder/path:$PATH" FAKE_SMI=nothing
export MOTE_NVRTC="$fake" MOTE_CUBLAS="$fake" MOTE_CUDNN=/nowhere
export MOTE_CACHE="$folder/cache" MOTE_GPU_BENCH=--tiny

# Without a driver, with a driver without a GPU, and without any answer, nothing is written.
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
  for driver in /nowhere "$fake"; do
    for from in "$build" /nowhere; do
      expect 77 env MOTE_CUDA_DRIVER="$driver" FAKE_CUDA_GPUS=0 \
        sh "$tools/gpu_check.sh" "$from" "$folder/results" neg 2> "$folder/said"
      grep -q 'gpu_check: no NVIDIA GPU on this machine' "$folder/said"
    done
  done
fi
test ! -e "$folder/results"
export MOTE_CUDA_DRIVER="$fake"

# A driver that does not start does not mean that there is no GPU; mote finds the GPU without nvidia-smi.
expect 1 env FAKE_CUDA_FAIL=0:700 sh "$tools/gpu_check.sh" "$build" "$folder/results" neg
grep -q 'cuInit returned 700' "$folder/results/summary.txt"
expect 0 sh "$tools/gpu_check.sh" "$build" "$folder/results" neg
summary passed "doctor=passed;oracle_cuda_f32=passed;benchmark=passed;oracle_cuda=passed"
grep -q '"device":"a fake GPU (sm_90); driver of CUDA 99.0","driver":"unknown"' "$folder/results/summary.json"

export FAKE_SMI=works
expect 1 sh "$tools/gpu_check.sh" /nowhere "$folder/results" neg

expect 0 sh "$tools/gpu_check.sh" "$build" "$folder/results" neg gemm relu
judged="oracle_cuda_f32=passed;oracle_cuda_bf16=passed;oracle_cuda=passed;oracle_cuda_reference=passed"
judged="$judged;oracle_cublas=passed;oracle_cublas_tf32=passed;oracle_cuda_tf32=passed;oracle_cudnn=missing"
summary passed "doctor=passed;$judged;benchmark=passed" 3
grep -q '"type":"result","exit":0' "$folder/results/oracle_cuda_f32.json"
grep -q '"name":"oracle_cuda_f32".*"judged":[1-9]' "$folder/results/summary.json"
grep -q '"vendor":"cublas","vendor_limits":"' "$folder/results/summary.json"
grep -q 'cublas: sums in parts are combined in the compute type' "$folder/results/summary.txt"
grep -q 'oracle_cudnn: missing: cudnn is not installed' "$folder/results/summary.txt"
grep -q 'a fake GPU' "$folder/results/summary.txt"
grep -q '"driver":"version 7"' "$folder/results/summary.json"

# A lost context fails each step that needs it, and the other steps run; a driver that does not start ends all.
expect 1 env FAKE_CUDA_FAIL=9:700 FAKE_SMI="does not tell" sh "$tools/gpu_check.sh" "$build" "$folder/results" neg relu
summary failed "doctor=passed;oracle_cuda_f32=failed;benchmark=failed;oracle_cuda=failed"
grep -q '"driver":"unknown"' "$folder/results/summary.json"
expect 1 env FAKE_CUDA_FAIL=0:700 sh "$tools/gpu_check.sh" "$build" "$folder/results" neg relu
summary failed "doctor=passed"
grep -q 'nvidia-smi sees a GPU' "$folder/results/summary.txt"

expect 2 env MOTE_GPU_CHECK_SECONDS=0 sh "$tools/gpu_check.sh" "$build" "$folder/results" neg
summary incomplete "doctor=not begun;oracle_cuda_f32=not begun;benchmark=not begun"

# A user's .cu file is compiled by a stand-in for nvcc.
export NVCC="$here/fake_nvcc.sh" FAKE_NVCC_SHIM="$build/lib/mote/cuda_shim.so"
expect 0 sh "$tools/gpu_check.sh" "$build" "$folder/results" softmax
summary passed "oracle_cuda_f32=passed;oracle_own_source=passed;benchmark=passed"
grep -q '"name":"oracle_own_source".*"judged":[1-9]' "$folder/results/summary.json"

# The bundle lies next to the script: once with this machine's libraries, and once with only its own.
expect 0 sh "$tools/gpu_bundle.sh" "$build" "$folder/bundle"
cd "$folder"
for libraries in own system; do
  rm -rf results
  expect 0 env MOTE_GPU_LIBRARIES=$libraries sh bundle/gpu_check.sh "" results bitwise_not
  summary passed "oracle_cuda_f32=nothing to judge;oracle_cuda=passed;benchmark=passed;oracle_cuda_reference=passed"
  grep -q "\"libraries\":\"$libraries\"" results/summary.json
done
