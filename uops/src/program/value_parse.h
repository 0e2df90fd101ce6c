// SPDX-License-Identifier: Apache-2.0
// Values in program text: elementwise formulas, reductions, reindexes.
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

/// What a value may refer to.
struct Scope {
  std::map<std::string, Uop> values;
  std::vector<std::string> order;  ///< names of values, as they came
  std::vector<ParamDecl> params;
  /// The element type that stands for another wherever the text says that one.
  std::optional<std::pair<DType, DType>> element_type = {};

  /// The dtype that a word means.
  std::optional<DType> dtype(std::string_view word) const {
    const std::optional<DType> said = parse_dtype(word);
    return element_type && said == element_type->first ? element_type->second : said;
  }
};

/// Reads a value up to where it cannot go on; notes the places of its nodes. Throws Error "program
/// text: line L, column C: …".
Uop parse_value(TextCursor& text, const Scope& scope, Positions& positions);

}  // namespace mote
