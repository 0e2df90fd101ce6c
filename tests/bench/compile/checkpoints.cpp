// SPDX-License-Identifier: Apache-2.0
// Measures the time and the memory of training steps with checkpoints and of the same steps
// without, in turn.
#include <algorithm>
#include <ctime>
#include <utility>

#include "measures.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/compile.h"
#include "networks.h"

namespace mote::bench {
namespace {

using networks::Mode;
using networks::Network;

/// A compiled step, whose inputs are bound.
struct Step {
  Executable executable;

  Step(const SymbolicGraph& graph, const std::vector<TensorSymbol>& outputs,
       const std::vector<TensorBinding>& bindings, Context& context)
      : executable(compile(graph, {.outputs = outputs}, context)) {
    for (const auto& [symbol, tensor] : bindings) executable.bind(symbol, tensor);
    executable.run();
  }
  /// Returns the seconds of a run, of the process on the CPU.
  double seconds() {
    const std::clock_t start = std::clock();
    executable.run();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  }
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

CheckpointCost cost_of(const std::string& name, Network network, const CheckpointOptions& options,
                       int rounds, Context& context) {
  const networks::TrainingStep trained = networks::training(network);
  std::vector<TensorSymbol> outputs = {network.loss};
  outputs.insert(outputs.end(), trained.gradients.begin(), trained.gradients.end());
  network.graph.set_outputs(outputs);
  const std::vector<TensorBinding> bindings = networks::values(network, 1);
  Step plain(network.graph, outputs, bindings, context);
  const CheckpointReport report = checkpoint(network.graph, std::vector{network.loss}, options);
  Step checkpointed(network.graph, outputs, bindings, context);
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    // Each of the two is first in half of the rounds.
    const double first = round % 2 == 0 ? plain.seconds() : checkpointed.seconds();
    const double second = round % 2 == 0 ? checkpointed.seconds() : plain.seconds();
    ratios.push_back(round % 2 == 0 ? second / first : first / second);
  }
  return {.name = name,
          .copies = report.copies,
          .arena = checkpointed.executable.report().arena_bytes,
          .arena_without = plain.executable.report().arena_bytes,
          .time_ratio = median(ratios)};
}

}  // namespace

std::vector<CheckpointCost> checkpoint_costs(Context& context, bool deep) {
  const networks::Images images{.batch = 1, .size = 32, .classes = 10};
  const networks::Transformer gpt{.batch = 4};
  const CheckpointOptions cheap{.policy = CheckpointPolicy::cheap, .context = &context};
  std::vector<CheckpointCost> all;
  const auto add = [&](const std::string& name, Network network, int rounds) {
    all.push_back(cost_of(name, std::move(network), cheap, rounds, context));
  };
  if (deep) {
    add("ResNet-50", networks::resnet(Mode::training, images), 21);
    add("DenseNet-121", networks::densenet(Mode::training, images), 21);
    add("LSTM, 64 steps", networks::lstm(Mode::training, {.steps = 64}), 41);
  }
  add("GPT L4 C128 B4", networks::transformer(Mode::training, gpt), 41);
  add("MLP 256x4", networks::mlp(Mode::training, 256, {256, 256, 256, 256, 10}), 201);
  return all;
}

}  // namespace mote::bench
