// SPDX-License-Identifier: Apache-2.0
// Passes on small random graphs of what passes look for: duplicates, dead ends, constants, moves
// there and back, views, parts, order without data. Each pass alone, and all in random orders,
// keeps every bit, and so do orders of evaluation and pairs in place what they promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "mote/runtime/status.h"
#include "mote/symbolic/in_place.h"
#include "mote/symbolic/order.h"
#include "mote/symbolic/text.h"
#include "pass_case.h"

namespace mote {
namespace {

class Drawn {
 public:
  explicit Drawn(unsigned seed) : random_(seed) {
    for (const char* name : {"x", "y"}) tensors_.push_back(g_.input(name, kForm));
    for (int k = 0; k < 3; ++k) tensors_.push_back(constant(k == 2 ? 1 : k));
    tensors_.push_back(g_.zeros(kForm));
    const std::size_t nodes = 1 + draw(30);
    for (std::size_t k = 0; k < nodes; ++k) add();
    std::vector<TensorSymbol> outputs;
    for (std::size_t k = 0; k <= draw(4); ++k) outputs.push_back(any());
    g_.set_outputs(outputs);
  }

  SymbolicGraph graph() && { return std::move(g_); }
  std::size_t draw(std::size_t n) { return random_() % n; }

 private:
  inline static const TensorForm kForm{DType::f32, {2, 2, 2, 2}};

  TensorSymbol constant(int value) {
    const Tensor t(DType::f32, kForm.shape);
    fill(t, 0.5 + value);
    return g_.constant({}, t);
  }
  TensorSymbol any() { return tensors_[draw(tensors_.size())]; }

  /// Adds a node or a view; its result has the one shape and dtype that all have.
  void add() {
    static const std::vector<const char*> kOne = {
        "sin", "neg", "relu", "transpose", "flip axis=1", "cast_f32", "dropout seed=5", "exp"};
    static const std::vector<const char*> kTwo = {"add", "mul", "sub", "max"};
    const TensorSymbol x = any();
    switch (draw(10)) {
      case 0:
      case 1:
      case 2:
        return tensors_.push_back(ordered(g_.add(kOne[draw(kOne.size())], {x})));
      case 3:
      case 4:
        return tensors_.push_back(ordered(g_.add(kTwo[draw(kTwo.size())], {x, any()})));
      case 5:
        return tensors_.push_back(
            g_.permute(x, draw(2) == 0 ? AxisList{1, 0, 2, 3} : AxisList{0, 1, 3, 2}));
      case 6: {
        const DType between = draw(2) == 0 ? DType::f64 : DType::f16;
        const TensorSymbol there = g_.convert(x, {between, kForm.shape});
        return tensors_.push_back(ordered(g_.convert(there, kForm)));
      }
      case 7:
        return tensors_.push_back(g_.convert(
            x, draw(2) == 0 ? kForm : TensorForm(DType::f32, kForm.shape, {1, 2, 4, 8})));
      case 8: {
        // Two halves, one of them maybe left as it begins.
        const bool is_zeros = draw(2) == 0;
        const TensorSymbol whole = is_zeros ? g_.zeros(kForm) : g_.tensor(kForm);
        for (std::size_t half = 0; half < (is_zeros ? 1 + draw(2) : 2); ++half) {
          const TensorSymbol to = g_.slice(whole, 1, static_cast<std::int64_t>(half), 1);
          g_.write(Command("neg", {}),
                   std::vector{g_.slice(any(), 1, static_cast<std::int64_t>(draw(2)), 1)},
                   std::vector{to});
        }
        return tensors_.push_back(whole);
      }
      default: {
        const TensorSymbol y = g_.tensor(kForm);
        if (draw(2) == 0) {
          g_.fill(y, static_cast<double>(draw(2)));
        } else {
          g_.call({"twice",
                   [](auto in, auto out) {
                     run(Command("add", {}), {&in[0], &in[0]}, {const_cast<Tensor*>(&out[0])});
                   }},
                  std::vector{x}, std::vector{y});
        }
        return tensors_.push_back(y);
      }
    }
  }

  /// Makes the node come after another one, now and then, or a recomputed one.
  TensorSymbol ordered(TensorSymbol y) {
    const NodeSymbol node = g_.producer(y);
    if (draw(8) == 0 && node.index > 0)
      g_.order(g_.node_at(static_cast<std::uint32_t>(draw(node.index))), node);
    if (draw(16) == 0) g_.mark_recomputed(node, 1);
    return y;
  }

