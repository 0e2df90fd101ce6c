// SPDX-License-Identifier: Apache-2.0
// The element type of program text, and the same text with another one.
#pragma once

#include <optional>
#include <string_view>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// That of the program's first real input, or of its first input, or output.
DType element_type(const Program& program);
/// parse_program() with `dtype` wherever the text says its own element type. Throws Error as that,
/// also where an operation of the text does not take it.
Program parse_program(std::string_view text, DType dtype);
/// Either, of the text of a file. Throws Error "FILE: …", or "FILE: with f16 in place of f32: …".
Program parse_program_file(std::string_view file, std::string_view text,
                           std::optional<DType> dtype = std::nullopt);

}  // namespace mote
