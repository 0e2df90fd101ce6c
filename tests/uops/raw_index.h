// SPDX-License-Identifier: Apache-2.0
// Index expressions as plain trees, evaluated directly; canonical expressions are compared with
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mote/uops/expr.h"
#include "property.h"

namespace mote::test {

struct RawIndex {
  char op = 'c';           ///< c constant, s symbol, + - * / %, m min, M max, n negation
  std::int64_t value = 0;  ///< c
  int symbol = 0;          ///< s: index into the symbols of the test
  std::vector<RawIndex> args;
};

/// Returns the symbols i0, i1, i2, dA0, KH, $p: each kind, with names of different lengths.
const std::vector<Symbol>& raw_symbols();

RawIndex draw_raw(Choices& choices, int depth);
Expr build(
    const RawIndex& raw);  ///< uses the operators; throws Error if it divides by the constant 0
/// Returns nullopt if a divisor is 0 or a value exceeds 40 bits.
std::optional<std::int64_t> evaluate_raw(const RawIndex& raw, const std::vector<std::int64_t>& at);
std::string to_string(const RawIndex& raw);

/// Draws values of raw_symbols() in [low, high].
std::vector<std::int64_t> draw_point(Choices& choices, int low, int high);
std::map<Symbol, std::int64_t> as_map(const std::vector<std::int64_t>& point);

}  // namespace mote::test