  std::mt19937 random_;
  SymbolicGraph g_{"drawn"};
  std::vector<TensorSymbol> tensors_;
};

unsigned graphs_asked_for() {
  const char* text = std::getenv("MOTE_RANDOM_GRAPHS");
  return text == nullptr ? 500U : static_cast<unsigned>(std::atoi(text));
}

/// True if every pair of nodes that order() had put in an order, and that both remain, is still.
bool keeps_order(const SymbolicGraph& before, const SymbolicGraph& after) {
  const auto reach = [](const SymbolicGraph& g) {
    const IndexLists edges = predecessors(g);
    std::vector<std::vector<bool>> found(g.node_count(), std::vector<bool>(g.node_count()));
    for (const std::uint32_t node : topological_order(g, edges))
      for (const std::uint32_t other : edges[node]) {
        found[node][other] = true;
        for (std::uint32_t k = 0; k < g.node_count(); ++k)
          if (found[other][k]) found[node][k] = true;
      }
    return found;
  };
  const auto old = reach(before);
  const auto now = reach(after);
  for (std::uint32_t node = 0; node < before.node_count(); ++node)
    for (const std::uint32_t other : before.nodes()[node].after)
      if (!after.nodes()[node].removed && !after.nodes()[other].removed && !now[node][other])
        return false;
  return true;
}

std::string listing(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + " ";
  return text + "\n";
}

TEST(RandomPasses, KeepEveryBit) {
  const std::vector<std::string> all = {"cancel", "fold", "merge", "prune", "replace"};
  std::map<std::string, int> changed;
  for (unsigned seed = 0; seed < graphs_asked_for(); ++seed) {
    SymbolicGraph g = Drawn(seed).graph();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_text(g));
    const std::vector<std::string> before = test::results_of(g, seed);
    std::mt19937 random(seed);
    for (std::size_t turn = 0; turn < all.size() + 5; ++turn) {
      std::vector<std::string> names(1, all[turn % all.size()]);
      if (turn >= all.size()) {
        names = all;
        names.insert(names.end(), all.begin(), all.end());
        std::shuffle(names.begin(), names.end(), random);
      }
      SymbolicGraph rewritten(g);
      for (const PassReport& report : apply_passes(rewritten, names, {.verify = true}))
        if (report.changed) ++changed[report.pass];
      EXPECT_EQ(test::results_of(rewritten, seed), before) << listing(names) << to_text(rewritten);
      EXPECT_EQ(rewritten.output_indices(), g.output_indices());
      EXPECT_TRUE(keeps_order(g, rewritten)) << listing(names) << to_text(rewritten);
    }
    if (HasFailure()) return;
  }
  for (const std::string& name : all)
    if (name != "replace") {
      EXPECT_GT(changed[name], 0) << name;
    }
}

/// Runs the nodes in that order; the output of a pair is stored where its input is.
class InPlaceRun {
 public:
  InPlaceRun(const SymbolicGraph& g, std::span<const TensorBinding> bindings,
             std::span<const NodeInPlacePair> pairs)
      : g_(g), roots_(g.symbol_count()), taken_(g.symbol_count(), kNoIndex) {
    for (const auto& [symbol, tensor] : bindings) roots_[symbol.index] = tensor;
    for (const NodeInPlacePair& pair : pairs) {
      const NodeInfo& node = g.nodes()[pair.node];
      taken_[node.outputs[pair.output]] = g.symbols()[node.inputs[pair.input]].root;
    }
  }

  void run(std::uint32_t index) {
    const NodeInfo& node = g_.nodes()[index];
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    for (const std::uint32_t input : node.inputs) inputs.push_back(tensor(input));
    for (const std::uint32_t output : node.outputs) outputs.push_back(tensor(output));
    std::vector<const Tensor*> read;
    std::vector<Tensor*> written;
    for (const Tensor& input : inputs) read.push_back(&input);
    for (Tensor& output : outputs) written.push_back(&output);
    switch (node.kind) {
      case NodeKind::command:
        return mote::run(*node.command, read, written);
      case NodeKind::copy:
        return copy(inputs[0], outputs[0]);
      case NodeKind::fill:
        return fill(outputs[0], node.value);
      case NodeKind::function:
        return node.function->run(inputs, outputs);
      case NodeKind::control:
        throw StatusError(MOTE_INVALID, "these graphs hold no loops");
    }
  }
  Tensor tensor(std::uint32_t symbol) {
    const SymbolInfo& info = g_.symbols()[symbol];
    if (info.kind == SymbolOrigin::view)
      return apply(g_.view_step(g_.at(symbol)), tensor(info.base));
    if (info.kind == SymbolOrigin::constant) return g_.value(g_.at(symbol));
    if (taken_[symbol] != kNoIndex) return tensor(taken_[symbol]);
    std::optional<Tensor>& root = roots_[symbol];
    if (root) return *root;
    const TensorForm& form = info.form;
    const std::int64_t bytes = checked_span(form.dtype, form.shape, form.strides);
    memory_.push_back(Tensor(DType::i8, {bytes}));
    fill(memory_.back(), 0);
    root = Tensor::over(memory_.back().data(), form.dtype, form.shape, form.strides);
    return *root;
  }

 private:
  const SymbolicGraph& g_;
  std::vector<std::optional<Tensor>> roots_;
  std::vector<std::uint32_t> taken_;  ///< by symbol: the root whose memory it takes
  std::vector<Tensor> memory_;
};

TEST(RandomPasses, PairsInPlaceKeepEveryBit) {
  std::size_t pairs = 0;
  for (unsigned seed = 0; seed < graphs_asked_for(); ++seed) {
    const SymbolicGraph g = Drawn(seed).graph();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_text(g));
    const std::vector<std::string> expected = test::results_of(g, seed);
    for (const EvaluationOrder which : {EvaluationOrder::program, EvaluationOrder::least}) {
      const std::vector<std::uint32_t> order = evaluation_order(g, which);
      const std::vector<NodeInPlacePair> in_place = in_place_pairs(g, order);
      pairs += in_place.size();
      InPlaceRun run(g, test::drawn_inputs(g, seed), in_place);
      for (const std::uint32_t node : order) run.run(node);
      std::vector<std::string> got;
      for (const std::uint32_t output : g.output_indices())
        got.push_back(test::bytes_of(run.tensor(output)));
      EXPECT_EQ(got, expected);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(pairs, 100U);
}

}  // namespace
}  // namespace mote
