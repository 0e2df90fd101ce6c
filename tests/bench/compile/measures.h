// SPDX-License-Identifier: Apache-2.0
// The measurements of compiled graphs. Times are those of the process on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mote/runtime/context.h"

namespace mote::bench {

/// Building, differentiating and compiling a chain of `nodes` nodes of one element. Time is that of
/// a run on an empty heap, whose memory comes from the system; bytes are counted in another run.
struct ChainCost {
  int nodes = 0;
  double build = 0, gradient = 0, compile = 0;  ///< seconds
  std::size_t peak = 0;                         ///< bytes of the heap
  double seconds() const { return build + gradient + compile; }
};
ChainCost chain_cost(int nodes, bool with_gradient, Context& context);
/// A network's memory, compiled for one stream.
struct NetworkMemory {
  std::string name;
  std::size_t nodes = 0, arena = 0, bound = 0, separate = 0, in_place = 0;
  double seconds = 0;  ///< of compile()
};
/// ResNet-50, DenseNet-121, LSTM and a Transformer at batch 1 or as they are named, forward and a
/// training step with the gradients of all parameters bound by the caller.
std::vector<NetworkMemory> network_memory(Context& context);

/// A network's training step with a least-cut checkpoint (CheckpointPolicy::cheap), next to the
/// same step without, run in turn on one thread.
struct CheckpointCost {
  std::string name;
  std::size_t copies = 0, arena = 0, arena_without = 0;
  double time_ratio = 0;  ///< the median over rounds
};
/// `deep`: of ResNet-50, DenseNet-121 and an LSTM too, which takes minutes.
std::vector<CheckpointCost> checkpoint_costs(Context& context, bool deep);

/// An LSTM of one layer over a sequence, forward and backward, as a loop and unrolled.
struct SequenceCost {
  std::int64_t steps = 0, rows = 0, width = 0;
  double compile = 0, compile_unrolled = 0;  ///< seconds to build, differentiate and compile
  double run = 0, run_unrolled = 0;          ///< seconds, medians
  double compile_ratio = 0, run_ratio = 0;   ///< medians over rounds
  std::size_t arena = 0, arena_unrolled = 0, tape = 0;
};
SequenceCost sequence_cost(std::int64_t steps, std::int64_t rows, std::int64_t width, int rounds,
                           std::int64_t checkpoints, Context& context);

/// The time, of the process on the CPU, that a budget takes for a chain of n nodes with its
/// gradient, over the time to make and plan checkpoints with log2(n) slots, in one run.
struct BudgetCost {
  double meet = 0;    ///< to meet a fiftieth of the memory that the chain needs
  double refuse = 0;  ///< to refuse one byte less than the least that any checkpoints need
};
BudgetCost budget_cost(int nodes, Context& context);
/// Returns the nanoseconds that a run takes for each node of a chain of functions that do nothing.
double dispatch_nanoseconds(Context& context);
/// Returns how many times as fast two streams are as one for two independent branches of conv2d.
double gain_of_two_streams();

}  // namespace mote::bench
