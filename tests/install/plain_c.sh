#!/usr/bin/env bash
# plain_c.sh PREFIX LIBDIR FOLDER: a program in C99, with the shared library and with the archive.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$3"
export PKG_CONFIG_PATH="$1/$2/pkgconfig"
warn=(-std=c99 -Wall -Wextra -Wpedantic -Werror)
read -ra flags <<<"$(pkg-config --cflags --libs mote)"
"$CC" "${warn[@]}" "$here/c/consumer.c" -o "$3/shared" "${flags[@]}" -lm "-Wl,-rpath,$1/$2"
"$3/shared"
read -ra flags <<<"$(pkg-config --cflags --static --libs mote)"
"$CC" "${warn[@]}" "$here/c/consumer.c" -o "$3/static" "${flags[@]/#-lmote/-l:libmote.a}" -lm
"$3/static"
