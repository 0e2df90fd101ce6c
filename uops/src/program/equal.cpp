// SPDX-License-Identifier: Apache-2.0
// Compares programs by names, shapes and nodes; axis names, meanings and equations are only hints.
#include <algorithm>
#include <unordered_map>

#include "graph/node.h"
#include "mote/uops/program.h"

namespace mote {
namespace {

template <typename T, typename F>
bool all_equal(const std::vector<T>& a, const std::vector<T>& b, const F& f) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), f);
}

// Compares the structure of two graphs, node by node.
bool same_graphs(const std::vector<Uop>& a, const std::vector<Uop>& b) {
  const std::vector<Uop> left = topological(a);
  const std::vector<Uop> right = topological(b);
  std::unordered_map<const UopNode*, Uop> twin;  // from the left graph to the right one
  if (left.size() != right.size()) return false;
  for (std::size_t k = 0; k < left.size(); ++k) {
    std::vector<Uop> args = operands(left[k]);
    for (Uop& x : args) x = twin.at(x.id());
    if (!same_node(rebuild(left[k], args, {}).node(), right[k].node())) return false;
    twin.emplace(left[k].id(), right[k]);
  }
  return all_equal(a, b,
                   [&](const Uop& x, const Uop& y) { return twin.at(x.id()).id() == y.id(); });
}

}  // namespace

bool equal(const Program& a, const Program& b) {
  const auto same_param = [](const ParamDecl& x, const ParamDecl& y) {
    return x.name == y.name && x.is_integer == y.is_integer && x.default_value == y.default_value &&
           x.lower == y.lower && x.upper == y.upper;
  };
  const auto same_size = [](const NamedSize& x, const NamedSize& y) {
    return x.name == y.name && x.value == y.value;
  };
  const auto same_name = [](const Output& x, const Output& y) { return x.name == y.name; };
  return a.name == b.name && all_equal(a.params, b.params, same_param) &&
         all_equal(a.sizes, b.sizes, same_size) && a.constraints == b.constraints &&
         a.inputs.size() == b.inputs.size() && all_equal(a.outputs, b.outputs, same_name) &&
         same_graphs(inputs_and_roots(a.inputs, a.outputs), inputs_and_roots(b.inputs, b.outputs));
}

}  // namespace mote
