// SPDX-License-Identifier: Apache-2.0
// What a failing program is tried as next: edits that make it simpler, the bold ones first.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "mote/uops/program.h"

namespace mote::test {

/// The simpler program, or nullopt when it would not be legal.
using Edit = std::function<std::optional<Program>()>;

/// Outputs, nodes, inputs and parameters dropped; nodes replaced by operands and inputs.
std::vector<Edit> smaller_graphs(const std::shared_ptr<const Program>& p);
/// Sizes and parameters as constants, plainer index maps, fills and ops.
std::vector<Edit> plainer_nodes(const std::shared_ptr<const Program>& p);

}  // namespace mote::test
