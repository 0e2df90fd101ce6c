// SPDX-License-Identifier: Apache-2.0
#include "tangents.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "graph_data.h"
#include "mote/runtime/command.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote::test {
namespace {

constexpr double kStep = 0x1p-10;
constexpr double kMaxExact = 0x1p40;

/// Thrown where nothing can be decided.
struct Undecided {
  std::string why;
};

std::span<double> elements(const Tensor& x) {
  return {static_cast<double*>(x.data()), static_cast<std::size_t>(x.element_count())};
}

Tensor row_major(DType dtype, const AxisList& shape) {
  const Tensor x(dtype, shape);
  if (x.element_count() > 0) fill(x, 0);
  return x;
}

void check_whole(const Tensor& x, const std::string& what) {
  if (x.dtype() != DType::f64) return;
  const Tensor plain = clone(x);
  for (const double v : elements(plain))
    if (std::nearbyint(v) != v || std::abs(v) >= kMaxExact)
      throw Undecided{"a value is no small integer: " + what};
}

class DirectionalDerivative {
 public:
  DirectionalDerivative(const SymbolicGraph& graph, const std::vector<TensorBinding>& values,
                        const std::vector<TensorBinding>& directions)
      : graph_(graph), values_(graph.symbol_count()), tangents_(graph.symbol_count()) {
    for (const auto& [symbol, value] : values) values_[symbol.index] = value;
    for (const auto& [symbol, direction] : directions) tangents_[symbol.index] = direction;
  }

  std::vector<Tensor> run(const std::vector<TensorSymbol>& of) {
    for (const std::uint32_t node : topological_order(graph_)) add(graph_.nodes()[node]);
    std::vector<Tensor> tangents;
    for (const TensorSymbol symbol : of) tangents.push_back(clone(tangent(symbol.index)));
    return tangents;
  }

 private:
  Tensor through(std::vector<std::optional<Tensor>>& of, std::uint32_t symbol, bool is_tangent) {
    std::optional<Tensor>& found = of[symbol];
    if (found) return *found;
    const SymbolInfo& info = graph_.symbols()[symbol];
    if (info.kind == SymbolOrigin::view) {
      const Tensor base = through(of, info.base, is_tangent);
      found = apply(graph_.view_step(graph_.at(symbol)), base);
    } else if (info.kind == SymbolOrigin::constant && !is_tangent) {
      found = graph_.value(graph_.at(symbol));
    } else {
      found = memory_of(info.form);
    }
    return *found;
  }
  /// Returns memory in the form's layout, which views of it rely on, filled with 0.
  Tensor memory_of(const TensorForm& form) {
    const auto bytes = checked_span(form.dtype, form.shape, form.strides);
    const Tensor& memory = memory_.emplace_back(row_major(DType::u8, {bytes}));
    return Tensor::over(memory.data(), form.dtype, form.shape, form.strides);
  }
  Tensor value(std::uint32_t symbol) { return through(values_, symbol, false); }
  Tensor tangent(std::uint32_t symbol) { return through(tangents_, symbol, true); }
  bool is_smooth(std::uint32_t symbol) const {
    return symbol != kNoIndex && graph_.symbols()[symbol].form->dtype == DType::f64;
  }

  void add(const NodeInfo& node) {
    switch (node.kind) {
      case NodeKind::fill:
        fill(value(node.outputs[0]), node.value);
        return;
      case NodeKind::copy:
        copy(value(node.inputs[0]), value(node.outputs[0]));
        if (is_smooth(node.inputs[0]) && is_smooth(node.outputs[0]))
          copy(tangent(node.inputs[0]), tangent(node.outputs[0]));
        return;
      case NodeKind::command:
        add_command(node);
        return;
      case NodeKind::function:
        throw Undecided{"a caller's function"};
    }
  }

  std::vector<Tensor> results(const NodeInfo& node, const std::vector<Tensor>& inputs) {
    std::vector<const Tensor*> read;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      read.push_back(node.inputs[k] == kNoIndex ? nullptr : &inputs[k]);
    std::vector<Tensor> outputs(node.outputs.size());
    std::vector<Tensor*> written;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      written.push_back(nullptr);
      if (node.outputs[k] == kNoIndex) continue;
      const TensorForm& form = graph_.symbols()[node.outputs[k]].form;
      outputs[k] = row_major(form.dtype, form.shape);
      written.back() = &outputs[k];
    }
    mote::run(*node.command, read, written);
    return outputs;
  }

