// SPDX-License-Identifier: Apache-2.0
// Reads the parts of the text of a loop program. Each throws Error with line and column.
#pragma once

#include "ir/syntax.h"
#include "mote/codegen/loops.h"

namespace mote::loop_text {

/// Reads what a program says before its statements: its interface, the sizes, the temporaries, and
/// what it relies on. Adds their names.
void parse_head(Cursor& text, Names& names, LoopProgram& p);
/// Reads statements up to the end of the text. Adds the names that they bind.
Body parse_body(Cursor& text, Names& names);

}  // namespace mote::loop_text
