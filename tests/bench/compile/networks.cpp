// SPDX-License-Identifier: Apache-2.0
// Compares the planned memory of networks with the least that any plan needs.
#include "networks.h"

#include <ctime>

#include "measures.h"
#include "mote/symbolic/compile.h"

namespace mote::bench {
namespace {

using networks::Mode;
using networks::Network;

NetworkMemory memory_of(const std::string& name, const Network& network,
                        const CompileOptions& options, Context& context) {
  const std::clock_t start = std::clock();
  const Executable executable = compile(network.graph, options, context);
  const std::clock_t end = std::clock();
  const CompileReport& report = executable.report();
  return {.name = name,
          .nodes = report.nodes.size(),
          .arena = report.arena_bytes,
          .bound = report.lower_bound,
          .separate = report.separate_bytes,
          .in_place = report.in_place_pairs,
          .seconds = static_cast<double>(end - start) / CLOCKS_PER_SEC};
}

template <typename Make>
void add(std::vector<NetworkMemory>& all, const std::string& name, const Make& make,
         Context& context) {
  const Network forward = make(Mode::inference);
  all.push_back(memory_of(name + ", forward", forward, {.outputs = forward.outputs}, context));
  Network trained = make(Mode::training);
  const networks::TrainingStep step = networks::training(trained);
  all.push_back(memory_of(name + ", training", trained,
                          {.outputs = {trained.loss}, .bound = step.gradients}, context));
}

}  // namespace

std::vector<NetworkMemory> network_memory(Context& context) {
  std::vector<NetworkMemory> all;
  add(
      all, "ResNet-50", [](Mode mode) { return networks::resnet(mode, {}); }, context);
  add(
      all, "DenseNet-121", [](Mode mode) { return networks::densenet(mode, {}); }, context);
  add(
      all, "DenseNet-121 by concat",
      [](Mode mode) { return networks::densenet(mode, {}, networks::Join::concat); }, context);
  add(
      all, "LSTM, 64 steps", [](Mode mode) { return networks::lstm(mode, {.steps = 64}); },
      context);
  add(
      all, "GPT L4 C128 B12", [](Mode mode) { return networks::transformer(mode, {}); }, context);
  add(
      all, "GPT L12 C256 B4",
      [](Mode mode) {
        return networks::transformer(mode, {.channels = 256, .batch = 4, .blocks = 12});
      },
      context);
  Network adam = networks::transformer(Mode::training, {});
  const networks::TrainingStep step = networks::training(adam, networks::Optimiser::adam);
  std::vector<TensorSymbol> next = step.next_parameters;
  next.insert(next.end(), step.next_moments.begin(), step.next_moments.end());
  all.push_back(memory_of("GPT L4 C128 B12, step of Adam", adam,
                          {.outputs = {adam.loss}, .bound = next}, context));
  return all;
}

}  // namespace mote::bench
