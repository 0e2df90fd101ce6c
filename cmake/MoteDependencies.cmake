# SPDX-License-Identifier: Apache-2.0
# Finds every library that mote needs; a missing one ends the configuration with the name of the
# Debian package that holds it.
set(MOTE_MISSING_PACKAGES "")
set(MOTE_MISSING_TEXT "")

# mote_require(package DEBIAN debian-package) finds the package, or notes that it is missing.
macro(mote_require package debian)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND MOTE_MISSING_PACKAGES ${debian})
    string(APPEND MOTE_MISSING_TEXT "  ${package} (Debian package ${debian})\n")
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
option(MOTE_OPENMP "Share the loops of gen kernels among threads" ON)
if(MOTE_OPENMP)
  find_package(OpenMP COMPONENTS C CXX)
  if(NOT OpenMP_C_FOUND OR NOT OpenMP_CXX_FOUND)
    set(MOTE_OPENMP OFF CACHE BOOL "Share the loops of gen kernels among threads" FORCE)
  endif()
endif()
mote_require(dlpack libdlpack-dev)
mote_require(fmt libfmt-dev)
mote_require(ZLIB zlib1g-dev)
mote_require(CLI11 libcli11-dev)
mote_require(nlohmann_json nlohmann-json3-dev)
mote_require(pugixml libpugixml-dev)
if(MOTE_BUILD_TESTS)
  mote_require(rapidcheck librapidcheck-dev)
  mote_require(GTest libgtest-dev)
  mote_require(benchmark libbenchmark-dev)
endif()

if(MOTE_MISSING_PACKAGES)
  list(JOIN MOTE_MISSING_PACKAGES " " missing)
  message(FATAL_ERROR "mote cannot be configured: these libraries were not found\n"
                      "${MOTE_MISSING_TEXT}"
                      "Install them with: apt-get install ${missing}\n"
                      "or run tools/install_packages.sh, which installs everything.")
endif()
