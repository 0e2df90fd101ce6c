// SPDX-License-Identifier: Apache-2.0
// Memory traces of networks: the lifetimes of their values when nodes run in program order. A value
// lives from the node that writes it to the last that reads it; training appends, for each node
// in reverse, one that reads its inputs, its output and the gradient of the output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mote/memory/problem.h"

namespace mote::test {

class Trace {
 public:
  /// Adds a node that reads values and writes one of `bytes` bytes; returns the value's number.
  std::size_t node(const std::vector<std::size_t>& reads, std::uint64_t bytes) {
    const auto now = static_cast<std::int64_t>(nodes_.size());
    for (const std::size_t value : reads) values_[value].end = now + 1;
    nodes_.push_back({reads, values_.size()});
    values_.push_back({now, now + 1});
    bytes_.push_back(bytes);
    return values_.size() - 1;
  }

  /// Appends the way back from the last node.
  void train() {
    std::vector<std::size_t> gradients(values_.size(), kNone);
    const std::vector<Node> forward = nodes_;
    gradients.back() = node({values_.size() - 1}, bytes_.back());
    for (auto at = forward.rbegin(); at != forward.rend(); ++at) {
      if (gradients[at->value] == kNone) continue;
      std::vector<std::size_t> reads = at->reads;
      reads.push_back(at->value);
      reads.push_back(gradients[at->value]);
      for (const std::size_t input : at->reads) {
        std::size_t gradient = node(reads, bytes_[input]);
        if (gradients[input] != kNone) gradient = node({gradient, gradients[input]}, bytes_[input]);
        gradients[input] = gradient;
      }
    }
  }

  MemoryProblem problem() const {
    MemoryProblem problem;
    for (std::size_t k = 0; k < bytes_.size(); ++k)
      problem.blocks.push_back({(bytes_[k] + 63) / 64 * 64, 64, "v" + std::to_string(k)});
    problem.interference = Interference::of_lifetimes(values_);
    return problem;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Node {
    std::vector<std::size_t> reads;
    std::size_t value;
  };
  std::vector<Node> nodes_;
  std::vector<Lifetime> values_;
  std::vector<std::uint64_t> bytes_;
};

/// ResNet: `blocks` bottlenecks in each of four stages (3, 4, 6, 3 are ResNet-50), f32, batch 1.
inline Trace resnet(const std::vector<int>& blocks) {
  Trace trace;
  std::size_t x = trace.node({}, 4 * 3 * 224 * 224);
  x = trace.node({trace.node({x}, 4 * 64 * 112 * 112)}, 4 * 64 * 112 * 112);
  std::uint64_t side = 56, width = 64;
  x = trace.node({x}, 4 * width * side * side);
  for (const int count : blocks) {
    for (int block = 0; block < count; ++block) {
      const std::uint64_t narrow = 4 * width * side * side, wide = 4 * narrow;
      std::size_t y = x;
      for (const std::uint64_t bytes : {narrow, narrow, narrow, narrow, wide})  // conv, relu, …
        y = trace.node({y}, bytes);
      const std::size_t shortcut = block == 0 ? trace.node({x}, wide) : x;
      x = trace.node({trace.node({y, shortcut}, wide)}, wide);
    }
    side /= 2;
    width *= 2;
  }
  trace.node({trace.node({x}, 4 * 2048)}, 4 * 1000);
  return trace;
}

/// DenseNet: each layer reads the outputs of all before it in its block.
inline Trace densenet(const std::vector<int>& layers) {
  Trace trace;
  std::uint64_t side = 56;
  std::size_t x = trace.node({}, 4 * 64 * side * side);
  std::uint64_t channels = 64;
  for (const int count : layers) {
    std::vector<std::size_t> block = {x};
    for (int layer = 0; layer < count; ++layer) {
      const std::size_t joined = trace.node(block, 4 * channels * side * side);
      const std::size_t narrow =
          trace.node({trace.node({joined}, 4 * channels * side * side)}, 4 * 128 * side * side);
      block.push_back(trace.node({narrow}, 4 * 32 * side * side));
      channels += 32;
    }
    channels /= 2;
    x = trace.node({trace.node(block, 8 * channels * side * side)}, channels * side * side);
    side /= 2;
  }
  return trace;
}

/// An unrolled LSTM: four gates in each step, the cell and the output passed on.
inline Trace lstm(int steps, int layers) {
  Trace trace;
  const std::uint64_t bytes = 4 * 32 * 256;
  std::vector<std::size_t> x;
  for (int t = 0; t < steps; ++t) x.push_back(trace.node({}, bytes));
  for (int layer = 0; layer < layers; ++layer) {
    std::size_t c = trace.node({}, bytes), h = trace.node({}, bytes);
    for (std::size_t& value : x) {
      std::vector<std::size_t> gates;
      const std::size_t sum = trace.node({value, h}, 4 * bytes);
      for (int gate = 0; gate < 4; ++gate) gates.push_back(trace.node({sum}, bytes));
      const std::size_t kept = trace.node({gates[0], c}, bytes);
      c = trace.node({kept, trace.node({gates[1], gates[2]}, bytes)}, bytes);
      h = trace.node({gates[3], trace.node({c}, bytes)}, bytes);
      value = h;
    }
  }
  trace.node(x, bytes);
  return trace;
}

/// A Transformer: attention and a feed-forward network with residuals, for each layer.
inline Trace transformer(int layers, std::uint64_t tokens, std::uint64_t width,
                         std::uint64_t heads) {
  Trace trace;
  const std::uint64_t bytes = 4 * tokens * width;
  std::size_t x = trace.node({}, bytes);
  for (int layer = 0; layer < layers; ++layer) {
    const std::size_t normed = trace.node({x}, bytes);
    const std::size_t q = trace.node({normed}, bytes), k = trace.node({normed}, bytes),
                      v = trace.node({normed}, bytes);
    const std::size_t scores = trace.node({q, k}, 4 * heads * tokens * tokens);
    const std::size_t weights = trace.node({scores}, 4 * heads * tokens * tokens);
    const std::size_t mixed = trace.node({trace.node({weights, v}, bytes)}, bytes);
    x = trace.node({x, mixed}, bytes);
    const std::size_t wide = trace.node({trace.node({x}, bytes)}, 4 * bytes);
    x = trace.node({x, trace.node({trace.node({wide}, 4 * bytes)}, bytes)}, bytes);
  }
  trace.node({x}, 4 * tokens * 1000);
  return trace;
}

/// All of them, forward and training, by name.
inline std::vector<std::pair<std::string, MemoryProblem>> network_traces() {
  std::vector<std::pair<std::string, MemoryProblem>> result;
  const auto add = [&](const std::string& name, Trace trace) {
    result.emplace_back(name + " forward", trace.problem());
    trace.train();
    result.emplace_back(name + " training", trace.problem());
  };
  add("ResNet-50", resnet({3, 4, 6, 3}));
  add("ResNet-152", resnet({3, 8, 36, 3}));
  add("DenseNet-121", densenet({6, 12, 24, 16}));
  add("LSTM, 50 steps", lstm(50, 1));
  add("LSTM, 2 layers, 200 steps", lstm(200, 2));
  add("Transformer, 6 layers", transformer(6, 128, 512, 8));
  add("Transformer, 96 layers", transformer(96, 64, 128, 4));
  return result;
}

}  // namespace mote::test
