// SPDX-License-Identifier: Apache-2.0
// Measures graphs from their building to a run, and prints tables in Markdown. With --gate only
// ratios and bytes are compared: time and bytes of chains eight and ten times as long, memory of
// networks over the least that is possible, time and memory with checkpoints over those without. A
// number as the argument is the longest chain; "sequences" prints the table of LSTMs alone.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "measures.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::bench {
namespace {

constexpr double kMega = 1e6;

void print_chains(int longest, Context& context) {
  fmt::print("| chain of | gradient | build ms | gradient ms | compile ms | µs a node | MB |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  for (const bool with_gradient : {false, true}) {
    for (int nodes = 1000; nodes <= longest; nodes *= 10) {
      const ChainCost c = chain_cost(nodes, with_gradient, context);
      fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.2f} | {:.1f} |\n", nodes,
                 with_gradient ? "yes" : "no", 1e3 * c.build, 1e3 * c.gradient, 1e3 * c.compile,
                 1e6 * c.seconds() / nodes, static_cast<double>(c.peak) / kMega);
    }
  }
}

double over_bound(const NetworkMemory& m) {
  return static_cast<double>(m.arena) / static_cast<double>(m.bound);
}

void print_networks(const std::vector<NetworkMemory>& all) {
  fmt::print("| network | nodes | in place | separate MB | bound MB | arena MB | ratio | s |\n");
  fmt::print("|---|---|---|---|---|---|---|---|\n");
  for (const NetworkMemory& m : all)
    fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.3f} | {:.2f} |\n", m.name, m.nodes,
               m.in_place, static_cast<double>(m.separate) / kMega,
               static_cast<double>(m.bound) / kMega, static_cast<double>(m.arena) / kMega,
               over_bound(m), m.seconds);
}

void print_checkpoints(const std::vector<CheckpointCost>& all) {
  fmt::print("| network | nodes computed again | arena MB without | arena MB | time ratio |\n");
  fmt::print("|---|---|---|---|---|\n");
  for (const CheckpointCost& c : all)
    fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.3f} |\n", c.name, c.copies,
               static_cast<double>(c.arena_without) / kMega, static_cast<double>(c.arena) / kMega,
               c.time_ratio);
}

bool is_within(const std::string& what, double ratio, double limit) {
  fmt::print("{}: {:.3f}, the limit is {}{}\n", what, ratio, limit,
             ratio <= limit ? "" : ": beyond it");
  return ratio <= limit;
}

/// Compares chains of which one is `times` as long: it may take 1.2 times as many times the time,
/// and bytes if vectors have grown alike in both. The best of some rounds counts, since others use
/// the machine too.
bool is_linear(int nodes, int times, bool with_bytes, Context& context) {
  const double limit = 1.2 * times;
  double time = std::numeric_limits<double>::infinity();
  double bytes = 0;
  for (int round = 0; round < 5 && time > limit; ++round) {
    const ChainCost one = chain_cost(nodes, true, context);
    const ChainCost more = chain_cost(times * nodes, true, context);
    time = std::min(time, more.seconds() / one.seconds());
    bytes = static_cast<double>(more.peak) / static_cast<double>(one.peak);
  }
  const std::string what = fmt::format(" of {} nodes over {}", times * nodes, nodes);
  const bool in_time = is_within("time" + what, time, limit);
  return (!with_bytes || is_within("bytes" + what, bytes, limit)) && in_time;
}

/// The heap at its peak while a chain of 10,000 nodes is built, differentiated and compiled.
bool is_small(Context& context) {
  bool ok = true;
  for (const bool with_gradient : {false, true}) {
    const ChainCost cost = chain_cost(10000, with_gradient, context);
    const std::string what =
        fmt::format("MB of 10000 nodes {} gradient", with_gradient ? "with their" : "without a");
    ok = is_within(what, static_cast<double>(cost.peak) / kMega, with_gradient ? 50 : 25) && ok;
  }
  return ok;
}

/// A budget is met, or refused where nothing fits into it, in less time than an attempt with few
/// copies takes for each power of two among the numbers of slots: an attempt with one slot has 90
/// copies of each of 10,000 nodes.
bool is_quick_with_budget(Context& context) {
  constexpr int kNodes = 10000;
  const double limit = std::log2(kNodes);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  BudgetCost least{kNever, kNever};
  for (int round = 0; round < 5 && std::max(least.meet, least.refuse) > limit; ++round) {
    const BudgetCost cost = budget_cost(kNodes, context);
    least.meet = std::min(least.meet, cost.meet);
    least.refuse = std::min(least.refuse, cost.refuse);
  }
  const std::string text =
      fmt::format("attempts in the time to {{}} a budget for {} nodes", kNodes);
  const bool meets = is_within(fmt::format(fmt::runtime(text), "meet"), least.meet, limit);
  return is_within(fmt::format(fmt::runtime(text), "refuse"), least.refuse, limit) && meets;
}

