// SPDX-License-Identifier: Apache-2.0
// Edits of programs for shrinking: each gives a legal, simpler program, or nullopt.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "mote/uops/program.h"

namespace mote::test {

/// Its extents.
Shape axes_of(const Uop& u);

/// The nodes that the outputs need, operands first.
std::vector<Uop> nodes_of(const Program& p);

/// The program with its outputs rebuilt by the public builders: `replace` may give another node for
/// a node (whose operands are already rebuilt, given as `args`), or an empty handle to keep it.
/// Inputs that nothing needs stay.
using Replace = std::function<Uop(const Uop& node, const std::vector<Uop>& args)>;
std::optional<Program> edited(const Program& p, const Replace& replace,
                              const std::vector<Uop>& more_inputs = {});

/// A node of the same kind with other operands.
Uop made_of(const Uop& u, const std::vector<Uop>& args);

std::optional<Program> without_output(const Program& p, std::size_t k);
std::optional<Program> without_input(const Program& p, std::size_t k);
std::optional<Program> without_param(const Program& p, std::size_t k);
/// Output k is another node of the program.
std::optional<Program> with_output(const Program& p, std::size_t k, const Uop& value);
/// The symbol is replaced everywhere, in the inputs' shapes too.
std::optional<Program> with_symbol(const Program& p, Symbol symbol, const Expr& value);
/// Every input that is not f64 becomes f64, or its cast from it.
std::optional<Program> with_real_input(const Program& p, std::size_t k);

}  // namespace mote::test
