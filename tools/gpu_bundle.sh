#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_bundle.sh [BUILD [FOLDER]]: packs what tools/gpu_check.sh needs on a machine with a GPU but without mote,
# its build or Debian's packages, from the build folder BUILD (default build/release). It writes into FOLDER
# (default BUILD/gpu_bundle), which has to be copied there:
#
#   gpu_check.sh       as it is in tools/
#   mote_gpu.tar.gz    programs, plug-ins and cases; the libraries that they load, in three folders: those
#                      that hardly any machine has (needed), the C++ compiler's (compiler), the C
#                      library with its loader (system); gpu_check.sh uses those that the machine lacks
#
# It fails if the archive is larger than 50 MiB.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
build=${1:-build/release}
folder=${2:-$build/gpu_bundle}
most=$((50 * 1024 * 1024))
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
bundle=$made/mote_gpu
mkdir -p "$folder" "$bundle/bin" "$bundle/lib/mote" "$bundle/share" \
  "$bundle/lib/needed" "$bundle/lib/compiler" "$bundle/lib/system"

cp "$build/bin/mote" "$build/bin/mote_gpu_bench" "$bundle/bin"
cp "$build/lib/mote/cuda.so" "$build/lib/mote/cublas.so" "$build/lib/mote/cudnn.so" \
  "$build/lib/mote/cuda_launcher.so" "$bundle/lib/mote"
strip --strip-unneeded "$bundle"/bin/* "$bundle"/lib/mote/*
cp "$tools"/../tests/cuda/*.cases "$tools/../examples/cuda/softmax.cu" "$bundle/share"

# "libfmt.so.9 => /lib/x86_64-linux-gnu/libfmt.so.9 (0x…)"; the loader's line has no arrow.
ldd "$bundle"/bin/* "$bundle"/lib/mote/* > "$made/loaded"
if grep 'not found' "$made/loaded" >&2; then exit 1; fi
awk '$2 == "=>" { print $3 }' "$made/loaded" | sort -u > "$made/libraries"
awk '$1 ~ "^/.*/ld-linux" { print $1 }' "$made/loaded" | sort -u > "$made/loader"
while read -r library; do
  case ${library##*/} in
    libc.so.* | libm.so.*) to=system ;;
    libstdc++.so.* | libgcc_s.so.* | libgomp.so.*) to=compiler ;;
    ld-linux*) continue ;;
    *) to=needed ;;
  esac
  cp -L "$library" "$bundle/lib/$to"
done < "$made/libraries"
# NVIDIA's libraries ask for these parts of the C library, of the same version, by their old names.
c_library=$(dirname "$(grep '/libc\.so\.' "$made/libraries")")
for part in libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1 libresolv.so.2; do
  cp -L "$c_library/$part" "$bundle/lib/system"
done
# The loader is next to the programs, which find their own folder by that of the process's image.
cp -L "$(cat "$made/loader")" "$bundle/bin/loader"

tar -C "$made" --owner=0 --group=0 -czf "$folder/mote_gpu.tar.gz" mote_gpu
cp "$tools/gpu_check.sh" "$folder"
bytes=$(wc -c < "$folder/mote_gpu.tar.gz")
echo "$folder: $((bytes / 1024)) KiB"
if [ "$bytes" -gt "$most" ]; then
  echo "gpu_bundle: $bytes bytes, expected $most at most" >&2
  exit 1
fi
