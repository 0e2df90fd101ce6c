# SPDX-License-Identifier: Apache-2.0
# mote_add_check(name OP op FUNCTION function LIBRARY target...) adds a test that checks a C function
# against the op's generated reference. The function has the signature that `mote emit OP` prints:
# pointers with strides in elements, sizes, parameters; it returns 0.
#
#   OP                  an op, or a .mote file
#   DTYPE type          the element type; default f32, or the file's own for a .mote file
#   WITHOUT input...    optional inputs that it does not take
#   NEEDS tensor...     optional inputs and outputs that it requires; for others that a call lacks it
#                       gets NULL
#   ROW_MAJOR           it takes only tensors without gaps
#   NONDETERMINISTIC    equal calls need not give equal bits, for example if threads add in any order
#   ACCUMULATOR type    the type of its sums: native (the element type), f32, f64; default f32 for
#                       16-bit element types, else native
#   COUNT n             the number of random cases; default 500
#   ARGUMENTS ...       further arguments of `mote check`: --junit FILE.xml, --html FILE.html, …
function(mote_add_check name)
  cmake_parse_arguments(arg "ROW_MAJOR;NONDETERMINISTIC" "OP;FUNCTION;DTYPE;ACCUMULATOR;COUNT"
    "LIBRARY;WITHOUT;NEEDS;ARGUMENTS" ${ARGN})
  if(NOT arg_OP OR NOT arg_FUNCTION OR NOT arg_LIBRARY OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "mote_add_check(${name}): expected OP, FUNCTION and LIBRARY, got '${ARGN}'")
  endif()
  mote_require_languages("mote_add_check(${name})" C)
  set(program "")
  if(arg_OP MATCHES "\\.mote$")
    cmake_path(ABSOLUTE_PATH arg_OP BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    set(program ${arg_OP})
  elseif(NOT arg_DTYPE)
    set(arg_DTYPE f32)
  endif()
  set(dtype "")
  if(arg_DTYPE)
    set(dtype --dtype ${arg_DTYPE})
  endif()
  if(NOT arg_COUNT)
    set(arg_COUNT 500)
  endif()
  set(options ${dtype})
  if(arg_ACCUMULATOR)
    list(APPEND options --accumulator ${arg_ACCUMULATOR})
  endif()
  if(arg_ROW_MAJOR)
    list(APPEND options --row-major)
  endif()
  if(arg_NONDETERMINISTIC)
    list(APPEND options --nondeterministic)
  endif()
  foreach(input IN LISTS arg_WITHOUT)
    list(APPEND options --without ${input})
  endforeach()
  foreach(tensor IN LISTS arg_NEEDS)
    list(APPEND options --needs ${tensor})
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}/${arg_FUNCTION}_plugin.c)
  add_custom_command(OUTPUT ${source}
    COMMAND mote::mote emit ${arg_OP} --plugin ${arg_FUNCTION} ${options} -o ${CMAKE_CURRENT_BINARY_DIR}/${name}
    DEPENDS mote::mote ${program} VERBATIM)
  add_library(${name}_plugin MODULE ${source})
  target_include_directories(${name}_plugin PRIVATE
    $<TARGET_PROPERTY:mote::runtime,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(${name}_plugin PRIVATE ${arg_LIBRARY} dlpack::dlpack)
  set_target_properties(${name}_plugin PROPERTIES PREFIX "" OUTPUT_NAME ${name} C_STANDARD 11)
  add_test(NAME ${name} COMMAND mote::mote check ${arg_OP} --plugin $<TARGET_FILE:${name}_plugin>
    --backend ${arg_FUNCTION} ${dtype} --count ${arg_COUNT} ${arg_ARGUMENTS})
endfunction()