  void add_command(const NodeInfo& node) {
    std::vector<Tensor> inputs(node.inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (node.inputs[k] != kNoIndex) inputs[k] = clone(value(node.inputs[k]));
    const std::vector<Tensor> at = results(node, inputs);
    for (std::size_t o = 0; o < at.size(); ++o) {
      if (node.outputs[o] == kNoIndex) continue;
      check_whole(at[o], node.command->definition().name);
      copy(at[o], value(node.outputs[o]));
    }
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (is_smooth(node.inputs[k])) add_quotients(node, inputs, k, at);
  }

  void add_quotients(const NodeInfo& node, std::vector<Tensor> inputs, std::size_t k,
                     const std::vector<Tensor>& at) {
    const Tensor direction = clone(tangent(node.inputs[k]));
    if (std::ranges::all_of(elements(direction), [](double v) { return v == 0; })) return;
    const Tensor x = inputs[k];
    const auto moved = [&](double step) {
      inputs[k] = clone(x);
      for (std::size_t i = 0; i < elements(x).size(); ++i)
        elements(inputs[k])[i] += step * elements(direction)[i];
      return results(node, inputs);
    };
    const std::vector<Tensor> above = moved(kStep);
    const std::vector<Tensor> below = moved(-kStep);
    for (std::size_t o = 0; o < at.size(); ++o) {
      if (!is_smooth(node.outputs[o])) continue;
      const Tensor sum = clone(tangent(node.outputs[o]));
      for (std::size_t i = 0; i < elements(sum).size(); ++i) {
        const double up = elements(above[o])[i] - elements(at[o])[i];
        const double down = elements(at[o])[i] - elements(below[o])[i];
        // A quadratic's sides differ by 2 (step * direction)^2 c, a kink's by a multiple of step.
        if (std::abs(up - down) >= kStep / 2)
          throw Undecided{std::string("a kink of ") + node.command->definition().name};
        elements(sum)[i] += (up + down) / (2 * kStep);
      }
      check_whole(sum, "the derivative of " + std::string(node.command->definition().name));
      copy(sum, tangent(node.outputs[o]));
    }
  }

  const SymbolicGraph& graph_;
  std::vector<std::optional<Tensor>> values_;
  std::vector<std::optional<Tensor>> tangents_;
  std::vector<Tensor> memory_;
};

/// Returns an integer of -2 to 2 for each element.
Tensor small_integers(const TensorForm& form, const std::string& name, std::uint64_t seed) {
  const Tensor x(form.dtype, form.shape);
  fill_tensor(x, name, {FillName::integer, seed});
  return x;
}

/// Returns the sum of products, of integers; throws Undecided where it may be rounded.
double inner(const Tensor& a, const Tensor& b) {
  const Tensor x = clone(a);
  const Tensor y = clone(b);
  check_whole(x, "an operand of the inner product");
  check_whole(y, "an operand of the inner product");
  double sum = 0;
  double reach = 0;
  for (std::size_t i = 0; i < elements(x).size(); ++i) {
    sum += elements(x)[i] * elements(y)[i];
    reach += std::abs(elements(x)[i] * elements(y)[i]);
  }
  if (reach >= 0x1p52) throw Undecided{"an inner product is rounded"};
  return sum;
}

struct Directions {
  std::vector<TensorSymbol> of, wrt, seeds, tangents;
  std::vector<TensorBinding> values, seed_values, directions, tangent_values;
};

Directions choose(SymbolicGraph& g, std::uint64_t seed) {
  Directions d;
  for (const TensorSymbol output : g.outputs())
    if (g.form(output).dtype == DType::f64) d.of.push_back(output);
  for (std::uint32_t k = 0; k < g.symbol_count(); ++k)
    if (g.symbols()[k].kind == SymbolOrigin::input && g.symbols()[k].form->dtype == DType::f64)
      d.wrt.push_back(g.at(k));
  for (const InputValue& input : input_values(g, {FillName::integer, seed}))
    d.values.emplace_back(g.at(input.symbol), input.value);
  for (const TensorSymbol x : d.wrt) {
    const std::string name = "direction of " + g.text(x);
    d.tangents.push_back(g.input(name, {DType::f64, g.form(x).shape}));
    const Tensor v = small_integers(g.form(d.tangents.back()), name, seed);
    d.tangent_values.emplace_back(d.tangents.back(), v);
    d.directions.emplace_back(x, v);
  }
  for (const TensorSymbol y : d.of) {
    const std::string name = "seed " + std::to_string(d.seeds.size());
    d.seeds.push_back(g.input(name, {DType::f64, g.form(y).shape}));
    d.seed_values.emplace_back(d.seeds.back(), small_integers(g.form(d.seeds.back()), name, seed));
  }
  return d;
}

std::vector<Tensor> evaluated(const SymbolicGraph& g, const Directions& d,
                              const std::vector<TensorSymbol>& of) {
  std::vector<TensorBinding> bindings = d.values;
  bindings.insert(bindings.end(), d.seed_values.begin(), d.seed_values.end());
  bindings.insert(bindings.end(), d.tangent_values.begin(), d.tangent_values.end());
  return evaluate(g, bindings, of);
}

}  // namespace

