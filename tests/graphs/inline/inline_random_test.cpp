// SPDX-License-Identifier: Apache-2.0
// Random graphs of all ops: what their nodes compute one by one lies in the bound of the program of
// the graph. MOTE_SEED sets the first seed, MOTE_RANDOM_GRAPHS the number.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

#include "graph_subject.h"
#include "inlined_checks.h"
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

/// A graph in which arithmetic is exact, with respect to all its real inputs.
InlinedCase exact_case(std::uint64_t seed) {
  InlinedCase c;
  c.g = random_exact_graph(seed);
  for (const auto& [symbol, value] : input_values(c.g, {FillName::uniform, seed})) {
    c.bindings.emplace_back(c.g.at(symbol), value);
    if (is_real(value.dtype())) c.wrt.push_back(c.g.at(symbol));
  }
  for (const TensorSymbol y : c.g.outputs())
    if (is_real(c.g.form(y).dtype) && c.g.form(y).is_row_major()) c.of.push_back(y);
  return c;
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

TEST(InlinedRandomGraphs, HaveTheGradientOfTheirUops) {
  const std::uint64_t first = number_of("MOTE_SEED", std::random_device{}() % 1000000000);
  const std::uint64_t count = number_of("MOTE_RANDOM_GRAPHS", kRandomGraphs);
  std::cout << count << " random graphs from MOTE_SEED=" << first << "\n";
  std::uint64_t compared = 0, forward = 0, without = 0;
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    InlinedCase c = exact_case(seed);
    if (c.of.empty() || c.wrt.empty()) {
      ++without;
      continue;
    }
    SCOPED_TRACE("MOTE_RANDOM_GRAPHS=1 MOTE_SEED=" + std::to_string(seed));
    try {
      expect_gradients(c, Agreement::where_bounded);
      ++compared;
      InlinedCase again = exact_case(seed);
      forward += expect_forward_mode(again) ? 1 : 0;
    } catch (const Error& e) {  // a program that is too deep, say
      std::cout << "seed " << seed << ": " << e.what() << "\n";
    }
  }
  std::cout << compared << " compared, " << forward << " of them forwards too, " << without
            << " have nothing real\n";
  EXPECT_TRUE(forward > 0 || count < kRandomGraphs);
  EXPECT_GE(2 * (compared + without), count);
}

}  // namespace
}  // namespace mote::test
