# SPDX-License-Identifier: Apache-2.0
# The options that compile generated kernels, here and in projects that use mote; and
# mote_add_kernels, with which such a project gets kernels of its own ops.

# gcc allocates registers by function where speed matters little: this saves a tenth of the compile time.
# Kernels for v3 and v4 get them by loop, but not gradients, which would add 100 kB to the library: attention
# takes 0.93 of the time, products of matrices 0.98.
set(MOTE_REGISTERS_BY_FUNCTION $<$<COMPILE_LANG_AND_ID:C,GNU>:-fira-region=one>)

# The options for kernels of the variant reference make them exact: no contraction, integers wrap, the
# compiler evaluates no function, since its last bit may differ from the C library's, and a zero
# keeps its sign, which gcc flips in 0.0 - (c ? -2.0 : 0.0) if it may assume the rounding mode.
# No exception goes through a kernel: tables to unwind it would be a twentieth of the library.
set(MOTE_REFERENCE_FLAGS -O2 -fno-asynchronous-unwind-tables ${MOTE_REGISTERS_BY_FUNCTION} -ffp-contract=off -frounding-math -fwrapv)
# Aligned loops are no faster here, and would be a twenty-fifth of the reference kernels.
foreach(part functions jumps labels loops)
  list(APPEND MOTE_REFERENCE_FLAGS $<$<COMPILE_LANG_AND_ID:C,GNU>:-fno-align-${part}>)
endforeach()
foreach(function exp expm1 log log1p sin cos tan asin acos atan sinh cosh tanh erf pow fmod)
  list(APPEND MOTE_REFERENCE_FLAGS -fno-builtin-${function})
endforeach()

# mote_gen_options(target level) sets the options for kernels of the variant gen. They leave out
# -ffast-math: NaN, infinities and signed zeros keep their meaning. Loops are vectorised if a pragma
# of the schedule says so and the compiler can (if not, clang warns, gcc does not). In
# MOTE_GEN_LEVELS v0 is for every machine of the architecture, v3 and v4 are levels of x86-64;
# presets that do not concern kernels set only v0.
set(_mote_levels v0)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(_mote_levels v0 v3 v4)
else()
  set(MOTE_ONE_LEVEL ON)  # all kernels are compiled for it
endif()
if(DEFINED MOTE_FAST_LEVELS AND NOT DEFINED MOTE_GEN_LEVELS)
  set(MOTE_GEN_LEVELS ${MOTE_FAST_LEVELS})  # the old name; it goes with version 0.4
endif()
if(NOT DEFINED MOTE_GEN_LEVELS)
  set(MOTE_GEN_LEVELS ${_mote_levels})
elseif(NOT MOTE_GEN_LEVELS STREQUAL "v0" AND NOT MOTE_GEN_LEVELS STREQUAL "${_mote_levels}")
  # v3 and v4 go together: a call chooses among all three.
  string(REPLACE "v0;" "v0 or v0;" _mote_levels "${_mote_levels}")
  message(FATAL_ERROR "MOTE_GEN_LEVELS is '${MOTE_GEN_LEVELS}', expected ${_mote_levels}")
endif()
# Inner loops are aligned; functions, jumps and labels that are would be a hundredth of the library.
function(mote_gen_options target level)
  # Few processors of today have no more than v0 where there are further levels: small code there.
  if(level STREQUAL "v0" AND "v3" IN_LIST MOTE_GEN_LEVELS)
    set(optimised -Os ${MOTE_REGISTERS_BY_FUNCTION})
  else()
    set(optimised -O2)
  endif()
  target_compile_options(${target} PRIVATE
    ${optimised} -fno-asynchronous-unwind-tables -ftree-vectorize -fwrapv -fno-math-errno -fno-trapping-math -ffp-contract=fast
    $<$<C_COMPILER_ID:Clang,AppleClang>:-Wno-pass-failed>)
  foreach(part functions jumps labels)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:C,GNU>:-fno-align-${part}>)
  endforeach()
  if(NOT level STREQUAL "v0")
    # gcc copies or clears a constant number of bytes, as the sums of a tile are, by an instruction (rep movs, rep
    # stos) that takes longer than a short product. Where libcall is the strategy for all sizes, it moves vectors.
    target_compile_options(${target} PRIVATE -march=x86-64-${level}
      $<$<COMPILE_LANG_AND_ID:C,GNU>:-mmemcpy-strategy=libcall:-1:noalign>
      $<$<COMPILE_LANG_AND_ID:C,GNU>:-mmemset-strategy=libcall:-1:noalign>)
  endif()
  if(MOTE_OPENMP)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_C)
  endif()
