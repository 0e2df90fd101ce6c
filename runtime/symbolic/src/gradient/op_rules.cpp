// SPDX-License-Identifier: Apache-2.0
// The table of rules by which gradients of gradients are computed.
#include "gradient/op_rules.h"

#include <algorithm>
#include <unordered_map>

namespace mote {

const OpRule* rule_of(std::string_view) { return nullptr; }
std::string why_no_rule(const SymbolicGraph&, const GradientCall&) { return "no rule"; }
bool has_tangent(const SymbolicGraph&, const GradientCall&) { return false; }
std::vector<TensorSymbol> rule_gradient(GraphBuilder&, const GradientCall&) { return {}; }

}  // namespace mote
