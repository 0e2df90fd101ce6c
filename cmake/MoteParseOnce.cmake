# SPDX-License-Identifier: Apache-2.0
# mote_parse_once(target header [option]): the outside headers that most files include, parsed once for
# all targets that are compiled with the same option (-O1, say) and the same position independence, and
# our own once for up to thirty-two files of one folder, which are compiled as one: half of the time to
# build. With ccache, which seldom finds such an object again, every file is compiled by itself; so a missing include
# shows there. clang-tidy takes as many as one too, in a quarter of the time.
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

# What is compiled as one: names that a file keeps to itself need only differ within a folder.
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

# What defines macros that the headers ask for: a compiler takes no precompiled header where these differ.
function(mote_precompile_options target)
  target_compile_definitions(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:$<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>>")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-pthread>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12 warns of what std::string does by itself in "text" + string, which it else keeps to
    # itself as a system header's; builds without precompiled headers keep the warnings.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow>)
  endif()
endfunction()

# The target that has the header precompiled, of one empty file.
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
