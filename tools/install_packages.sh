#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that mote is built with; asks apt only for the missing ones.
#   tools/install_packages.sh            the packages of the build and the tests
#   tools/install_packages.sh --subjects also the libraries that the preset nightly checks
#   tools/install_packages.sh --aarch64  also what the preset aarch64 compiles and runs with
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config
  libdlpack-dev libfmt-dev zlib1g-dev libcli11-dev nlohmann-json3-dev libpugixml-dev librapidcheck-dev libgtest-dev
  libbenchmark-dev libmpfrc++-dev libdnnl-dev
  libopenblas-openmp-dev libomp-14-dev libonnx-testdata abigail-tools xz-utils python3-venv
)
case "${1:-}" in
  "") ;;
  --subjects) packages+=(libblis-openmp-dev libeigen3-dev libpthreadpool-dev libxnnpack-dev libxsmm-dev) ;;
  --aarch64)
    packages+=(gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user
      libfmt-dev:arm64 zlib1g-dev:arm64 libpugixml-dev:arm64) ;;
  *)
    echo "packages: unknown argument '$1', expected --subjects, --aarch64 or none" >&2
    exit 2
    ;;
esac

# A package may be there for several architectures, each with a status of its own.
native="$(dpkg --print-architecture)"
missing=()
for package in "${packages[@]}"; do
  status="$(dpkg-query --show --showformat=' ${Architecture}:${db:Status-Status} ' "$package" 2>/dev/null || true)"
  wanted="$native"
  [[ "$package" == *:* ]] && wanted="${package#*:}"
  [[ "$status" == *" $wanted:installed "* || "$status" == *" all:installed "* ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "packages: all ${#packages[@]} are installed"
  exit 0
fi

echo "packages: installing ${missing[*]}"
as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || {
    echo "packages: neither root nor sudo; as root: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
if [[ "${1:-}" == --aarch64 ]]; then
  "${as_root[@]}" dpkg --add-architecture arm64
fi
"${as_root[@]}" apt-get update -qq </dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
