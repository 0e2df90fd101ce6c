// SPDX-License-Identifier: Apache-2.0
// The tape of a loop: a list of what each iteration keeps for the way back. A loop carries a token,
// the number of its list as an f64[], and 0 before its first iteration; a loop inside another one
// has a list of its own for each iteration of that one, whose token is one of the values that the
// outer tape keeps. Entries are freed when all that read them have done so, and at the end of the
// run.
//
// Gradients flow through tokens: the gradient of what a function reads from an entry is added to
// the entry, under a path of its own, and read where the entry was made. What carries it through
// the graph is a link, a 0 in place of the token's gradient, which says that it is there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

class Tape;
std::shared_ptr<Tape> new_tape();

/// A value is kept only if a decision is that branch; of several rules for a value, one must hold.
struct KeptIf {
  std::uint32_t value;
  std::uint32_t decision;  ///< the number of the input behind the values that has it
  std::uint32_t branch;
};
/// Reads a token, values and the decisions of rules, and writes the token of the list with the
/// values at its end, and their position, an i64[].
NamedFunction tape_push(std::shared_ptr<Tape> tape, std::vector<KeptIf> rules = {});
/// Reads a token, and writes how many entries its list has, an i64[].
NamedFunction tape_count(std::shared_ptr<Tape> tape);
/// Reads a token and a position, and writes values of that entry: those of these numbers.
NamedFunction tape_get(std::shared_ptr<Tape> tape, std::vector<std::uint32_t> values);

/// Reads a token and values, and writes the token of the list, which keeps them now and then
/// (WhileOptions::checkpoints). It has no gradient.
NamedFunction tape_keep(std::shared_ptr<Tape> tape, std::int64_t checkpoints);
/// Reads the token and a number of iterations, and writes the number of the last one before it
/// whose values are kept, and these.
NamedFunction tape_take(std::shared_ptr<Tape> tape);

/// Reads a token and the number of iterations left, and writes the number of the last iteration
/// before these whose beginning is kept, and what that is. At most `checkpoints` are kept at once.
NamedFunction tape_reach(std::shared_ptr<Tape> tape, std::int64_t checkpoints);
/// Reads a token, the number of iterations left, that of an iteration on the way to the last of
/// them, and what it begins with, which is kept if the binomial schedule says so; writes the token.
/// No gradient flows through it.
NamedFunction tape_mark(std::shared_ptr<Tape> tape, std::int64_t checkpoints);

/// The node of a body that keeps; none if the body has no such tape.
std::optional<std::uint32_t> keep_of(const SymbolicGraph& body);
/// The node of a body that pushes; none if the body has no tape.
std::optional<std::uint32_t> push_of(const SymbolicGraph& body);
/// The rules of a node that pushes.
const std::vector<KeptIf>& rules_of(const NodeInfo& push);
/// Returns the number of values among so many inputs of a node that pushes. Throws StatusError if
/// the rules are for more.
std::size_t pushed_count(std::span<const KeptIf> rules, std::size_t inputs);
/// The tape of a node that keeps or pushes.
std::shared_ptr<Tape> tape_of(const NodeInfo& node);

/// Ends when the outermost one does: a gradient has paths that no other has.
class GradientScope {
 public:
  GradientScope();
  ~GradientScope();
  GradientScope(const GradientScope&) = delete;
  GradientScope& operator=(const GradientScope&) = delete;
};
/// As long as it lives, functions that are made are only tried: they do not count as readers.
class TrialScope {
 public:
  TrialScope();
  ~TrialScope();
  TrialScope(const TrialScope&) = delete;
  TrialScope& operator=(const TrialScope&) = delete;
  /// True if there is one in this thread.
  static bool is_in_one();
};

/// The shapes of values that tapes have got for inputs of other shapes are no longer known.
void forget_tape_shapes();

/// The tapes of a text, by number.
using Tapes = std::map<std::uint64_t, std::shared_ptr<Tape>>;
/// Returns the function of a tape by its name, "tape push 3"; none if it is no such name. Functions
/// with one number have one tape.
std::optional<NamedFunction> tape_function(std::string_view name, Tapes& tapes);

}  // namespace mote
