// SPDX-License-Identifier: Apache-2.0
#include "text/print_control.h"

#include <algorithm>

#include "mote/symbolic/control.h"
#include "mote/symbolic/text.h"

namespace mote::graph_text {
namespace {

std::string braced(const SymbolicGraph& graph) {
  std::string text = " {\n";
  const std::string inner = to_text(graph);
  for (std::size_t at = 0; at < inner.size();) {
    const std::size_t end = inner.find('\n', at) + 1;
    text += "    " + inner.substr(at, end - at);
    at = end;
  }
  return text + "  }";
}

}  // namespace

std::string control_text(const NodeInfo& node, const std::vector<std::string>& names,
                         bool with_graphs) {
  const ControlInfo& control = *node.control;
  const auto list = [&](std::size_t first, std::size_t count) {
    std::string text;
    for (std::size_t k = first; k < first + count; ++k)
      text += (text.empty() ? "" : ", ") +
              (node.inputs[k] == kNoIndex ? std::string("_") : names[node.inputs[k]]);
    return "(" + text + ")";
  };
  if (control.is_loop) {
    std::string text = "while " + list(0, node.inputs.size());
    if (control.has_counter) text += " counter";
    if (control.limit != WhileOptions().limit) text += " limit " + std::to_string(control.limit);
    if (control.checkpoints == kKeepSquareRoot) text += " checkpoint sqrt";
    if (control.checkpoints > 0) text += " checkpoint " + std::to_string(control.checkpoints);
    return text + (with_graphs ? braced(control.graphs[0]) : "");
  }
  std::string text = "case " + list(0, 1);
  const std::size_t count = result_count(control);
  const auto end = node.inputs.begin() + 1 + static_cast<std::ptrdiff_t>(count);
  const auto is_there = [](std::uint32_t k) { return k != kNoIndex; };
  if (std::any_of(node.inputs.begin() + 1, end, is_there)) text += " else " + list(1, count);
  for (std::size_t g = 0; g < control.graphs.size(); ++g)
    text += " of " + list(first_input(node, g), input_count(control, g)) +
            (with_graphs ? braced(control.graphs[g]) : "");
  return text;
}

}  // namespace mote::graph_text
