#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_check.sh [FROM [RESULTS [OP...]]]: makes all checks that need a machine with an NVIDIA GPU, in at most
# $MOTE_GPU_CHECK_SECONDS (default 540). FROM is a build folder, or an archive of tools/gpu_bundle.sh; by default the
# archive mote_gpu.tar.gz next to this script, or else build/release. With OPs, the oracle and the benchmark use only
# these ops. It writes only the folder RESULTS (default gpu_results) and a temporary one.
#
# Exit code: 0; 1 if a step failed, or nothing could begin; 2 if none failed, but some were cut short or not begun,
# for lack of time; 77 if there is no GPU: nvidia-smi lists none, and mote finds none by the driver.
#
# RESULTS/summary.json says how each step ended and holds the benchmark's lines; it is whole after each step.
# summary.txt is the same for people. Each step has a file of its own; the most informative steps come first:
#
#   doctor.txt                 the parts of CUDA that mote finds
#   oracle_cuda_DTYPE.json     the oracle on generated kernels: all ops of that dtype; with OPs, after f32 and
#                              bf16, oracle_cuda.json has the others
#   cases_*.json               the same on sizes that reach kernels of tiles, beyond one grid, and that libraries take
#   benchmark.json             generated kernels compared with copies, cuBLAS and cuDNN (mote_gpu_bench)
#   oracle_cublas.json, …      the oracle on the backends over NVIDIA's libraries, if these are installed
#   memcheck.txt, …            compute-sanitizer on some ops, if it is installed
#   oracle_cuda_tf32.json      the oracle on generated kernels that round f32 to tf32
#   oracle_cuda_reference.json    the oracle on generated kernels of the variant reference
#
# STEP.log has the standard error of a step. $MOTE_GPU_BENCH: more arguments of mote_gpu_bench.
# $MOTE_GPU_LIBRARIES: own, compiler or system: which of the libraries below to use.
# shellcheck disable=SC2086  # lists of words: ops, the loader with its arguments
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# Containers have the driver's files here.
driver=/usr/local/nvidia
if [ -d $driver/bin ]; then PATH=$PATH:$driver/bin; fi
from=${1:-}
if [ -z "$from" ]; then
  from=build/release
  if [ -f "$here/mote_gpu.tar.gz" ]; then from=$here/mote_gpu.tar.gz; fi
