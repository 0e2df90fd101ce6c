// SPDX-License-Identifier: Apache-2.0
// The next edits to try on a failing program: they make it simpler, the boldest first.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "mote/uops/program.h"

namespace mote::test {

/// Makes the simpler program, or nullopt if it is not legal.
using Edit = std::function<std::optional<Program>()>;

/// Drops outputs, nodes, inputs and parameters; replaces nodes by operands and inputs.
std::vector<Edit> smaller_graphs(const std::shared_ptr<const Program>& p);
/// Makes sizes and parameters constants, and index maps, fills and ops plainer.
std::vector<Edit> plainer_nodes(const std::shared_ptr<const Program>& p);

}  // namespace mote::test
