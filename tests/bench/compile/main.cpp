// SPDX-License-Identifier: Apache-2.0
// Measures graphs from their building to a run, and prints tables in Markdown. With --gate only
// ratios are compared: time and bytes of eight times as long a chain, memory of networks over the
// least that is possible, time and memory with checkpoints over those without. A number as the
// argument is the longest chain.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "measures.h"

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

/// Eight times as many nodes, a power of two so that vectors have grown alike, may take 1.2 times
/// eight times the time and bytes.
bool is_linear(Context& context) {
  constexpr int kNodes = 2048;
  constexpr int kTimes = 8;
  constexpr double kLimit = 1.2 * kTimes;
  bool in_time = false;
  bool in_bytes = false;
  for (int attempt = 0; attempt < 5 && !(in_time && in_bytes); ++attempt) {
    const ChainCost one = chain_cost(kNodes, true, context);
    const ChainCost more = chain_cost(kTimes * kNodes, true, context);
    in_time = is_within("time of eight times the nodes", more.seconds() / one.seconds(), kLimit);
    in_bytes = is_within("bytes of eight times the nodes",
                         static_cast<double>(more.peak) / static_cast<double>(one.peak), kLimit);
  }
  return in_time && in_bytes;
}

/// A least-cut checkpoint takes at most 3 % more time, and needs fewer bytes if it does anything.
bool is_cheap(Context& context) {
  constexpr double kMostTime = 1.03;
  bool ok = false;
  for (int attempt = 0; attempt < 5 && !ok; ++attempt) {
    ok = true;
    for (const CheckpointCost& c : checkpoint_costs(context, false)) {
      const double bytes = static_cast<double>(c.arena) / static_cast<double>(c.arena_without);
      ok = is_within("time of " + c.name + " with a cheap checkpoint", c.time_ratio, kMostTime) &&
           is_within("memory of " + c.name + " with a cheap checkpoint", bytes, 1) && ok;
    }
  }
  return ok;
}

int gate() {
  Context context;
  bool ok = is_linear(context);
  ok = is_cheap(context) && ok;
  for (const NetworkMemory& m : network_memory(context))
    ok = is_within("memory of " + m.name, over_bound(m), 1) && ok;
  return ok ? 0 : 1;
}

int print_all(int longest) {
  Context context;
  print_chains(longest, context);
  fmt::print("\n");
  print_networks(network_memory(context));
  fmt::print("\n");
  print_checkpoints(checkpoint_costs(context, true));
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
  return mote::bench::print_all(argc == 2 ? std::atoi(argv[1]) : 100000);
}