fi
results=${2:-gpu_results}
if [ $# -gt 2 ]; then shift 2; else set --; fi
total=${MOTE_GPU_CHECK_SECONDS:-540}
began=$(date +%s)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MOTE_CACHE="${MOTE_CACHE:-$work/cache}"
: > "$work/steps"
budget=$total  # of a step, which is cut short when it takes this long
failed=0
cut=0

say() { echo "$@" | tee -a "$results/summary.txt"; }
seconds_left() { echo $((total - $(date +%s) + began)); }

# ---- libraries ----

# Succeeds if the programs start and load the plug-ins.
starts() {
  timeout 30 $loader "$build/bin/mote" --version > /dev/null 2> "$work/why" &&
    timeout 60 $loader "$build/bin/mote_gpu_bench" --list --plugin "$build/lib/mote/cuda.so" \
      --plugin "$build/lib/mote/cublas.so" --plugin "$build/lib/mote/cudnn.so" > /dev/null 2> "$work/why"
}

# This machine's own libraries are used if the programs start with them, since NVIDIA's may need those;
# else the bundle's C++ library; else its C library too, with its own loader.
unpack() {
  tar -xzf "$1" -C "$work" 2> "$work/why" || return 1
  build=$work/mote_gpu
  cases=$build/share
  source=$cases/softmax.cu
  given=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  for libraries in ${MOTE_GPU_LIBRARIES:-own compiler system}; do
    path=$build/lib/needed
    if [ $libraries != own ]; then path=$path:$build/lib/compiler; fi
    if [ $libraries = system ]; then
      path=$path:$build/lib/system
      if [ -n "$given" ]; then export LD_LIBRARY_PATH="${given#:}"; else unset LD_LIBRARY_PATH; fi
      loader="$build/bin/loader --library-path $path$given"
    else
      export LD_LIBRARY_PATH="$path$given"
    fi
    if starts; then return 0; fi
  done
  echo "in $work, which must allow programs and have no blank" >> "$work/why"
  return 1
}

# add_libraries FOLDER: the loader finds NVIDIA's libraries there too, and they find each other.
add_libraries() {
  if [ "$libraries" = system ]; then
    loader="$loader:$1"
  else
    export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$1"
  fi
}

# Prints the folders of toolkits, and of Python packages that hold parts of one.
nvidia_folders() {
  printf '%s\n' "${CUDA_HOME:-/usr/local/cuda}"/lib64 /usr/local/cuda*/lib64 /usr/local/cuda*/lib \
    /usr/local/cuda*/targets/*/lib /usr/lib/*-linux-gnu /usr/lib64 $driver/lib64 $driver/lib
  for python in python3 /opt/*/.venv/bin/python3 /opt/*/bin/python3; do
    timeout 20 "$python" -c 'import site; print("\n".join(site.getsitepackages()))' 2> /dev/null || true
  done | sort -u | while read -r packages; do printf '%s\n' "$packages"/nvidia/*/lib; done
}

# has NAME: succeeds if mote finds it. find_library NAME VARIABLE PATTERN...: if mote does not find it and the
# variable is not set, searches for it in those folders.
has() { timeout 30 $loader "$build/bin/mote" doctor 2> /dev/null | grep -q "^ok  *$1 "; }
find_library() {
  name=$1
  variable=$2
  shift 2
  eval "given=\${$variable:-}"
  # shellcheck disable=SC2154  # eval sets it
  if [ -n "$given" ] || has "$name"; then return 0; fi
  nvidia_folders > "$work/folders"
  while read -r folder; do
    for pattern in "$@"; do
      # shellcheck disable=SC2231  # a pattern
      for file in "$folder"/$pattern; do
        if [ ! -f "$file" ]; then continue; fi
        add_libraries "$folder"
        export "$variable=$file"
        return 0
      done
    done
  done < "$work/folders"
}

# ---- steps ----

text() { head -n 1 "$1" | tr -d '"\\\n'; }  # within quotes

# Writes the whole summary as it is now; its argument is "running", or how everything ended.
write_summary() {
  {
    printf '{"format":1,"date":"%s","state":"%s","seconds":%d,' "$date" "$1" "$(($(date +%s) - began))"
    printf '"device":"%s","driver":"%s","mote":"%s",' "$device" "$version_of_driver" "$version"
    printf '"libraries":"%s",\n"steps":[\n' "$libraries"
    sed '$!s/$/,/' "$work/steps"
    printf '],\n"benchmark":[\n'
    if [ -f "$results/benchmark.json" ]; then
      grep '^{"type":"case".*}$' "$results/benchmark.json" | sed '$!s/$/,/' || true
    fi
    printf ']}\n'
  } > "$work/summary.json"
  cp "$work/summary.json" "$results/summary.json"
}

# ended NAME STATE FILE [NUMBERS [WHY]]
ended() {
  printf '{"name":"%s","state":"%s","file":"%s"%s}\n' "$1" "$2" "$3" "${4:-}" >> "$work/steps"
  say "$1: $2${5:+: $5}"
  write_summary running
}

# Counts the cases that the oracle judged, from its lines.
judged() {
  awk '/^{"type":"row"/ && match($0, /"judged":[0-9]+/) { n += substr($0, RSTART + 9, RLENGTH - 9) }
    /^{"type":"outcome"/ && /"verdict":"passed"/ { n++ } END { print n + 0 }' "$1"
}

# step NAME.EXTENSION SECONDS COMMAND...: runs the command, at most that long and within the time that is left.
step() {
  file=$1
  name=${file%.*}
  limit=$2
  shift 2
  rm -f "$results/$file" "$results/$name.log"  # of an earlier run
  left=$(seconds_left)
  if [ "$left" -lt 10 ]; then
    cut=1
    ended "$name" "not begun" ""
    return 0
  fi
  if [ "$left" -lt "$limit" ]; then limit=$left; fi
  start=$(date +%s)
  code=0
  timeout -k 5 "$limit" "$@" > "$results/$file" 2> "$results/$name.log" || code=$?
  took=$(($(date +%s) - start))
  # The oracle ends by itself at its budget: with 0, or 4 if it judged no case.
  case $code in 0 | 4) if [ "$took" -ge "$budget" ]; then code=124; fi ;; esac
  numbers=",\"exit\":$code,\"seconds\":$took"
  why="$took s"
  case $name in oracle_* | cases_*)
    numbers="$numbers,\"judged\":$(judged "$results/$file")"
    why="$why, $(judged "$results/$file") cases judged"
    ;;
  esac
  case $code in
    0) state=passed ;;
    124 | 137)
      state="cut short"
      cut=1
      ;;
    4)
      # The oracle gives 4 for a backend that judged no case. A few given OPs need not have a case that can be judged.
      state=failed
      if [ "$asked" -gt 0 ] && ! grep -q '"declined":[1-9]' "$results/$file"; then state="nothing to judge"; fi
      if [ "$state" = failed ]; then failed=1; fi
      ;;
    *)
      state=failed
      failed=1
      why="$why, exit code $code"
      ;;
  esac
  if [ ! -s "$results/$name.log" ]; then rm "$results/$name.log"; fi
  ended "$name" "$state" "$file" "$numbers" "$why"
}

