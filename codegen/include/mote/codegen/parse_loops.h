// SPDX-License-Identifier: Apache-2.0
// Reads loop programs from the text that to_string() prints, and compares loop programs.
#pragma once

#include <memory>
#include <string_view>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"

namespace MOTE_API mote {

/// Parses the text of a program on the sizes and parameters of `source`, which the text does not
/// hold: parse_loops(to_string(p), p.source) equals p, and prints the same text. Comments begin
/// with #. The program may break rules of verify(). Throws Error "loops: line L, column C: …".
LoopProgram parse_loops(std::string_view text, std::shared_ptr<const Program> source);

/// Returns true if the programs are structurally equal: all that verify(), interpret() and the
/// emitters read is the same. Names of axes are hints, and do not count.
bool equal(const LoopProgram& a, const LoopProgram& b);

}  // namespace mote
