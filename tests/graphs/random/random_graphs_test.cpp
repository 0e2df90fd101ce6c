// SPDX-License-Identifier: Apache-2.0
// Computes random graphs in every way and compares with their nodes run one by one.
// MOTE_RANDOM_GRAPHS sets their number, MOTE_SEED the first seed; MOTE_REPLAY=FILE checks one graph
// from a file instead.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "graph_features.h"
#include "graph_replay.h"
#include "graph_session.h"

namespace mote::test {
namespace {

constexpr int kGraphs = 2000;
constexpr int kMaxFailures = 3;
/// From that number of graphs on, every feature must be met; from the second on, every op.
constexpr int kAllFeatures = 500;
constexpr int kAllOps = 5000;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The current seed, for the last message of a process that a kernel or a plan has killed.
volatile std::uint64_t current_seed = 0;

void say_seed_and_die(int number) {
  char text[] =
      "\ncrashed in a random graph: MOTE_RANDOM_GRAPHS=1 MOTE_SEED=00000000000000000000\n";
  std::uint64_t seed = current_seed;
  for (std::size_t k = sizeof text - 3; seed != 0; seed /= 10, --k)
    text[k] = static_cast<char>('0' + seed % 10);
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(2);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

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
  const std::string wanted = environment("MOTE_SEED");
  const std::string how_many = environment("MOTE_RANDOM_GRAPHS");
  const int count = how_many.empty() ? kGraphs : std::stoi(how_many);
  const std::uint64_t first =
      wanted.empty() ? std::random_device{}() % 1000000000 : std::stoull(wanted);
  std::cout << count << " random graphs from MOTE_SEED=" << first << "\n";
  for (const int number : {SIGSEGV, SIGFPE, SIGBUS, SIGABRT}) std::signal(number, say_seed_and_die);
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
  if (count >= kAllOps) expect_met(op_features(), counts, false);
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