/// A least-cut checkpoint takes at most 3 % more time, and needs fewer bytes if it does anything.
bool is_cheap(Context& context) {
  constexpr double kMaxTime = 1.03;
  bool ok = false;
  for (int attempt = 0; attempt < 5 && !ok; ++attempt) {
    ok = true;
    for (const CheckpointCost& c : checkpoint_costs(context, false)) {
      const double bytes = static_cast<double>(c.arena) / static_cast<double>(c.arena_without);
      ok = is_within("time of " + c.name + " with a cheap checkpoint", c.time_ratio, kMaxTime) &&
           is_within("memory of " + c.name + " with a cheap checkpoint", bytes, 1) && ok;
    }
  }
  return ok;
}

void print_sequences(const std::vector<SequenceCost>& all) {
  fmt::print(
      "| steps | rows | width | compile ms, unrolled | ratio | run ms, unrolled | ratio | "
      "arena and tape MB, unrolled |\n");
  fmt::print("|---|---|---|---|---|---|---|---|\n");
  for (const SequenceCost& c : all)
    fmt::print(
        "| {} | {} | {} | {:.2f}, {:.2f} | {:.3f} | {:.2f}, {:.2f} | {:.3f} | {:.2f} + {:.2f}, "
        "{:.2f} |\n",
        c.steps, c.rows, c.width, 1e3 * c.compile, 1e3 * c.compile_unrolled, c.compile_ratio,
        1e3 * c.run, 1e3 * c.run_unrolled, c.run_ratio, static_cast<double>(c.arena) / kMega,
        static_cast<double>(c.tape) / kMega, static_cast<double>(c.arena_unrolled) / kMega);
}

/// A loop of 512 steps takes at most 1.05 times as long as the unrolled cells, and a tenth of the
/// time until it is compiled. What an iteration copies grows with the width, and what its cell
/// computes with the square of that.
bool is_good_loop(Context& context) {
  constexpr double kMaxRun = 1.05, kMaxCompile = 0.1;
  bool ok = false;
  for (int attempt = 0; attempt < 5 && !ok; ++attempt) {
    const SequenceCost c = sequence_cost(512, 8, 256, 5, 0, context);
    ok = is_within("time of an LSTM as a loop", c.run_ratio, kMaxRun);
    ok = is_within("time to compile it", c.compile_ratio, kMaxCompile) && ok;
  }
  return ok;
}

int gate() {
  Context context;
  bool ok = is_linear(2048, 8, true, context);
  ok = is_linear(10000, 10, false, context) && ok;
  ok = is_small(context) && ok;
  ok = is_quick_with_budget(context) && ok;
  ok = is_cheap(context) && ok;
  ok = is_good_loop(context) && ok;
  for (const NetworkMemory& m : network_memory(context))
    ok = is_within("memory of " + m.name, over_bound(m), 1) && ok;
  return ok ? 0 : 1;
}

std::vector<SequenceCost> sequence_costs(Context& context) {
  return {sequence_cost(512, 1, 128, 31, kKeepEach, context),
          sequence_cost(512, 8, 64, 31, kKeepEach, context),
          sequence_cost(512, 16, 128, 15, kKeepEach, context),
          sequence_cost(512, 16, 128, 15, kKeepSquareRoot, context)};
}

int print_all(int longest) {
  Context context;
  print_chains(longest, context);
  fmt::print("\n");
  print_networks(network_memory(context));
  fmt::print("\n");
  print_checkpoints(checkpoint_costs(context, true));
  fmt::print("\n");
  print_sequences(sequence_costs(context));
  fmt::print("\na node that does nothing takes {:.1f} ns\n", dispatch_nanoseconds(context));
  fmt::print("two streams are {:.2f} times as fast as one\n", gain_of_two_streams());
  return 0;
}

}  // namespace
}  // namespace mote::bench

int main(int argc, char** argv) {
  // OpenMP takes the number of threads for each worker from the environment, when the program
  // starts.
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  if (argc == 2 && std::strcmp(argv[1], "--gate") == 0) return mote::bench::gate();
  if (argc == 2 && std::strcmp(argv[1], "sequences") == 0) {
    mote::Context context;
    mote::bench::print_sequences(mote::bench::sequence_costs(context));
    return 0;
  }
  return mote::bench::print_all(argc == 2 ? std::atoi(argv[1]) : 100000);
}