# check NAME SECONDS LIBRARY BACKEND COUNT [ARGUMENT...]: runs the oracle. The first call of a worker opens the GPU and
# compiles, so it may take longer than a call of a CPU kernel, and more memory. The oracle begins no case in the
# last third, so that it ends by itself and reports its results; it spends no time on making failures smaller.
check() {
  name=$1
  limit=$2
  library=$3
  backend=$4
  count=$5
  shift 5
  left=$(seconds_left)
  if [ "$left" -lt "$limit" ]; then limit=$left; fi
  budget=$((limit * 2 / 3))
  step "$name.json" "$limit" $loader "$build/bin/mote" check "$@" --plugin "$build/lib/mote/$library.so" \
    --backend "$backend" --require "$backend" --count "$count" --budget "${budget#-}s" --shrink 0s --seed 1 \
    --workers "$(nproc)" --timeout 60s --subject-memory 8GiB --json
  budget=$total
}

# vendor SECONDS COUNT LIBRARY BACKEND "OP..." [ASKED...]: checks a backend of a library, or cuda_tf32, on its ops, or on
# those of them that are asked for.
vendor() {
  limit=$1
  count=$2
  library=$3
  backend=$4
  ops=$5
  shift 5
  if [ $# -gt 0 ]; then
    known=" $ops "
    ops=
    for op in "$@"; do
      case $known in *" $op "*) ops="$ops $op" ;; esac
    done
  fi
  if [ -z "$ops" ]; then return 0; fi
  if [ "$library" != cuda ] && ! has "$library"; then
    ended "oracle_$backend" missing "" "" "$library is not installed"
    return 0
  fi
  check "oracle_$backend" "$limit" "$library" "$backend" "$count" $ops
}

# sanitize TOOL SECONDS COMMAND...: runs a command of mote under compute-sanitizer.
sanitize() {
  tool=$1
  limit=$2
  shift 2
  step "$tool.txt" "$limit" "$sanitizer" --tool "${tool%%_*}" --error-exitcode 1 $loader "$build/bin/mote" "$@" \
    --in-process --plugin "$build/lib/mote/cuda.so" --backend cuda --timeout 120s
}

# ---- the run ----

asked=$#
loader=
libraries="the build's"
usable=yes
if [ -d "$from" ]; then
  build=$from
  cases=$here/../tests/cuda
  source=$here/../examples/cuda/softmax.cu
  timeout 30 "$build/bin/mote" --version > /dev/null 2> "$work/why" || usable=no
else
  unpack "$from" || usable=no
fi

