// SPDX-License-Identifier: Apache-2.0
// Lists the words of program text that the parser knows, and finds what they mean; the text of
// loops has the same words for operations. A test compares docs/language.md with the list.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/map_ops.h"

namespace MOTE_API mote {

struct LanguageWords {
  std::vector<std::string_view> statements;   ///< op, param, …
  std::vector<std::string_view> operators;    ///< operators of values: between two, or before one
  std::vector<std::string_view> functions;    ///< functions of elements: exp(x)
  std::vector<std::string_view> reductions;   ///< reductions over axes: sum[1](x)
  std::vector<std::string_view> forms;        ///< forms with a syntax of their own: select[1](x, n)
  std::vector<std::string_view> scatter_ops;  ///< scatter[add](…)
  std::vector<std::string_view> constants;    ///< inf, nan, true, false
  std::vector<std::string_view> dtypes;       ///< names of dtypes, also casts: f32(x)
  std::vector<std::string_view> joints;       ///< words within the others: over, else, …
  std::vector<std::string_view> index_functions;  ///< functions in index text
};
LanguageWords language_words();

/// An operator between two values.
struct InfixOperator {
  std::string_view symbol;
  MapOp op;
  text::Precedence level;  ///< a greater one binds tighter
};
/// Returns the operators, longer symbols first.
std::span<const InfixOperator> infix_operators();

/// They return the op of that name, or nullopt.
std::optional<MapOp> find_map_op(std::string_view name);
std::optional<ReduceOp> find_reduce_op(std::string_view name);
std::optional<ScatterOp> find_scatter_op(std::string_view name);

}  // namespace mote
