#!/bin/sh
# gpu_check_test.sh GPU_CHECK BUILD FAKE FOLDER: tools/gpu_check.sh without a GPU says so; on the fake driver, with
# an nvidia-smi that claims one, it judges, and a driver that fails fails it.
set -eu
rm -rf "$4/results" "$4/bin"
mkdir -p "$4/bin"

code=0
env PATH=/usr/bin:/bin sh "$1" "$2" "$4/results" neg || code=$?
if [ $code -ne 77 ] && ! nvidia-smi -L > /dev/null 2>&1; then
  echo "without a GPU: exit $code, expected 77"
  exit 1
fi

printf '#!/bin/sh\necho "a fake GPU, 0, 9.0"\n' > "$4/bin/nvidia-smi"
chmod +x "$4/bin/nvidia-smi"
export PATH="$4/bin:$PATH" MOTE_CUDA_DRIVER="$3" MOTE_NVRTC="$3" MOTE_CUBLAS="$3" MOTE_CUDNN=/nowhere MOTE_CACHE="$4/cache"
sh "$1" "$2" "$4/results" neg gemm relu
grep -q '"type":"result","exit":0' "$4/results/oracle_cuda.json"
grep -q '"type":"result","exit":0' "$4/results/oracle_cuda_oracle.json"
grep -q 'oracle_cuda.json: exit 0' "$4/results/summary.txt"
grep -q '"type":"result","exit":0' "$4/results/oracle_cublas.json"
grep -q 'oracle_cublas_tf32.json: exit 0' "$4/results/summary.txt"
grep -q 'cudnn: cudnn is not installed' "$4/results/summary.txt"
grep -q 'a fake GPU' "$4/results/device.csv"
if FAKE_CUDA_FAIL=0:700 sh "$1" "$2" "$4/results" neg; then
  echo "a driver that fails: exit 0"
  exit 1
fi