# mote finds a GPU by the driver: nvidia-smi may be missing, or list one that programs cannot use. If mote does not
# start, the devices that a driver makes are checked (/dev/dxg: under Windows).
no_gpu() {
  echo "gpu_check: no NVIDIA GPU on this machine: $1" >&2
  exit 77
}
smi=0
if command -v nvidia-smi > /dev/null 2>&1 && timeout 60 nvidia-smi -L > /dev/null 2>&1; then smi=1; fi
if [ $usable = no ]; then
  if [ $smi -eq 0 ] && [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
    no_gpu "nvidia-smi lists none, there is no /dev/nvidiactl, and mote does not start"
  fi
  echo "gpu_check: the programs of $from do not start here:" >&2
  cat "$work/why" >&2
  exit 1
fi
# NVRTC opens a library of its own by name; if the loader does not search the toolkit's folder, this adds it.
toolkit=${CUDA_HOME:-/usr/local/cuda}/lib64
if [ -d "$toolkit" ]; then add_libraries "$toolkit"; fi
find_library gpu MOTE_CUDA_DRIVER 'libcuda.so.1'
gpu=$(timeout 60 $loader "$build/bin/mote" doctor 2> /dev/null |
  awk '/^[^ ]/ {gpu = $2 == "gpu"} gpu {sub(/^ +/, ""); printf "%s%s", blank, $0; blank = " "}' |
  sed 's/ gpu  */: /; s/; cost: .*//')
case $gpu in missing*)
  if [ $smi -eq 0 ]; then no_gpu "nvidia-smi lists none, and mote finds none: ${gpu#*: }"; fi ;;
esac
mkdir -p "$results"

# Files of an earlier run are removed.
rm -f "$results"/summary.json "$results"/benchmark.* "$results"/oracle_*.* "$results"/cases_*.* "$results"/memcheck*.* \
  "$results"/racecheck*.* "$results"/doctor.*