bool is_exact_op(const std::string& op) {
  static const std::set<std::string> exact = {"abs",
                                              "add",

                                              "concat",
                                              "conv1d",
                                              "conv2d",
                                              "conv2d_relu",
                                              "conv3d",
                                              "conv_transpose2d",
                                              "cumsum",
                                              "embedding",
                                              "flip",
                                              "gather",
                                              "gather_elements",
                                              "global_max_pool",
                                              "index_add",
                                              "matmul",
                                              "max",
                                              "max_pool2d",
                                              "max_pool2d_with_indices",
                                              "max_pool3d",
                                              "max_unpool2d",
                                              "min",
                                              "mul",
                                              "neg",
                                              "pad_constant",
                                              "pad_edge",
                                              "pad_reflect",
                                              "pad_wrap",
                                              "reglu",
                                              "relu",
                                              "resize_nearest2d",
                                              "scatter_elements",
                                              "scatter_elements_add",
                                              "scatter_nd",
                                              "scatter_nd_add",
                                              "slice",
                                              "sub",
                                              "sum",
                                              "sumsq",
                                              "tile",
                                              "transpose",
                                              "tril",
                                              "triu",
                                              "where",
                                              "adaptive_max_pool2d"};
  return exact.contains(op);
}

Tangents exact_tangents(const SymbolicGraph& graph, const std::vector<TensorBinding>& values,
                        const std::vector<TensorBinding>& directions,
                        const std::vector<TensorSymbol>& of) {
  try {
    return {DirectionalDerivative(graph, values, directions).run(of), ""};
  } catch (const Undecided& undecided) {
    return {{}, undecided.why};
  }
}

std::optional<std::string> check_derivatives(const SymbolicGraph& graph, std::uint64_t seed,
                                             std::string& why_not) {
  SymbolicGraph g = graph;
  const Directions d = choose(g, seed);
  if (d.of.empty() || d.wrt.empty()) {
    why_not = "no real output or input";
    return std::nullopt;
  }
  const Tangents truth = exact_tangents(g, d.values, d.directions, d.of);
  if (!truth.why_not.empty()) {
    why_not = truth.why_not;
    return std::nullopt;
  }
  try {
    const std::vector<TensorSymbol> back = gradient(g, d.of, d.wrt, d.seeds);
    const std::vector<TensorSymbol> forth = jvp(g, d.of, d.wrt, d.tangents);
    verify(g);
    const std::vector<Tensor> gradients = evaluated(g, d, back);
    const std::vector<Tensor> changes = evaluated(g, d, forth);
    double by_output = 0;
    for (std::size_t k = 0; k < d.of.size(); ++k) {
      by_output += inner(truth.of[k], d.seed_values[k].second);
      const Tensor got = clone(changes[k]);
      for (std::size_t i = 0; i < elements(got).size(); ++i)
        if (elements(got)[i] != elements(truth.of[k])[i])
          return "jvp of " + g.text(d.of[k]) + " element " + std::to_string(i) + " is " +
                 std::to_string(elements(got)[i]) + " instead of " +
                 std::to_string(elements(truth.of[k])[i]);
    }
    double by_input = 0;
    for (std::size_t k = 0; k < d.wrt.size(); ++k)
      by_input += inner(gradients[k], d.directions[k].second);
    if (by_output != by_input)
      return "<J v, w> is " + std::to_string(by_output) + " but <v, gradient> is " +
             std::to_string(by_input);
  } catch (const Undecided& undecided) {
    why_not = undecided.why;
  } catch (const StatusError& e) {
    if (e.status() != MOTE_UNSUPPORTED) throw;
    why_not = e.what();
  }
  return std::nullopt;
}

}  // namespace mote::test
