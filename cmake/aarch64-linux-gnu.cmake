# SPDX-License-Identifier: Apache-2.0
# Compiles for AArch64 with Debian's cross compiler and the libraries of its arm64 packages. What the
# build itself runs (mote-gen) runs under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
# Debian's DLPack is a header in a package that is of one architecture.
file(GLOB dlpack_DIR /usr/lib/*-linux-gnu/cmake/dlpack)
