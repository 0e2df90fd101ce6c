#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# program_files.sh MOTE PLUGIN FOLDER: the oracle judges the CUDA of program files on the shim: one of an op of
# its own, one whose op has the name of one of the catalogue's, and both again after their text has changed,
# when kernels that were kept are those of another program. A file that is no program is left out, by name.
set -eu
mote=$1
plugin=$2
folder=$3
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export MOTE_CACHE="$folder/cache"

# check BACKEND DTYPES FILES: every file has cases, and all pass.
check() {
  backend=$1
  dtypes=$2
  shift 2
  "$mote" check "$@" --plugin "$plugin" --backend "$backend" --dtype "$dtypes" --count 20 --seed 1 --in-process > out 2>&1 || {
    cat out
    exit 1
  }
  for file in "$@"; do grep -q "^$file " out || { echo "$file was not judged:"; cat out; exit 1; }; done
}

cat > gram.mote << 'END'
op gram "y[i, j] = sum_r x[r, i] * x[r, j] / R"
param scale real = 2
input x f32[R, N]
output y = mean[2](x[i2, i0 over N, N, R] * x[i2, i1 over N, N, R]) * $scale
END
echo 'op softmax "y = 3*x"
input x f32[R, N, C]
output y = x*3' > softmax.mote
for backend in cuda_host cuda_host_gen; do check $backend f32,f64 gram.mote softmax.mote; done
echo 'op product "y = 2*a*b"
input a f32[M, K]
input b f32[K, N]
output y = sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K]) * 2' > product.mote
check cuda_host_tf32 f32 product.mote

sed -i 's/mean\[2\]/sum[2]/' gram.mote
sed -i 's/x\*3/x*5 - 1/' softmax.mote
check cuda_host_gen f32 gram.mote softmax.mote

# A failure's line runs the case again.
"$mote" replay "gram.mote x=f32[5,7] scale=3 fill=index:0 backend=cuda_host_gen plugin=$plugin" > out 2>&1 ||
  { cat out; exit 1; }

export MOTE_PROGRAMS=missing.mote
check cuda_host_gen f32 gram.mote softmax.mote
grep -q 'left out: missing.mote: cannot be read' out || { cat out; exit 1; }
