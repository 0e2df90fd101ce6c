#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fake_nvcc.sh ARGUMENTS OF NVCC: compiles a .cu file for the fake driver, whose kernels run on the host by
# the shim $FAKE_NVCC_SHIM, and makes a library of it, as nvcc does for a GPU.
set -eu
[ "$*" != --version ] || exit 0
folder= source= library= rest= shared=
while [ $# -gt 0 ]; do
  case $1 in
    -I*) folder=${1#-I} ;;
    -include | -Xlinker) rest="$rest $1 $2"; shift ;;
    -Xcompiler) rest="$rest $(echo "$2" | tr ',' ' ')"; shift ;;
    -arch=native | -std=c++17 | -lm) ;;
    -shared) shared=yes ;;
    -o) library=$2; shift ;;
    *.cu) source=$1 ;;
    *.o | *.so) rest="$rest $1" ;;
    *) echo "fake_nvcc.sh: unknown argument $1" >&2; exit 1 ;;
  esac
  shift
done
[ -n "$folder" ] && [ -n "$source" ] && [ -n "$library" ] && [ -n "$shared" ]
printf '#include "mote_launch.h"\nMOTE_HOST_DEFINE\n' > "$folder/fake_nvcc.h"
exec ${CXX:-c++} -std=c++17 -O1 -w -shared -DMOTE_CUDA_HOST -I"$folder" -include "$folder/fake_nvcc.h" \
  -x c++ "$source" -x none $rest "$FAKE_NVCC_SHIM" -Wl,-rpath,"$(dirname "$FAKE_NVCC_SHIM")" \
  -Wl,--no-undefined -lm -o "$library"
