// SPDX-License-Identifier: Apache-2.0
#include "graph/bound.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "mote/oracle/graph_bound.h"
#include "output.h"

namespace mote::tool {
namespace {

constexpr int kNothingJudged = 4;

int report_reason(const SymbolicGraph& graph, const std::string& reason, bool json) {
  if (json)
    print(nlohmann::json({{"graph", graph.name()}, {"judged", 0}, {"reason", reason}}).dump() +
          "\n");
  else
    print("nothing was judged by a bound: " + reason + "\n");
  return kNothingJudged;
}

}  // namespace

int check_by_bound(const SymbolicGraph& graph, const GraphReference& reference, Context& context,
                   bool json) {
  const auto judged = judge_by_bound(graph, reference.inputs, reference.outputs, context);
  if (const auto* reason = std::get_if<Reason>(&judged))
    return report_reason(graph, reason->text, json);
  const auto& verdict = std::get<GraphBoundVerdict>(judged);
  if (!verdict.failure && verdict.judged == 0)
    return report_reason(graph, "the bound says nothing about any element", json);
  if (json) {
    nlohmann::json line = {{"graph", graph.name()},
                           {"judged", verdict.judged},
                           {"open", verdict.open},
                           {"passed", !verdict.failure}};
    if (verdict.failure) line["what"] = *verdict.failure;
    print(line.dump() + "\n");
  } else if (verdict.failure) {
    print(fmt::format("FAILED: {}: {}\n", graph.name(), *verdict.failure));
  } else {
    print(fmt::format("passed: {}: {} elements lie in the bound of the whole graph{}\n",
                      graph.name(), verdict.judged,
                      verdict.open == 0
                          ? ""
                          : fmt::format(", which says nothing about {} others", verdict.open)));
  }
  return verdict.failure ? 1 : 0;
}

}  // namespace mote::tool
