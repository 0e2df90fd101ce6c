// SPDX-License-Identifier: Apache-2.0
// Parses values in program text: elementwise formulas, reductions, reindexes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mote/uops/program.h"
#include "program/value_typing.h"

namespace mote {

/// The names that a value may refer to.
struct Scope {
  std::map<std::string, Uop> values;
  std::vector<std::string> order;  ///< names of values, in order of definition
  std::vector<ParamDecl> params;
  /// A pair (said, meant): wherever the text says the first dtype, it means the second.
  std::optional<std::pair<DType, DType>> element_type = {};

  /// Returns the dtype that a word means.
  std::optional<DType> dtype(std::string_view word) const {
    const std::optional<DType> said = parse_dtype(word);
    return element_type && said == element_type->first ? element_type->second : said;
  }
};

/// Reads the longest value at the cursor; notes the positions of its nodes. Throws Error "program
/// text: line L, column C: …".
Uop parse_value(ProgramCursor& text, const Scope& scope, Positions& positions);

}  // namespace mote
