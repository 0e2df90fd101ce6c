// SPDX-License-Identifier: Apache-2.0
#include "sensitivity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mote/base/error.h"
#include "mote/oracle/graph_bound.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote::bench {
namespace {

std::vector<double> elements_of(const Tensor& tensor) {
  const Tensor flat = clone(tensor).reshape({tensor.element_count()});
  std::vector<double> elements(static_cast<std::size_t>(flat.extent(0)));
  for (std::int64_t k = 0; k < flat.extent(0); ++k)
    elements[static_cast<std::size_t>(k)] = flat.real_at({k});
  return elements;
}

/// Returns all real symbols that nodes write, in the order of the nodes.
std::vector<TensorSymbol> written_reals(const SymbolicGraph& graph) {
  std::vector<TensorSymbol> written;
  for (const std::uint32_t node : topological_order(graph))
    for (const std::uint32_t output : graph.nodes()[node].outputs)
      if (output != kNoIndex && is_real(graph.symbols()[output].form->dtype))
        written.push_back(graph.at(output));
  return written;
}

class LocalBounds {
 public:
  LocalBounds(const SymbolicGraph& graph, const std::vector<TensorBinding>& bindings)
      : graph_(graph) {
    std::vector<TensorSymbol> asked;
    for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)
      if (!graph.symbols()[k].removed) asked.push_back(graph.at(k));
    const std::vector<Tensor> tensors = evaluate(graph, bindings, asked, {.context = &context_});
    for (std::size_t k = 0; k < asked.size(); ++k) values_.emplace(asked[k].index, tensors[k]);
  }

  void add(std::uint32_t index, LocalErrors& errors) {
    const NodeInfo& node = graph_.nodes()[index];
    if (node.kind == NodeKind::command) return add_command(index, errors);
    for (const std::uint32_t output : node.outputs)
      errors[output].assign(static_cast<std::size_t>(values_.at(output).element_count()), 0);
    if (node.kind == NodeKind::copy &&
        values_.at(node.inputs[0]).dtype() != values_.at(node.outputs[0]).dtype())
      throw Error("a conversion has no bound here: " + graph_.text(graph_.node_at(index)));
  }

 private:
  /// The node alone is a graph, whose inputs are exact.
  void add_command(std::uint32_t index, LocalErrors& errors) {
    const NodeInfo& node = graph_.nodes()[index];
    SymbolicGraph alone("node");
    std::vector<TensorBinding> bindings;
    std::vector<TensorSymbol> inputs;
    for (const std::uint32_t input : node.inputs) {
      inputs.emplace_back();
      if (input == kNoIndex) continue;
      const Tensor& value = values_.at(input);
      inputs.back() =
          alone.input("i" + std::to_string(inputs.size()) + "_", {value.dtype(), value.shape()});
      bindings.emplace_back(inputs.back(), value);
    }
    std::vector<TensorSymbol> outputs;
    std::vector<TensorSymbol> reals;
    std::vector<std::uint32_t> of;
    for (const std::uint32_t output : node.outputs) {
      outputs.emplace_back();
      if (output == kNoIndex) continue;
      const Tensor& value = values_.at(output);
      outputs.back() = alone.tensor({value.dtype(), value.shape()});
      if (!is_real(value.dtype())) continue;
      reals.push_back(outputs.back());
      of.push_back(output);
    }
    alone.write(*node.command, inputs, outputs);
    alone.set_outputs(reals);
    const auto bounds = bounds_of(alone, bindings, context_);
    if (const auto* reason = std::get_if<Reason>(&bounds))
      throw Error(graph_.text(graph_.node_at(index)) + ": " + reason->text);
    const auto& all = std::get<std::vector<OutputBounds>>(bounds);
    for (std::size_t k = 0; k < of.size(); ++k)
      errors[of[k]] = distances(all[k], elements_of(values_.at(of[k])));
  }

  static std::vector<double> distances(const OutputBounds& bounds,
                                       const std::vector<double>& values) {
    std::vector<double> result(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double distance = std::max(bounds.high[k] - values[k], values[k] - bounds.low[k]);
      result[k] = std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
    }
    return result;
  }

  const SymbolicGraph& graph_;
  Context context_;
  std::unordered_map<std::uint32_t, Tensor> values_;
};

}  // namespace

LocalErrors local_errors(const SymbolicGraph& graph, const std::vector<TensorBinding>& bindings) {
  LocalBounds bounds(graph, bindings);
  LocalErrors errors;
  for (const std::uint32_t node : topological_order(graph)) bounds.add(node, errors);
  return errors;
}

double first_order_error(const SymbolicGraph& graph, const std::vector<TensorBinding>& bindings,
                         const std::vector<TensorSymbol>& of, const std::vector<Tensor>& signs,
                         const LocalErrors& errors) {
  SymbolicGraph again(graph);
  const auto in_again = [&](TensorSymbol symbol) { return again.at(symbol.index); };
  std::vector<TensorBinding> all;
  for (const auto& [symbol, tensor] : bindings) all.emplace_back(in_again(symbol), tensor);
  std::vector<TensorSymbol> sums, seeds;
  for (std::size_t k = 0; k < of.size(); ++k) {
    sums.push_back(in_again(of[k]));
    seeds.push_back(again.input("sign" + std::to_string(k), again.form(sums.back())));
    all.emplace_back(seeds.back(), signs[k]);
  }
  const std::vector<TensorSymbol> written = written_reals(graph);
  std::vector<TensorSymbol> wrt;
  for (const TensorSymbol symbol : written) wrt.push_back(in_again(symbol));
  const std::vector<TensorSymbol> slopes = gradient(again, sums, wrt, seeds);
  const std::vector<Tensor> values = evaluate(again, all, slopes);
  double total = 0;
  for (std::size_t k = 0; k < written.size(); ++k) {
    const std::vector<double> slope = elements_of(values[k]);
    const std::vector<double>& error = errors.at(written[k].index);
    for (std::size_t i = 0; i < slope.size(); ++i)
      if (slope[i] != 0) total += std::abs(slope[i]) * error[i];
  }
  return total;
}

}  // namespace mote::bench
