# SPDX-License-Identifier: Apache-2.0
# mote_parse_once(target header [option]) halves the time to build: the external headers that most
# files include are parsed once for all targets that are compiled with the same option (-O1, say) and
# the same position independence, and mote's own once for up to thirty-two files of one folder, which
# are compiled as one. With ccache, which seldom has such an object, every file is compiled separately,
# so that a missing include shows. clang-tidy also takes that number of files as one, in a quarter of
# the time.
function(mote_parse_once target header)
  if(MOTE_CCACHE AND NOT CMAKE_CXX_CLANG_TIDY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.c$")
  set_source_files_properties(${sources} PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  mote_group_by_folder(${target})
  if(NOT CMAKE_CXX_CLANG_TIDY)  # clang reads no headers that gcc has precompiled
    mote_precompile(${target} ${header} ${ARGN})
  endif()
endfunction()

# Groups the files that are compiled as one by folder: names in unnamed namespaces must differ only
# within a folder.
function(mote_group_by_folder target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    math(EXPR count_${folder} "0${count_${folder}} + 1")
    math(EXPR batch "(${count_${folder}} - 1) / 32")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${folder}_${batch})
  endforeach()
endfunction()

function(mote_precompile target header)
  get_target_property(type ${target} TYPE)
  set(position -fPIC)
  if(type STREQUAL "EXECUTABLE")
    set(position -fPIE)
  endif()
  string(MAKE_C_IDENTIFIER "${header}${ARGN}${position}" key)
  set(owner mote_precompiled_${key})
  if(NOT TARGET ${owner})
    mote_precompiled(${owner} ${header} ${position} ${ARGN})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  mote_precompile_options(${target})
endfunction()

# Sets the options that define macros which the headers test: a compiler rejects a precompiled header
# if these differ.
function(mote_precompile_options target)
  target_compile_definitions(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:$<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>>")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-pthread>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12 warns of the code of std::string in "text" + string, which it does not do for a system
    # header that is not precompiled; builds without precompiled headers keep the warnings.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow>)
  endif()
endfunction()

# Adds the target that precompiles the header, with one empty file.
function(mote_precompiled owner header position)
  set(source ${CMAKE_BINARY_DIR}/precompiled/${owner}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${owner} PRIVATE fmt::fmt mote_options)
  if(header STREQUAL "test.h")
    target_link_libraries(${owner} PRIVATE GTest::gtest)
  elseif(header STREQUAL "tool.h")
    target_link_libraries(${owner} PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json)
  endif()
  set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${owner} PRIVATE ${position})
  if(ARGN)
    target_compile_options(${owner} PRIVATE $<$<CONFIG:Release>:${ARGN}>)
  endif()
  mote_precompile_options(${owner})
  target_precompile_headers(${owner} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/${header})
endfunction()
