// SPDX-License-Identifier: Apache-2.0
// A graph that grows and changes at random: nodes, views, writes to parts, names, edges, marks,
// removals. Changes that the graph refuses, such as a second write, are left out and counted.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "mote/runtime/status.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

class ChangingGraph {
 public:
  explicit ChangingGraph(std::uint64_t seed) : random_(seed), graph_("random") {
    const std::int64_t inputs = draw(1, 3);
    for (std::int64_t k = 0; k < inputs; ++k)
      add(graph_.input("in" + std::to_string(k), {DType::f32, shape()}));
  }

  /// Makes up to 40 changes, and chooses outputs.
  void change() {
    const std::int64_t steps = draw(1, 40);
    for (std::int64_t k = 0; k < steps; ++k) attempt([&] { step(); });
    std::vector<TensorSymbol> outputs;
    for (std::int64_t k = draw(0, 3); k > 0; --k) outputs.push_back(any());
    attempt([&] { graph_.set_outputs(outputs); });
  }

  const SymbolicGraph& graph() const { return graph_; }
  /// Puts an equal graph in the place of this one.
  void set_graph(SymbolicGraph graph) { graph_ = std::move(graph); }
  int refused() const { return refused_; }

 private:
  std::int64_t draw(std::int64_t least, std::int64_t greatest) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(greatest - least + 1));
  }
  AxisList shape() {
    AxisList shape;
    for (std::int64_t rank = draw(1, 3); rank > 0; --rank) shape.push_back(draw(1, 3));
    return shape;
  }
  TensorSymbol any() {
    return graph_.at(symbols_[static_cast<std::size_t>(
        draw(0, static_cast<std::int64_t>(symbols_.size()) - 1))]);
  }
  NodeSymbol any_node() {
    return graph_.node_at(
        static_cast<std::uint32_t>(draw(0, static_cast<std::int64_t>(graph_.node_count()) - 1)));
  }
  std::string name() {
    constexpr std::array names = {"", "", "", "a", "t3", "t4_", "x y", "_", "n2", "grad.of x"};
    return names[static_cast<std::size_t>(draw(0, 9))];
  }
  /// Steps that the graph refuses, such as a second write, are left out.
  template <typename F>
  void attempt(const F& f) {
    try {
      f();
    } catch (const StatusError&) {
      ++refused_;
    }
  }

  void step() {
    switch (draw(0, 13)) {
      case 0:
        return add(graph_.add("relu", {any()}));
      case 1:
        return add(graph_.add(draw(0, 1) == 0 ? "add" : "mul", {any(), any()}));
      case 2:
        return add(
            graph_.add(Command("leaky_relu", {{"alpha", 0.1 * double(draw(1, 9))}}), {any()}));
      case 3: {
        const TensorSymbol x = any();
        const std::int64_t extent = graph_.form(x).shape[0];
        return add(graph_.slice(x, 0, draw(0, std::max<std::int64_t>(0, extent - 1)),
                                draw(0, extent), draw(-1, 2)));
      }
      case 4:
        return add(graph_.reshape(any(), shape()));
      case 5:
        return add(draw(0, 1) == 0 ? graph_.tensor({DType::f32, shape()}, name())
                                   : graph_.zeros({DType::f16, shape()}, name()));
      case 6: {
        Tensor value(DType::f32, shape());
        fill(value, static_cast<double>(draw(-3, 3)) / 3);
        return add(graph_.constant(name(), value));
      }
      case 7: {
        const TensorSymbol x = any();
        graph_.write(parse_command("relu"), std::vector{any()}, std::vector{x});
        return;
      }
      case 8:
        graph_.fill(any(), -0.25);
        return;
      case 9:
        graph_.copy(any(), any());
        return;
      default:
        return change_node(draw(0, 6));
    }
  }

  void change_node(std::int64_t kind) {
    if (graph_.node_count() == 0) return;
    const NodeSymbol node = any_node();
    switch (kind) {
      case 0:
        return graph_.rename(node, name());
      case 1:
        return graph_.order(node, any_node());
      case 2:
        return graph_.mark_recomputed(node, static_cast<std::uint32_t>(draw(0, 4)));
      case 3:
        return graph_.rename(any(), name());
      case 4:
        return graph_.replace_uses(any(), any());
      case 5:
        if (draw(0, 2) == 0) graph_.remove(node);
        return;
      default: {
        const NodeSymbol gradient =
            graph_.add_node(parse_command("mul.grad"), std::vector{any(), any(), any()});
        add(graph_.output(gradient, 0));
        if (draw(0, 1) == 0) return graph_.leave_out(gradient, 1);
        add(graph_.output(gradient, 1));
      }
    }
  }

  void add(TensorSymbol symbol) { symbols_.push_back(symbol.index); }

  std::mt19937_64 random_;
  SymbolicGraph graph_;
  std::vector<std::uint32_t> symbols_;
  int refused_ = 0;
};

}  // namespace mote::test
