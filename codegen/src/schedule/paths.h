// SPDX-License-Identifier: Apache-2.0
// Names the statements of a program by their positions, which stay valid while it is changed; and
// lists in which each item stands once.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

using Path = std::vector<std::size_t>;  ///< positions in nested bodies, outermost first

Stmt& at(LoopProgram& p, const Path& path);
const Stmt& at(const LoopProgram& p, const Path& path);
/// Returns every loop of the program, outer first.
std::vector<Path> loops_of(const LoopProgram& p);
/// Returns the loops that no loop holds.
std::vector<Path> outermost_loops(const LoopProgram& p);
std::optional<Path> find_loop(const LoopProgram& p, const std::string& variable);
/// Puts the statements in the place of the one at the path.
void replace(LoopProgram& p, const Path& path, Body by);

/// Appends the items that the list lacks.
template <typename T>
void add_missing(std::vector<T>& list, const std::vector<T>& items) {
  for (const T& item : items)
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

}  // namespace mote
