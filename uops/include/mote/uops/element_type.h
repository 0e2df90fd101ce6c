// SPDX-License-Identifier: Apache-2.0
// Determines the element type of program text, and parses the text with another one.
#pragma once

#include <optional>
#include <string_view>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// Returns the dtype of the program's first real input, or else of its first input, or output.
DType element_type(const Program& program);
/// Parses as parse_program() does, with `dtype` wherever the text says its own element type. Throws
/// the same Error, also if an operation of the text does not take the dtype.
Program parse_program(std::string_view text, DType dtype);
/// Parses the text of a file, with `dtype` if it is given. Throws Error "FILE: …", or "FILE: with
/// f16 in place of f32: …".
Program parse_program_file(std::string_view file, std::string_view text,
                           std::optional<DType> dtype = std::nullopt);

}  // namespace mote
