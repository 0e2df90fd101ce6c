// SPDX-License-Identifier: Apache-2.0
// The tables that parser and printer go by.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mote/uops/map_ops.h"

namespace mote {

enum class Statement : std::uint8_t { op, param, input, size, require, output };
std::optional<Statement> find_statement(std::string_view word);

/// Values with a syntax of their own.
enum class ValueForm : std::uint8_t { iota, select, scatter, select_scatter, stop_gradient };
std::optional<ValueForm> find_value_form(std::string_view word);

/// An operator between two values.
struct InfixOperator {
  std::string_view symbol;
  MapOp op;
  text::Precedence level;  ///< a greater one binds tighter
};
/// The longer symbols first.
std::span<const InfixOperator> infix_operators();

/// inf, nan, true, false.
bool is_constant_word(std::string_view word);
/// sum, …, and mean, which is a sum over a count.
bool is_reduction(std::string_view word);
/// min and max.
bool is_index_function(std::string_view word);

}  // namespace mote
