// SPDX-License-Identifier: Apache-2.0
// The tape of a loop: what each iteration began with, kept for the way back. It is keyed by the
// counters of all loops around, grows as the loop goes, and is freed as the way back goes. Two
// executables, and two evaluations, have entries of their own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

class Tape;
/// Returns a new tape, or the one that a loop's body has already.
std::shared_ptr<Tape> tape_of(const SymbolicGraph& body);

/// Keeps the inputs, in the loop that is recorded.
NamedFunction tape_push(std::shared_ptr<Tape> tape);
/// Writes an i64[]: how many iterations were kept since the loop around began the present one.
NamedFunction tape_count(std::shared_ptr<Tape> tape);
/// Reads an i64[], i, and writes what iteration i - 1 began with, which is then no longer kept. It
/// is called in a loop that stands beside the recorded one.
NamedFunction tape_pop(std::shared_ptr<Tape> tape);

/// The tapes of a text, by number.
using Tapes = std::map<std::uint64_t, std::shared_ptr<Tape>>;
/// Returns the function of a tape by its name, "tape push 3"; none if it is no such name. Functions
/// with one number have one tape.
std::optional<NamedFunction> tape_function(std::string_view name, Tapes& tapes);

}  // namespace mote
