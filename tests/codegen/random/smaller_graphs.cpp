// SPDX-License-Identifier: Apache-2.0
// Edits that drop an output, a node, an input or a parameter.
#include <algorithm>

#include "edit_program.h"
#include "simpler.h"

namespace mote::test {
namespace {

using Source = std::shared_ptr<const Program>;

std::optional<Program> instead(const Source& p, const Uop& node, const Uop& other,
                               const std::vector<Uop>& more_inputs = {}) {
  return edited(
      *p,
      [&](const Uop& u, const std::vector<Uop>&) { return u.id() == node.id() ? other : Uop(); },
      more_inputs);
}

/// Replaces the node by its operand k.
Edit by_operand(const Source& p, const Uop& node, std::size_t k) {
  return [=] {
    return edited(*p, [&](const Uop& u, const std::vector<Uop>& args) {
      return u.id() == node.id() ? args[k] : Uop();
    });
  };
}

/// Replaces the node by an input of its own, if it is more than one step from the inputs.
std::optional<Program> as_new_input(const Source& p, const Uop& node) {
  const std::vector<Uop> below = operands(node);
  const bool is_deep = std::any_of(below.begin(), below.end(), [](const Uop& x) {
    return !operands(x).empty() || std::holds_alternative<uop::Iota>(x.node().kind);
  });
  if (!is_deep && below.size() < 2) return std::nullopt;
  for (const char* name : {"k", "l", "m", "n", "o", "q", "r", "t"}) {
    if (find_input(*p, name) || find_param(*p, name)) continue;
    Shape shape;
    for (const Expr& e : node.shape()) shape.emplace_back(e);
    const Uop in = input(name, node.dtype(), shape);
    return instead(p, node, in, {in});
  }
  return std::nullopt;
}

bool same_type(const Uop& a, const Uop& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype();
}

}  // namespace

std::vector<Edit> smaller_graphs(const Source& p) {
  std::vector<Edit> edits;
  const std::size_t outputs = p->outputs.size();
  for (std::size_t k = 0; k < outputs && outputs > 1; ++k)
    edits.emplace_back([=] { return without_output(*p, k); });
  for (std::size_t k = 0; k < outputs; ++k)
    for (const Uop& x : operands(p->outputs[k].value))
      edits.emplace_back([=] { return with_output(*p, k, x); });
  std::vector<Uop> nodes = nodes_of(*p);
  std::reverse(nodes.begin(), nodes.end());
  for (const Uop& node : nodes) {
    const std::vector<Uop> below = operands(node);
    if (below.empty()) continue;
    for (std::size_t k = 0; k < below.size(); ++k)
      if (same_type(below[k], node)) edits.push_back(by_operand(p, node, k));
    for (const Uop& in : p->inputs)
      if (same_type(in, node)) edits.emplace_back([=] { return instead(p, node, in); });
    edits.emplace_back([=] { return as_new_input(p, node); });
  }
  for (std::size_t k = 0; k < p->inputs.size(); ++k) {
    edits.emplace_back([=] { return without_input(*p, k); });
    edits.emplace_back([=] { return with_real_input(*p, k); });
  }
  for (std::size_t k = 0; k < p->params.size(); ++k)
    edits.emplace_back([=] { return without_param(*p, k); });
  return edits;
}

}  // namespace mote::test