date=$(date -u +%Y-%m-%dT%H:%M:%SZ)
device=unknown
case $gpu in ok*) device=${gpu#*: } ;; esac
# mote uses the first GPU that CUDA offers; nvidia-smi's first may be another.
printf '%s\n' "${device%; not used*}" > "$work/device"
device=$(text "$work/device")
timeout 60 nvidia-smi --query-gpu=driver_version --format=csv,noheader > "$work/driver" 2> /dev/null ||
  echo unknown > "$work/driver"
version_of_driver=$(text "$work/driver")
$loader "$build/bin/mote" --version > "$work/version"
version=$(text "$work/version")
printf '%s\n%s, version %s\n%s, libraries: %s\n' "$date" "$device" "$version_of_driver" "$version" "$libraries" \
  > "$results/summary.txt"
cat "$results/summary.txt"

find_library nvrtc MOTE_NVRTC 'libnvrtc.so.13' 'libnvrtc.so.12'
find_library cublas MOTE_CUBLAS 'libcublasLt.so.13' 'libcublasLt.so.12'
find_library cudnn MOTE_CUDNN 'libcudnn.so.9'
step doctor.txt 60 $loader "$build/bin/mote" doctor

case $gpu in
  ok*) ;;
  *)
    claim=
    if [ $smi -eq 1 ]; then claim="nvidia-smi sees a GPU, "; fi
    why=${gpu#*: }
    say "gpu_check: ${claim}mote sees none: ${why:-mote doctor has not said why}"
    write_summary failed
    exit 1
    ;;
esac

check oracle_cuda_f32 120 cuda cuda 4 "$@" --dtype f32
check oracle_cuda_bf16 90 cuda cuda 3 "$@" --dtype bf16
if [ $asked -eq 0 ]; then
  for of in "tiles cuda" "rows cuda" "parts cuda" "large cuda" "tf32 cuda_tf32"; do
    sizes=${of% *}
    step cases_"$sizes".json 60 $loader "$build/bin/mote" replay "$cases/$sizes.cases" \
      --plugin "$build/lib/mote/cuda.so" --backend "${of#* }" --timeout 60s --subject-memory 8GiB --json
  done
fi

# A user's own .cu file is checked if there is a compiler for it.
asks_softmax=0
for op in "$@"; do if [ "$op" = softmax ]; then asks_softmax=1; fi; done
if [ $asked -eq 0 ] || [ $asks_softmax -eq 1 ]; then
  compiler=${NVCC:-$(command -v nvcc || true)}
  if [ -z "$compiler" ] && [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
    compiler=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
  fi
  if [ -n "$compiler" ]; then
    step oracle_own_source.json 60 env NVCC="$compiler" MOTE_CUDA_SOURCE=gpu $loader "$build/bin/mote" check softmax \
      --plugin "$source" --backend softmax --require softmax --dtype f32 --count 20 --seed 1 --timeout 60s --json
  else
    ended oracle_own_source missing "" "" "nvcc is not installed"
  fi
fi

step benchmark.json 120 $loader "$build/bin/mote_gpu_bench" ${MOTE_GPU_BENCH:-} --budget 90 \
  --plugin "$build/lib/mote/cuda.so" --plugin "$build/lib/mote/cublas.so" --plugin "$build/lib/mote/cudnn.so" "$@"
if [ -f "$results/benchmark.log" ]; then
  sed 's/^/  /' "$results/benchmark.log" | tee -a "$results/summary.txt"
fi
if grep -q '^{"type":"cut"' "$results/benchmark.json" 2> /dev/null; then
  cut=1
  say "  and $(grep -c '^{"type":"cut"' "$results/benchmark.json") cases not begun"
fi

convolutions="conv1d conv2d conv2d_relu conv3d conv1d.grad conv2d.grad conv3d.grad conv_transpose2d"
vendor 60 80 cublas cublas "gemm matmul matmul_integer" "$@"
vendor 90 40 cudnn cudnn "$convolutions max_pool2d max_pool3d avg_pool2d avg_pool3d avg_pool2d.grad avg_pool3d.grad softmax log_softmax softmax.grad layer_norm layer_norm_with_statistics rms_norm instance_norm group_norm layer_norm.grad layer_norm_with_statistics.grad rms_norm.grad instance_norm.grad attention attention.grad lstm_cell lstm_cell.grad gru_cell gru_cell.grad rnn_cell lrn batch_norm batch_norm_training relu elu sigmoid silu tanh sigmoid.grad tanh.grad add sub mul min max sqrt sum mean prod reduce_min reduce_max norm1 norm2 global_avg_pool global_max_pool" "$@"
# Drawn cases seldom have these: shapes that products of 8 bits take, attention and convolutions of graphs.
if [ $asked -eq 0 ]; then
  for of in "cublas integers" "cudnn attention" "cudnn convolutions"; do
    library=${of% *}
    has "$library" || continue
    step cases_"$library"_"${of#* }".json 60 $loader "$build/bin/mote" replay "$cases/vendor_${of#* }.cases" \
      --plugin "$build/lib/mote/$library.so" --backend "$library" --timeout 60s --json
  done
fi

if [ $asked -eq 0 ]; then
  sanitizer=$(command -v compute-sanitizer || true)
  for place in "${CUDA_HOME:-/usr/local/cuda}"/bin /usr/local/cuda*/bin /usr/local/cuda*/compute-sanitizer; do
    if [ -z "$sanitizer" ] && [ -x "$place/compute-sanitizer" ]; then sanitizer=$place/compute-sanitizer; fi
  done
  if [ -n "$sanitizer" ]; then
    some="neg sum softmax layer_norm gemm conv2d embedding.grad"
    sanitize memcheck 60 check $some --dtype f32 --count 2 --seed 1
    sanitize racecheck 60 check $some --dtype f32 --count 2 --seed 1
    sanitize racecheck_tiles 60 replay "$cases/tiles.cases"
  else
    ended compute-sanitizer missing "" "" "compute-sanitizer is not installed"
  fi
fi

if [ $asked -eq 0 ]; then
  for dtype in f16 f64 i32 i64 u8 i8 bool; do check "oracle_cuda_$dtype" 60 cuda cuda 2 --dtype $dtype; done
else
  check oracle_cuda 60 cuda cuda 18 "$@"
fi
vendor 60 40 cuda cuda_tf32 "gemm matmul matmul.grad matmul.grad.grad $convolutions conv2d.grad.grad conv2d_relu.grad conv_transpose2d.grad attention attention_softcap" "$@"
vendor 60 80 cublas cublas_tf32 "gemm matmul" "$@"
vendor 60 40 cudnn cudnn_tf32 "$convolutions lstm_cell lstm_cell.grad gru_cell gru_cell.grad rnn_cell" "$@"
check oracle_cuda_reference 120 cuda cuda_reference 8 "$@"

state=passed
code=0
if [ $cut -eq 1 ]; then
  state=incomplete
  code=2
fi
if [ $failed -eq 1 ]; then
  state=failed
  code=1
fi
write_summary $state
say "gpu_check: $state after $(($(date +%s) - began)) s"
exit $code
