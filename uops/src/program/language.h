// SPDX-License-Identifier: Apache-2.0
// Declares the tables of words that the parser and the printer of programs use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "mote/uops/language.h"

namespace mote {

enum class Statement : std::uint8_t { op, param, input, size, require, output };
std::optional<Statement> find_statement(std::string_view word);

/// The values with a syntax of their own.
enum class ValueForm : std::uint8_t { iota, select, scatter, select_scatter, stop_gradient };
std::optional<ValueForm> find_value_form(std::string_view word);

/// Returns true for inf, nan, true and false.
bool is_constant_word(std::string_view word);
/// Returns true for sum, …, and mean, which is a sum over a count.
bool is_reduction(std::string_view word);
/// Returns true for min and max.
bool is_index_function(std::string_view word);

}  // namespace mote
