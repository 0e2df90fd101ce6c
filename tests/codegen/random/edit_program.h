// SPDX-License-Identifier: Apache-2.0
// Edits programs for shrinking: each edit gives a legal, simpler program, or nullopt.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "mote/uops/program.h"

namespace mote::test {

/// Returns the node's extents as axes.
Shape axes_of(const Uop& u);

/// Returns the nodes that the outputs need, operands first.
std::vector<Uop> nodes_of(const Program& p);

/// Returns the program with its outputs rebuilt by the public builders: `replace` may give another
/// node for a node (whose operands are already rebuilt, given as `args`), or an empty handle to
/// keep it. Unused inputs stay.
using Replace = std::function<Uop(const Uop& node, const std::vector<Uop>& args)>;
std::optional<Program> edited(const Program& p, const Replace& replace,
                              const std::vector<Uop>& more_inputs = {});

/// Makes a node of the same kind with other operands.
Uop made_of(const Uop& u, const std::vector<Uop>& args);

std::optional<Program> without_output(const Program& p, std::size_t k);
std::optional<Program> without_input(const Program& p, std::size_t k);
std::optional<Program> without_param(const Program& p, std::size_t k);
/// Replaces output k by another node of the program.
std::optional<Program> with_output(const Program& p, std::size_t k, const Uop& value);
/// Replaces the symbol everywhere, in the inputs' shapes too.
std::optional<Program> with_symbol(const Program& p, Symbol symbol, const Expr& value);
/// Makes input k f64; nullopt if it is f64 already or the program is not legal then.
std::optional<Program> with_real_input(const Program& p, std::size_t k);

}  // namespace mote::test