endfunction()

# mote_gen_definitions(target level) defines the macros that the sources of gen kernels read.
function(mote_gen_definitions target level)
  string(REPLACE "v" "" number ${level})
  if(MOTE_ONE_LEVEL)
    set(number 3)  # what x86-64 has from level 3 on is compiled too
  endif()
  target_compile_definitions(${target} PRIVATE MOTE_LEVEL=_${level} MOTE_LEVEL_NUMBER=${number})
endfunction()

# mote_add_gen_levels(target prefix GENERATE target SOURCES c... GRADIENTS c... LINK library... [OPTIONS option...])
# compiles gen kernels for each level, as objects prefix_v0, ... of the static library `target`, whose
# mote_level() chooses. On x86-64 gradients are compiled for v3, and those versions with 64-byte vectors
# for v4; other processors have one level with everything.
function(mote_add_gen_levels target prefix)
  cmake_parse_arguments(arg "" "GENERATE" "SOURCES;GRADIENTS;LINK;OPTIONS" ${ARGN})
  set_property(SOURCE ${arg_GRADIENTS} APPEND PROPERTY COMPILE_OPTIONS ${MOTE_REGISTERS_BY_FUNCTION})
  foreach(level IN LISTS MOTE_GEN_LEVELS)
    set(objects ${prefix}_${level})
    add_library(${objects} OBJECT ${arg_SOURCES})
    if(NOT level STREQUAL "v0" OR MOTE_ONE_LEVEL)
      target_sources(${objects} PRIVATE ${arg_GRADIENTS})
    endif()
    add_dependencies(${objects} ${arg_GENERATE})
    mote_gen_options(${objects} ${level})
    target_link_libraries(${objects} PRIVATE ${arg_LINK})
    target_compile_options(${objects} PRIVATE ${arg_OPTIONS})
    mote_gen_definitions(${objects} ${level})
    set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
  if("v4" IN_LIST MOTE_GEN_LEVELS)
    target_compile_definitions(${target} PRIVATE MOTE_X86_LEVELS)
  endif()
  if(MOTE_ONE_LEVEL)
    target_compile_definitions(${target} PRIVATE MOTE_ONE_LEVEL)
  endif()
  if(MOTE_OPENMP)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_C)
  endif()
endfunction()

