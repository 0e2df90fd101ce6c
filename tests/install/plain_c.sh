#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plain_c.sh PREFIX LIBDIR FOLDER: builds programs in C99, with the shared library and with the archive.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
mkdir -p "$3"
export PKG_CONFIG_PATH="$1/$2/pkgconfig"
warn=(-std=c99 -Wall -Wextra -Wpedantic -Werror)
read -ra flags <<<"$(pkg-config --cflags --libs mote)"
for program in consumer dynamic graphs; do
  "$CC" "${warn[@]}" "$here/c/$program.c" -o "$3/${program}_shared" "${flags[@]}" -lm "-Wl,-rpath,$1/$2"
  "$3/${program}_shared"
done
read -ra flags <<<"$(pkg-config --cflags --static --libs mote)"
for program in consumer dynamic graphs; do
  "$CC" "${warn[@]}" "$here/c/$program.c" -o "$3/${program}_static" "${flags[@]/#-lmote/-l:libmote.a}" -lm
  "$3/${program}_static"
done
cd "$3"
read -ra flags <<<"$(pkg-config --cflags --libs mote-npz)"
"$CC" "${warn[@]}" "$here/c/npz.c" -o npz_shared "${flags[@]}" "-Wl,-rpath,$1/$2"
./npz_shared
read -ra flags <<<"$(pkg-config --cflags --static --libs mote-npz)"
flags=("${flags[@]/#-lmote_npz/-l:libmote_npz.a}")
"$CC" "${warn[@]}" "$here/c/npz.c" -o npz_static "${flags[@]/%-lmote/-l:libmote.a}"
./npz_static
