#!/bin/sh
# gpu_check.sh [BUILD]: what can be shown on a machine with an NVIDIA GPU. Exits 77, and says so, where
# there is none. Today: every kernel of the catalogue is compiled for sm_80 and sm_90 with NVRTC, its
# registers and spills are listed, and the kernels are judged on the host's shim. Kernels do not yet
# run on the GPU: mote has no backend that launches them there.
set -eu
if ! command -v nvidia-smi > /dev/null 2>&1 || ! nvidia-smi -L > /dev/null 2>&1; then
  echo "gpu_check: no NVIDIA GPU on this machine" >&2
  exit 77
fi
build=${1:-build/release}
nvidia-smi -L
MOTE_EXHAUSTIVE=1 "$build/bin/cuda_nvrtc_test"
ctest --test-dir "$build" --output-on-failure -R '^cuda_'
