# SPDX-License-Identifier: Apache-2.0
# Settings and helpers shared by every target: language level, warnings, sanitizers, ccache, output
# folders (bin/ for programs, lib/mote/plugins/ for plug-ins, lib/mutants/ for planted bugs).
option(MOTE_BUILD_TESTS "Build the tests" ON)
set(MOTE_SANITIZE "" CACHE STRING "Comma-separated sanitizers, e.g. address,undefined")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
# -O3 costs a third more build time and gains nothing here: the kernels have their own flags.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "" FORCE)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# The shared libraries export only what mote/base/export.h marks.
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# ccache is used if it is installed, unless $CCACHE_DISABLE or -DMOTE_CCACHE=OFF is set. It takes paths
# within the source tree as relative, so that each clone and worktree finds what another has compiled,
# and precompiled headers as it takes others: by what is in them, whenever they were written.
if(NOT DEFINED ENV{CCACHE_DISABLE})
  find_program(MOTE_CCACHE ccache)
endif()
if(MOTE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
               CCACHE_SLOPPINESS=pch_defines,time_macros ${MOTE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

add_library(mote_options INTERFACE)
target_compile_options(mote_options INTERFACE -Wall -Wextra -Wconversion)
if(MOTE_SANITIZE)
  target_compile_options(mote_options INTERFACE -fsanitize=${MOTE_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  target_link_options(mote_options INTERFACE -fsanitize=${MOTE_SANITIZE})
endif()

include(MoteKernels)
include(MoteParseOnce)

# These targets build what a run of the tool needs besides itself: the plug-ins and the planted bugs.
add_custom_target(mote_plugins)
add_custom_target(mote_mutants)

# mote_add_library(name [BUILD_QUICKLY] SOURCES... LINK deps...) adds a static library whose public
# headers are in its folder's include/mote/<folder>/, so that a wrong include does not compile.
# BUILD_QUICKLY compiles at -O1, since -O2 takes a quarter more time; it is for libraries that compute
# little, or in files with options of their own.
function(mote_add_library name)
  cmake_parse_arguments(arg "BUILD_QUICKLY" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE mote_options)
  if(arg_BUILD_QUICKLY)
    mote_build_quickly(${name} library.h)
  else()
    mote_parse_once(${name} library.h)
  endif()
endfunction()

# mote_add_plugin(name GROUP plugins|mutants SOURCES... LINK deps...) adds a shared library that exports
# only mote_plugin_init, as lib/mote/plugins/<name>.so or lib/mutants/<name>.so.
function(mote_add_plugin name)
  cmake_parse_arguments(arg "" "GROUP" "SOURCES;LINK" ${ARGN})
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} mote_options)
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  if("${arg_SOURCES}" MATCHES "\\.cpp")
    mote_parse_once(${name} library.h)
  endif()
  set(folder mote/plugins)
  if(arg_GROUP STREQUAL "mutants")
    set(folder mutants)
  endif()
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/${folder})
  add_dependencies(mote_${arg_GROUP} ${name})
endfunction()

# mote_build_quickly(target header [option]) compiles at -O1 or with the given option, and with
# mote_parse_once(). It is for targets whose speed does not matter to kernels and cases, such as the
# command line.
function(mote_build_quickly target header)
  set(option -O1)
  if(ARGC GREATER 2)
    set(option ${ARGV2})
  endif()
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${option}>)
  mote_parse_once(${target} ${header} ${option})
endfunction()

# mote_add_test(name [COMPUTES] SOURCES... LINK deps...) adds one GoogleTest program and one ctest
# entry. It compiles at -O0: the code under test is in the libraries, and macros of GoogleTest take most
# of the compile time. COMPUTES compiles at -O1, for a test that itself computes for minutes. The
# sanitizers too return null for an impossible size.
function(mote_add_test name)
  cmake_parse_arguments(arg "COMPUTES" "" "SOURCES;LINK" ${ARGN})
  set(option -O0)
  if(arg_COMPUTES)
    set(option -O1)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main mote_options)
  mote_build_quickly(${name} test.h ${option})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "TSAN_OPTIONS=allocator_may_return_null=1;ASAN_OPTIONS=allocator_may_return_null=1")
endfunction()
