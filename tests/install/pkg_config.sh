#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pkg_config.sh PREFIX LIBDIR FOLDER: builds a C++ program with only pkg-config.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$3"
export PKG_CONFIG_PATH="$1/$2/pkgconfig"
read -ra flags <<<"$(pkg-config --cflags --libs mote-oracle mote-npz)"
"$CXX" -std=c++20 -O1 "$here/consumer.cpp" -o "$3/consumer" "${flags[@]}" "-Wl,-rpath,$1/$2"
"$3/consumer"
