// SPDX-License-Identifier: Apache-2.0
// Lists the tensors and names that statements access, and decides when statements may be exchanged.
#pragma once

#include <set>
#include <span>

#include "mote/codegen/walk.h"

namespace mote {

/// The values of a loop's variable.
struct LoopRange {
  Symbol variable;
  Expr begin, end;
};

/// An access with the loops and conditions below some statement that enclose it, outermost first.
struct PlacedAccess {
  Access access;
  std::vector<const Stmt*> path;
};
/// Returns every access in the body. The loads of a loop's limits and of an If's conditions are
/// placed outside that loop or If.
std::vector<PlacedAccess> placed_accesses(const Body& body);

/// The names of the tensors, lets and accumulators that statements access.
struct Effects {
  std::set<std::string> touched;  ///< tensors read or written
  std::set<std::string> written;
  std::set<std::string> declared;  ///< names and accumulators declared
  std::set<std::string> used;      ///< names and accumulators read, without nested Lets
};
Effects effects_of(std::span<const Stmt> body);
Effects united(Effects a, Effects b);

/// Returns true if b accesses nothing that a writes and the reverse, and neither reads the other's
/// accumulators or names.
bool are_independent(const Effects& a, const Effects& b);

/// Returns true if the expression changes with a loop.
bool is_moving(const Expr& e);
/// Returns true if the digits have equal limits and steps.
bool are_alike(const LoopDigit& a, const LoopDigit& b);
/// Adds the ranges of the loop's variable and of its digits.
void set_ranges(const Loop& l, Facts& facts);

/// Returns the operands of a minimum or maximum, or the expression itself.
std::vector<Expr> arms(const Expr& e, Atom::Kind kind);
/// Returns a constant that the number of iterations of a loop with a step of 1 never exceeds.
std::optional<std::int64_t> most_iterations(const Loop& l);
/// Returns true if constants show that the loop has one iteration.
bool has_one_iteration(const Loop& l);
/// Returns true if it has, and the body can stand for it: nothing is folded over the loop.
bool runs_once(const Loop& l);

/// Returns true if the element exists wherever the facts hold, and `sizes` have these values.
bool is_in_range(const LoopProgram& p, const value::Load& load, const Facts& facts,
                 const std::map<Symbol, Expr>& sizes = {});

/// Returns true if an element of a tensor is in the value.
bool reads_elements(const Value& v);
/// Returns true if an index or limit in the body reads one of these names or tensors.
bool is_in_index(const Body& body, const std::set<std::string>& names);
/// Returns the tensors that are written.
std::set<std::string> tensors_written(std::span<const Stmt> body);

inline const Loop* as_loop(const Stmt& s) { return std::get_if<Loop>(&s.kind); }
inline Loop* as_loop(Stmt& s) { return std::get_if<Loop>(&s.kind); }
const Body* nested_body(const Stmt& s);  ///< body of a Loop or an If; else null
Body* nested_body(Stmt& s);

/// Returns the loop, of kind threads or grid, and those of its kind directly below it, which share
/// their iterations together, outermost first.
std::vector<const Loop*> threads_chain(const Loop& first);
/// Returns the loops of kind threads in the body that are the first of their chains.
std::vector<const Loop*> first_of_threads(const Body& body);
/// Gives the kind threads to the loop and to the n - 1 loops directly below it, and to no loop of
/// its chain below those.
void mark_threads(Loop& first, std::size_t n);

/// Returns the loop and those directly below it, while each body is just the next loop and no
/// accumulator stands between.
std::vector<const Loop*> perfect_chain(const Loop& loop);

}  // namespace mote
