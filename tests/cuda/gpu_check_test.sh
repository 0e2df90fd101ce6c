#!/bin/sh
# gpu_check_test.sh TOOLS BUILD FAKE FOLDER: tools/gpu_check.sh without a GPU says so; on the fake driver, with
# an nvidia-smi that claims one, it judges and times, from a build and from a bundle, and says what fails and what is
# left out for lack of time. Times that are measured there mean nothing.
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

if ! nvidia-smi -L > /dev/null 2>&1; then
  expect 77 env PATH=/usr/bin:/bin sh "$tools/gpu_check.sh" "$build" "$folder/results" neg
  test ! -e "$folder/results"
fi

printf '#!/bin/sh\necho "a \\"fake\\" GPU, 0, 9.0"\n' > "$folder/path/nvidia-smi"
chmod +x "$folder/path/nvidia-smi"
export PATH="$folder/path:$PATH" MOTE_CUDA_DRIVER="$fake" MOTE_NVRTC="$fake" MOTE_CUBLAS="$fake" MOTE_CUDNN=/nowhere
export MOTE_CACHE="$folder/cache" MOTE_GPU_BENCH=--tiny

expect 0 sh "$tools/gpu_check.sh" "$build" "$folder/results" neg gemm relu
judged="oracle_cuda_f32=passed;oracle_cuda_bf16=passed;oracle_cuda=passed;oracle_cuda_oracle=passed"
judged="$judged;oracle_cublas=passed;oracle_cublas_tf32=passed;oracle_cuda_tf32=passed;oracle_cudnn=missing"
summary passed "doctor=passed;$judged;benchmark=passed" 3
grep -q '"type":"result","exit":0' "$folder/results/oracle_cuda_f32.json"
grep -q '"name":"oracle_cuda_f32".*"judged":[1-9]' "$folder/results/summary.json"
grep -q '"vendor":"cublas"' "$folder/results/summary.json"
grep -q 'oracle_cudnn: missing: cudnn is not installed' "$folder/results/summary.txt"
grep -q 'a fake GPU' "$folder/results/summary.txt"

# A context that is lost fails each step that needs it, and the rest is done; a driver that does not start ends all.
expect 1 env FAKE_CUDA_FAIL=9:700 sh "$tools/gpu_check.sh" "$build" "$folder/results" neg relu
summary failed "doctor=passed;oracle_cuda_f32=failed;benchmark=failed;oracle_cuda=failed"
expect 1 env FAKE_CUDA_FAIL=0:700 sh "$tools/gpu_check.sh" "$build" "$folder/results" neg relu
summary failed "doctor=passed"

expect 2 env MOTE_GPU_CHECK_SECONDS=0 sh "$tools/gpu_check.sh" "$build" "$folder/results" neg
summary incomplete "doctor=not begun;oracle_cuda_f32=not begun;benchmark=not begun"

# A .cu file of one's own, by a stand-in for nvcc.
export NVCC="$here/fake_nvcc.sh" FAKE_NVCC_SHIM="$build/lib/mote/cuda_shim.so"
expect 0 sh "$tools/gpu_check.sh" "$build" "$folder/results" softmax
summary passed "oracle_cuda_f32=passed;oracle_own_source=passed;benchmark=passed"
grep -q '"name":"oracle_own_source".*"judged":[1-9]' "$folder/results/summary.json"

# The bundle beside the script: with this machine's libraries, and with its own alone.
expect 0 sh "$tools/gpu_bundle.sh" "$build" "$folder/bundle"
cd "$folder"
for libraries in own system; do
  rm -rf results
  expect 0 env MOTE_GPU_LIBRARIES=$libraries sh bundle/gpu_check.sh "" results bitwise_not
  summary passed "oracle_cuda_f32=nothing to judge;oracle_cuda=passed;benchmark=passed;oracle_cuda_oracle=passed"
  grep -q "\"libraries\":\"$libraries\"" results/summary.json
done
