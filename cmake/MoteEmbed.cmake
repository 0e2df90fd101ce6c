# SPDX-License-Identifier: Apache-2.0
# mote_embed(file variable) reads the text of a header, which mote copies into the code that it emits,
# into a variable; a change of the header configures again. The line of mote's licence is left out,
# because emitted code belongs to its user (LICENSE-EXCEPTION).
function(mote_embed file variable)
  get_filename_component(file ${file} ABSOLUTE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  set(line "// SPDX-License-Identifier: Apache-2.0\n")
  string(LENGTH "${line}" length)
  string(FIND "${text}" "${line}" at)
  if(NOT at EQUAL 0)
    message(FATAL_ERROR "mote_embed: ${file}: expected the first line '// SPDX-License-Identifier: Apache-2.0'")
  endif()
  string(SUBSTRING "${text}" ${length} -1 text)
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()
