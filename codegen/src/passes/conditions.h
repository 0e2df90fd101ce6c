// SPDX-License-Identifier: Apache-2.0
// Conditions under facts: what is proved goes, what is refuted is known, the rest gets a form that
// loop limits can be read from.
#pragma once

#include <optional>
#include <set>

#include "mote/codegen/loops.h"

namespace mote {

/// The conditions that the facts do not prove, each once, in a normal form; nullopt when one of
/// them can't hold.
std::optional<Conditions> clean(const Conditions& conditions, const Facts& facts);
/// lower <= e < extent.
Conditions in_range(const Expr& e, const Expr& extent);
/// The facts, with the conditions assumed.
Facts assuming(const Facts& facts, const Conditions& conditions);
/// The value depends on the round of some loop.
bool mentions_loop(const Expr& e);
/// Some condition's truth depends on a loaded element (or on a Let named in an index).
bool has_load(const Condition& c);
/// Holds under the facts; minima and maxima in it are taken apart.
bool proves(const Facts& facts, const Condition& c);
/// guard_value in normal form under the facts: proved conditions dropped, a refuted one gives the
/// constant, nested guards with the same otherwise merged.
Value guarded(const Conditions& conditions, Value then, const Number& otherwise,
              const Facts& facts);
/// op_value with guards pulled up where that is exact: op(c ? a : f, c ? b : g) = c ? op(a, b) :
/// op(f, g). Never 0·x = 0: x may be infinite. A comparison of a value with itself is known, but
/// for NaN.
Value mapped(MapOp op, std::vector<Value> args, DType arg_dtype, DType dtype);
bool contains(const Conditions& conditions, const Condition& c);

}  // namespace mote
