// SPDX-License-Identifier: Apache-2.0
// Finds the strides that must be 1 (or 0) for a loop to run over adjacent elements.
#pragma once

#include <optional>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// The strides and parameters that must be 1 so that a loop's accesses go from element to element.
struct Adjacency {
  std::vector<KnownStride> strides;  ///< of inputs and outputs
  std::vector<Symbol> ones;          ///< parameters that multiply the loop's variable
};

/// Returns the strides and parameters that let every access of the loop `s` that depends on its
/// variable go to the next element; nullopt if some access goes elsewhere for any strides. Reads
/// may skip elements: each goes on by at most `widest`, a constant. An iteration that fills both
/// elements of a pair counts as one that goes to the next element.
std::optional<Adjacency> adjacency(const LoopProgram& p, const Stmt& s, std::int64_t widest);
/// Returns the strides; nullopt also if a parameter must be 1.
std::optional<std::vector<KnownStride>> unit_strides(const LoopProgram& p, const Stmt& s);

/// Returns the strides of inputs and outputs that are 1 if a loop over v, in either direction, runs
/// along contiguous rows.
std::vector<KnownStride> strides_along(const LoopProgram& p, Symbol v);

/// Returns true if both can hold: no tensor needs stride 1 on two axes.
bool are_compatible(const std::vector<KnownStride>& a, const std::vector<KnownStride>& b);

/// Returns the `strides` that may be 0 as well: the input may have extent 1 there and repeat.
std::vector<KnownStride> repeatable(const LoopProgram& p, const std::vector<KnownStride>& strides);

}  // namespace mote
