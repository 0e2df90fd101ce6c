#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything and runs all tests; ctest's closing line comes last.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install_packages.sh
cmake --preset release
cmake --build --preset release
exec ctest --preset release -j2
