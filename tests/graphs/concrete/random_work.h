// SPDX-License-Identifier: Apache-2.0
// A random graph of real commands, copies, fills and functions over tensors that share memory, and
// its results as serial calls give them. A function of a seed.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "graphs/concrete/counting.h"
#include "mote/graph/graph.h"
#include "mote/runtime/status.h"

namespace mote::test {

class RandomWork {
 public:
  /// With delays, functions sleep for up to half a millisecond. With a device, everything but
  /// functions is there, and there are none.
  explicit RandomWork(unsigned seed, std::size_t nodes = 24, bool delays = true,
                      const std::optional<Device>& device = std::nullopt,
                      std::span<const mote_backend* const> backends = {})
      : random_(seed), device_(device), backends_(backends.begin(), backends.end()) {
    for (int k = 0; k < 3; ++k) add_block();
    for (std::size_t n = 0; n < nodes; ++n) add_node(delays);
    graph.find_order();
  }

  /// Gives all memory its first contents again.
  void reset() const {
    for (std::size_t k = 0; k < blocks_.size(); ++k)
      copy(counting(blocks_[k].shape(), static_cast<double>(k) - 40, 0.25), blocks_[k]);
  }
  std::vector<Tensor> contents() const {
    std::vector<Tensor> all;
    for (const Tensor& block : blocks_) {
      all.emplace_back(DType::f32, block.shape());
      copy(block, all.back());
    }
    return all;
  }
  /// Runs the nodes (all, or those chosen) one after the other, without the graph.
  std::vector<Tensor> serial(const std::vector<GraphNode>& chosen) const {
    reset();
    for (const GraphNode& n : chosen) calls_[n.index]();
    return contents();
  }
  std::vector<Tensor> run(const std::function<void()>& run) const {
    reset();
    run();
    return contents();
  }
  std::vector<Tensor> serial() { return serial(graph.nodes()); }

  Graph graph;

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  void add_block() {
    blocks_.push_back(device_ ? Tensor(DType::f32, {6, 8}, *device_) : Tensor(DType::f32, {6, 8}));
    const GraphTensor block = graph.tensor(blocks_.back());
    const DLDevice on = blocks_.back().device();
    for (std::int64_t row = 0; row < 6; ++row)
      views_.push_back(graph.view(block, 32 * row, {DType::f32, {8}, {1}, on}));
    if (device_) return;           // its kernels take dense tensors only
    for (int k = 0; k < 4; ++k) {  // the odd or the even elements of two rows
      const auto first = static_cast<std::int64_t>(below(5) * 32 + below(2) * 4);
      views_.push_back(graph.view(block, first, {DType::f32, {8}, {2}, on}));
    }
  }
  GraphTensor any() { return views_[below(views_.size())]; }

  void add_node(bool delays) {
    const GraphTensor a = any(), b = any(), y = any();
    const Tensor ta = graph.memory(a), tb = graph.memory(b), ty = graph.memory(y);
    switch (below(device_ ? 4 : 6)) {
      case 0:
        return add(Command("neg"), {a}, y);
      case 1:
      case 2:
        return add(Command("add"), {a, b}, y);
      case 3:
        if (device_ && (a == y || below(2) == 0)) {
          graph.fill(y, 0.5);
          return calls_.push_back([ty] { mote::fill(ty, 0.5); });
        }
        graph.copy(a, y);
        return calls_.push_back([ta, ty] { mote::copy(ta, ty); });
      case 4:
        return add(Command("mul"), {a, b}, y);
      default:
        return add_function(a, y, delays);
    }
  }
  /// Adds the command, unless it would read and write parts of one memory.
  void add(const Command& command, const std::vector<GraphTensor>& inputs, GraphTensor y) {
    std::vector<Tensor> in;
    for (const GraphTensor& x : inputs) in.push_back(graph.memory(x));
    Tensor out = graph.memory(y);
    std::vector<const Tensor*> in_pointers;
    for (const Tensor& x : in) in_pointers.push_back(&x);
    Tensor* out_pointer = &out;
    try {
      const PreparedCommand legal(command, in_pointers, std::span(&out_pointer, 1), options());
    } catch (const StatusError&) {
      graph.fill(y, 1.5);
      return calls_.push_back([out] { mote::fill(out, 1.5); });
    }
    graph.add(command, inputs, std::span(&y, 1), {.name = {}, .backends = backends_});
    calls_.push_back([command, in, out, with = options()]() mutable {
      std::vector<const Tensor*> pointers;
      for (const Tensor& x : in) pointers.push_back(&x);
      Tensor* y_pointer = &out;
      mote::run(command, pointers, std::span(&y_pointer, 1), with);
    });
  }
  void add_function(GraphTensor a, GraphTensor y, bool delays) {
    const Tensor ta = graph.memory(a), ty = graph.memory(y);
    const auto body = [](const Tensor& x, const Tensor& to) {
      for (std::int64_t k = 0; k < 8; ++k) to.set({k}, x.real_at({7 - k}) * 0.5 + 1);
    };
    const auto delay = std::chrono::microseconds(delays ? below(500) : 0);
    graph.call(
        [body, delay](std::span<const Tensor> reads, std::span<const Tensor> writes) {
          if (delay.count() > 0) std::this_thread::sleep_for(delay);
          body(reads[0], writes[0]);
        },
        {a, y}, {y});
    calls_.push_back([body, ta, ty] { body(ta, ty); });
  }
  RunOptions options() const { return {.backends = backends_}; }

  std::mt19937 random_;
  std::optional<Device> device_;
  std::vector<Tensor> blocks_;
  std::vector<GraphTensor> views_;
  std::vector<std::function<void()>> calls_;
  std::vector<const mote_backend*> backends_;
};

inline void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) ASSERT_TRUE(same_bits(a[k], b[k])) << "block " << k;
}

}  // namespace mote::test
