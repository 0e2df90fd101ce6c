// SPDX-License-Identifier: Apache-2.0
// Values in program text: elementwise formulas, reductions, reindexes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mote/uops/program.h"
#include "value_typing.h"

namespace mote {

/// What a value may refer to.
struct Scope {
  std::map<std::string, Uop> values;
  std::vector<std::string> order;  ///< names of values, as they came
  std::vector<ParamDecl> params;
};

/// Reads a value up to where it cannot go on; notes the places of its nodes. Throws Error "program
/// text: line L, column C: …".
Uop parse_value(TextCursor& text, const Scope& scope, Positions& positions);

}  // namespace mote
