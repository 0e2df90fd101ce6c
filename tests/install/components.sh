#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# components.sh BUILD LIBDIR FOLDER: uses each component alone, in an installation that was moved: programs by
# CMake and by pkg-config, shared and static, in C++ and in C, run in an empty environment; and the errors for a
# project that asks for missing components.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build=$1 libdir=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
failures=0
fail() {
  echo "$*" >&2
  failures=$((failures + 1))
}

# The target mote_installed, which an installation after a partial build has built, contains everything.
if [[ -f "$build/build.ninja" ]]; then
  ninja -C "$build" -t commands mote_installed | tr " " "\n" | sort -u >built
  {
    grep -o "\"$build/[^\"]*\.\(a\|so[.0-9]*\)\"" "$build/cmake_install.cmake" | tr -d '"'
    find "$build/lib/mote" -name '*.so'
    echo "$build/bin/mote"
  } | sort -u >wanted
  while IFS= read -r file; do
    [[ -L "$file" ]] || grep -qxF "${file#"$build/"}" built || fail "mote_installed does not build $file"
  done <wanted
  (($(wc -l <wanted) > 15)) || fail "only $(wc -l <wanted) files of the build are installed"
fi

cmake --install "$build" --prefix "$folder/installed" >install.log || { cat install.log; exit 1; }
prefix="$folder/moved to here"
mv installed "$prefix"
export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" CMAKE_PREFIX_PATH="$prefix"
export CMAKE_GENERATOR="${GENERATOR:-Ninja}"

# LD_LIBRARY_PATH is not set; PATH is, for the compiler that the oracle calls.
runs() {
  env -i PATH="$PATH" "$@" >printed.log 2>&1 || fail "$* exited with $?: $(cat printed.log)"
}

configure() { # configure NAME ARGUMENT...: configures a project of alone/, or writes the error to NAME.log
  local name=$1
  shift
  cmake -S "$here/alone" -B "$name" "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_CXX_COMPILER=$CXX" "$@" >"$name.log" 2>&1
}

by_cmake() { # by_cmake NAME COMPONENTS ARGUMENT...
  local name=$1 components=$2
  shift 2
  { configure "$name" "$@" && cmake --build "$name" >>"$name.log" 2>&1; } || {
    fail "$name: $(cat "$name.log")"
    return
  }
  for component in $components; do runs "$name/bin/$component"; done
}
for kind in shared static; do
  by_cmake "cxx_$kind" "runtime npz compiler oracle" -DKIND=$kind -DLANGUAGES=CXX -DSTANDARD=17
  by_cmake "c_$kind" "runtime npz oracle" -DKIND=$kind -DLANGUAGES=C
done

for component in runtime npz compiler oracle; do
  package=mote-$component
  [[ $component != runtime ]] || package=mote
  for suffix in "" -static; do
    pkg-config --cflags --libs "$package$suffix" >flags || fail "pkg-config $package$suffix"
    # eval reads them as a shell does, since the prefix has spaces.
    eval "flags=($(cat flags))"
    program="pkg_config_$component$suffix"
    if "$CXX" -std=c++20 -O0 "$here/alone/$component.cpp" -o "$program" "${flags[@]}" 2>"$program.log"; then
      runs "./$program"
      [[ -z "$suffix" || -z "$(readelf -d "$program" | grep 'NEEDED.*libmote')" ]] ||
        fail "$program: static, but needs a library of mote"
    else
      fail "$program: $(cat "$program.log")"
    fi
  done
done

# C++17 by hand: the first error says what to do.
eval "flags=($(pkg-config --cflags mote))"
if "$CXX" -std=c++17 -fsyntax-only "$here/alone/runtime.cpp" "${flags[@]}" 2>cxx17.log; then
  fail "C++17: expected an error"
fi
[[ "$(grep -m 1 'error' cxx17.log)" == *"mote's C++ headers need C++20: compile with -std=c++20"* ]] ||
  fail "C++17: $(head -n 5 cxx17.log)"
# The C API is C, for C++17 too.
"$CXX" -std=c++17 -fsyntax-only -x c++ - "${flags[@]}" <<<'#include "mote/mote.h"
#include "mote/npz/npz_c.h"
#include "mote/oracle/oracle.h"' || fail "the C headers in C++17"

# refuses NAME TEXT LANGUAGES CODE: a project of the code is refused with the text.
refuses() {
  mkdir -p "refused/$1"
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(refused LANGUAGES %s)\n%s\n' "$3" "$4" >"refused/$1/CMakeLists.txt"
  if cmake -S "refused/$1" -B "refused/$1/build" "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_CXX_COMPILER=$CXX" \
    -DCMAKE_C_COMPILER_WORKS=1 -DCMAKE_CXX_COMPILER_WORKS=1 >"refused/$1.log" 2>&1; then
    fail "$1: expected an error"
  fi
  # Lines that CMake broke are put together.
  tr -s ' \n' ' ' <"refused/$1.log" | grep -qF "$2" || fail "$1: expected '$2', got: $(cat "refused/$1.log")"
}
refuses unknown "mote has no component 'gpu': it has runtime, npz, compiler and oracle, and static or shared" C \
  'find_package(mote REQUIRED COMPONENTS runtime gpu)'
refuses not_required "mote has no component 'gpu'" C 'find_package(mote COMPONENTS gpu)
if(NOT mote_FOUND)
  message(FATAL_ERROR "${mote_NOT_FOUND_MESSAGE}")
endif()'
refuses optional "runtime: TRUE, gpu: FALSE" C 'find_package(mote REQUIRED COMPONENTS runtime OPTIONAL_COMPONENTS gpu)
message(FATAL_ERROR "runtime: ${mote_runtime_FOUND}, gpu: ${mote_gpu_FOUND}")'
refuses both_kinds "both static and shared were asked for: name one of them" C \
  'find_package(mote REQUIRED COMPONENTS runtime static shared)'
refuses other_kind "has found mote's shared libraries before and now asks for static ones" C \
  'find_package(mote REQUIRED COMPONENTS runtime)
find_package(mote REQUIRED COMPONENTS runtime static)'
refuses no_language "project(… LANGUAGES C CXX)" NONE 'find_package(mote REQUIRED COMPONENTS runtime)'
refuses kernels_in_c "mote_add_kernels(mine): it compiles CXX, which this project has not enabled: write project(refused LANGUAGES C CXX)" C \
  'find_package(mote REQUIRED COMPONENTS oracle)
mote_add_kernels(mine SOURCES mine.cpp)'
refuses check_in_cxx "mote_add_check(mine): it compiles C, which this project has not enabled: write project(refused LANGUAGES C CXX)" CXX \
  'find_package(mote REQUIRED COMPONENTS oracle)
mote_add_check(mine OP relu FUNCTION f LIBRARY l)'
refuses kernels_without_oracle "come with the component oracle: write find_package(mote REQUIRED COMPONENTS oracle" "C CXX" 'find_package(mote REQUIRED COMPONENTS runtime)
mote_add_kernels(mine SOURCES mine.cpp)'

((failures == 0)) || exit 1
echo "components: each alone, by CMake and pkg-config, shared and static, in C++ and C"
