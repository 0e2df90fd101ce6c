// SPDX-License-Identifier: Apache-2.0
// Random graphs of all ops: what their nodes compute one by one lies in the bound of the program of
// the graph. MOTE_SEED sets the first seed, MOTE_RANDOM_GRAPHS the number.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

#include "graph_subject.h"
#include "mote/oracle/graph_bound.h"
#include "mote/symbolic/text.h"
#include "random_graph.h"

namespace mote::test {
namespace {

constexpr int kRandomGraphs = 60;

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::stoull(value);
}

TEST(InlinedRandomGraphs, AreWithinTheirBound) {
  const std::uint64_t first = number_of("MOTE_SEED", std::random_device{}() % 1000000000);
  const std::uint64_t count = number_of("MOTE_RANDOM_GRAPHS", kRandomGraphs);
  Context context;
  std::int64_t judged = 0, open = 0;
  std::map<std::string, int> reasons;
  std::uint64_t graphs = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const GraphSubject subject(random_graph(seed), some_data(seed));
    const auto result = judge_by_bound(subject.graph(), subject.bindings_by_index(subject.graph()),
                                       subject.expected(), context);
    if (const auto* reason = std::get_if<Reason>(&result)) {
      ++reasons[reason->text];
      continue;
    }
    const auto& verdict = std::get<GraphBoundVerdict>(result);
    ++graphs;
    judged += verdict.judged;
    open += verdict.open;
    EXPECT_FALSE(verdict.failure) << "MOTE_RANDOM_GRAPHS=1 MOTE_SEED=" << seed << " "
                                  << to_string(subject.data()) << ": " << *verdict.failure << "\n"
                                  << to_text(subject.graph());
  }
  std::cout << graphs << " of " << count << " random graphs from MOTE_SEED=" << first << ": "
            << judged << " elements in their bounds, " << open << " of which nothing is known\n";
  for (const auto& [text, times] : reasons) std::cout << times << " " << text << "\n";
  EXPECT_GT(judged, 0);
}

}  // namespace
}  // namespace mote::test