# mote_require_languages(command LANGUAGE...) ends the configuration if the project lacks one.
function(mote_require_languages command)
  get_property(enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(language IN LISTS ARGN)
    if(NOT language IN_LIST enabled)
      message(FATAL_ERROR "${command}: it compiles ${language}, which this project has not enabled: write "
                          "project(${PROJECT_NAME} LANGUAGES C CXX)")
    endif()
  endforeach()
endfunction()

# mote_add_kernels(target SOURCES my_op.mote my_ops.cpp...) makes kernels of the ops that the sources
# define: a .mote file defines one (docs/language.md), the others together define
#
#     std::vector<mote::OpRecord> mote::library_ops();      // mote/macroops/library.h
#
# - target: a static library of the kernels, with gradients; its header <target>.h declares the table
#   `target`, which mote::register_library() (mote/runtime/catalogue.h) adds to the registry.
# - target_plugin: a plug-in whose backend `target` has the gen kernels.
# - target_mote: the tool mote, whose catalogue has the ops too: target_mote explain my_op.
# - target_check, if tests are enabled: a test that runs the oracle on the plug-in with CASES cases
#   (default 500).
#
# DTYPES are the element types of the ops of .mote files; default: each file's own.
function(mote_add_kernels target)
  cmake_parse_arguments(arg "" "CASES" "SOURCES;DTYPES" ${ARGN})
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "mote_add_kernels(${target}): expected SOURCES and files, got "
                        "'${arg_SOURCES}' and '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  mote_require_languages("mote_add_kernels(${target})" C CXX)
  if(NOT arg_CASES)
    set(arg_CASES 500)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target})

  set(programs "")
  set(sources "")
  foreach(source IN LISTS arg_SOURCES)
    if(source MATCHES "\\.mote$")
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
      if(NOT EXISTS ${source})
        message(FATAL_ERROR "mote_add_kernels(${target}): there is no file ${source}")
      endif()
      list(APPEND programs ${source})
    else()
      list(APPEND sources ${source})
    endif()
  endforeach()
  set(alone 0)
  if(NOT sources)
    set(alone 1)
  endif()
  list(JOIN programs "|" files)
  list(JOIN arg_DTYPES "," dtypes)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/programs.cpp
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${folder}/programs.cpp "-DFILES=${files}" "-DDTYPES=${dtypes}"
            -DALONE=${alone} -P ${MOTE_KERNELS_FOLDER}/embed_programs.cmake
    DEPENDS ${programs} ${MOTE_KERNELS_FOLDER}/embed_programs.cmake
    COMMENT "Embedding programs of ${target}"
    VERBATIM)
  add_library(${target}_ops OBJECT ${sources} ${folder}/programs.cpp)
  target_link_libraries(${target}_ops PRIVATE mote::compiler)
  add_executable(${target}_generator ${MOTE_KERNELS_FOLDER}/generator_main.cpp $<TARGET_OBJECTS:${target}_ops>)
  target_link_libraries(${target}_generator PRIVATE mote::generator)
  add_executable(${target}_mote ${MOTE_KERNELS_FOLDER}/tool_main.cpp $<TARGET_OBJECTS:${target}_ops>)
  target_link_libraries(${target}_mote PRIVATE mote::tool)

  set(reference ${folder}/mote_kernels_0.c ${folder}/mote_gradients_0.c)
  set(gen ${folder}/mote_gen_0.c)
  set(gen_gradients ${folder}/mote_gen_gradients_0.c)
  set(tables ${folder}/dispatch.c ${folder}/registry.c ${folder}/ops.c ${folder}/library.c)
  add_custom_command(
    OUTPUT ${folder}/stamp
    BYPRODUCTS ${reference} ${gen} ${gen_gradients} ${tables} ${folder}/plugin.c ${folder}/${target}.h
               ${folder}/mote_helpers.h ${folder}/mote_gen_helpers.h
    COMMAND ${target}_generator --shards 1 --gen-shards 1 --gradient-shards 1 --library ${target} ${folder}
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}/stamp
    DEPENDS ${target}_generator
    COMMENT "Generating kernels of ${target}"
    VERBATIM)
  add_custom_target(${target}_generate DEPENDS ${folder}/stamp)

  add_library(${target} STATIC ${reference} ${tables})
  add_dependencies(${target} ${target}_generate)
  target_compile_options(${target} PRIVATE ${MOTE_REFERENCE_FLAGS})
  target_include_directories(${target} PUBLIC ${folder})
  target_link_libraries(${target} PUBLIC mote::runtime PRIVATE m)
  mote_add_gen_levels(${target} ${target} GENERATE ${target}_generate
    SOURCES ${gen} GRADIENTS ${gen_gradients} LINK mote::runtime)
  set_target_properties(${target} ${target}_ops PROPERTIES POSITION_INDEPENDENT_CODE ON)

  add_library(${target}_plugin MODULE ${folder}/plugin.c)
  add_dependencies(${target}_plugin ${target}_generate)
  target_link_libraries(${target}_plugin PRIVATE ${target})
  set_target_properties(${target}_plugin PROPERTIES PREFIX "" OUTPUT_NAME ${target})
  add_test(NAME ${target}_check COMMAND ${target}_mote check
    --plugin $<TARGET_FILE:${target}_plugin> --backend ${target} --count ${arg_CASES})
endfunction()
