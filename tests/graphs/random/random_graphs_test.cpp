// SPDX-License-Identifier: Apache-2.0
// Computes random graphs in every way and compares with their nodes run one by one.
// MOTE_RANDOM_GRAPHS sets their number, MOTE_SEED the first seed; MOTE_REPLAY=FILE checks one graph
// from a file instead.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "graph_features.h"
#include "graph_replay.h"
#include "graph_session.h"
#include "support/random_run.h"

namespace mote::test {
namespace {

constexpr int kGraphs = 2000;
constexpr int kMaxFailures = 3;
/// From that number of graphs on, every feature must be met, and every op: seeds take turns with
/// them.
constexpr int kAllFeatures = 1000;

void report(std::uint64_t seed, const GraphFailure& failure) {
  const GraphFailure small = shrunk(failure);
  ADD_FAILURE() << "seed " << seed << ", " << failure.leg << ": " << failure.what
                << "\nshrunk to:\n"
                << replay_text(small)
                << "replay: " << write_replay(small, fmt::format("mote_graph_{}", seed));
}

/// Prints how often each feature was met; fails if one was not.
void expect_met(const std::vector<std::string>& features, const Counts& counts, bool is_printed) {
  for (const std::string& feature : features) {
    const auto found = counts.find(feature);
    const std::int64_t times = found == counts.end() ? 0 : found->second;
    if (is_printed) std::cout << fmt::format("  {:7} {}\n", times, feature);
    EXPECT_GT(times, 0) << "no graph has: " << feature;
  }
}

void check_random_graphs() {
  const std::string how_many = environment("MOTE_RANDOM_GRAPHS");
  const int count = how_many.empty() ? kGraphs : std::stoi(how_many);
  const std::uint64_t first = first_seed();
  std::cout << count << " random graphs from MOTE_SEED=" << first << "\n";
  say_seed_on_crash("\ncrashed in a random graph: MOTE_RANDOM_GRAPHS=1 MOTE_SEED=");
  Counts counts;
  LegSeconds seconds;
  int failures = 0;
  for (int k = 0; k < count && failures < kMaxFailures; ++k) {
    current_seed = first + static_cast<std::uint64_t>(k);
    try {
      const auto failure = check_seed(current_seed, counts, seconds);
      if (!failure) continue;
      report(current_seed, *failure);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "seed " << current_seed << ": no graph is made: " << e.what();
    }
    ++failures;
  }
  std::cout << fmt::format("  {} nodes\n", counts["nodes"]);
  for (const auto& [leg, time] : seconds) std::cout << fmt::format("  {:7.2f} s {}\n", time, leg);
  if (failures > 0 || count < kAllFeatures) return;
  expect_met(graph_features(), counts, true);
  expect_met(counted_by_legs(), counts, true);
  expect_met(op_features(), counts, false);
}

void check_replay(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const GraphFailure failure = parse_graph_replay(text.str());
  Counts counts;
  const auto what =
      difference_or_error(GraphSubject(failure.graph, failure.data), failure.leg, counts);
  EXPECT_FALSE(what) << failure.leg << ": " << *what;
}

TEST(RandomGraphs, AgreeInEveryWay) {
  const std::string file = environment("MOTE_REPLAY");
  if (file.empty())
    check_random_graphs();
  else
    check_replay(file);
}

}  // namespace
}  // namespace mote::test
