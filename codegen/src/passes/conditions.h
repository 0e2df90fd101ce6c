// SPDX-License-Identifier: Apache-2.0
// Simplifies conditions under facts: proved ones are dropped, refuted ones are known, and the rest
// gets a form from which loop limits can be read.
#pragma once

#include <optional>
#include <set>

#include "mote/codegen/loops.h"

namespace mote {

/// Returns the conditions that the facts do not prove, each once, in a normal form; nullopt if one
/// of them cannot hold.
std::optional<Conditions> clean(const Conditions& conditions, const Facts& facts);
/// Returns the conditions 0 <= e < extent.
Conditions in_range(const Expr& e, const Expr& extent);
/// Returns the facts, with the conditions assumed.
Facts assuming(const Facts& facts, const Conditions& conditions);
/// Returns true if e mentions the variable of some loop.
bool mentions_loop(const Expr& e);
/// Returns true if the expression has one value in all iterations of a call.
inline bool is_fixed(const Expr& e) { return !e.has_load() && !mentions_loop(e); }
/// Returns true if the condition depends on a loaded element (or on a Let named in an index).
bool has_load(const Condition& c);
/// Returns true if the condition holds under the facts; minima and maxima in it are taken apart.
bool proves(const Facts& facts, const Condition& c);
/// Returns guard_value in normal form under the facts: proved conditions are dropped, a refuted one
/// gives the constant, and nested guards with the same otherwise are merged.
Value guarded(const Conditions& conditions, Value then, const Number& otherwise,
              const Facts& facts);
/// Returns op_value with guards pulled up where that is exact: op(c ? a : f, c ? b : g) = c ? op(a,
/// b) : op(f, g). It never turns 0·x into 0, because x may be infinite. A comparison of a value
/// with itself is known, except for NaN.
Value mapped(MapOp op, std::vector<Value> args, DType arg_dtype, DType dtype);
/// Returns an Op with other arguments likewise; the node itself if they are its own and it stays.
Value mapped(const Value& node, std::vector<Value> args);
bool contains(const Conditions& conditions, const Condition& c);
/// Returns the conditions of both.
inline Conditions both(Conditions a, const Conditions& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace mote
