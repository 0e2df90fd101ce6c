// SPDX-License-Identifier: Apache-2.0
// Runs a model's nodes in order, each by its operator's adapter; values are found by name.
#include "graph.h"

#include <fmt/format.h>

#include "call.h"
#include "memory.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

const Adapters& all_adapters() {
  static const Adapters adapters = [] {
    Adapters all;
    for (const auto& family :
         {elementwise_adapters, reduce_adapters, move_adapters, index_adapters, random_adapters,
          linear_adapters, attention_adapters, conv_transpose_adapters, einsum_adapters,
          spatial_adapters, resize_adapters, normalise_adapters, loss_adapters, training_adapters,
          recurrent_adapters, quantise_adapters, generate_adapters, view_adapters}) {
      all.merge(family());
    }
    return all;
  }();
  return adapters;
}

const Adapter& adapter_of(const Node& node) {
  const bool is_core = node.domain.empty() || node.domain == "ai.onnx";
  const auto at = all_adapters().find(is_core ? node.op_type : node.domain + "::" + node.op_type);
  if (at == all_adapters().end()) throw NotApplicable(why_missing(node.op_type));
  return at->second;
}

std::int64_t opset_of(const Model& model, const std::string& domain) {
  for (const auto& [known, version] : model.opsets) {
    const bool is_core = known.empty() || known == "ai.onnx";
    if (known == domain || (is_core && (domain.empty() || domain == "ai.onnx"))) return version;
  }
  throw Error(fmt::format("the model imports no opset of domain '{}'", domain));
}

class Run {
 public:
  Run(const Model& model, Kernels& kernels) : model_(model), kernels_(kernels) {}

  void set(const std::string& name, Array value) {
    if (!name.empty()) values_.insert_or_assign(name, std::move(value));
  }
  const Array& get(const std::string& name) const {
    const auto at = values_.find(name);
    if (at == values_.end()) throw Error(fmt::format("the graph has no value '{}'", name));
    return at->second;
  }
  void step(const Node& node) {
    std::vector<const Array*> inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? nullptr : &get(name));
    }
    const Call call(node, opset_of(model_, node.domain), inputs, kernels_);
    std::vector<Array> outputs = adapter_of(node)(call);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!call.wants(k)) continue;
      if (k >= outputs.size()) throw NotApplicable(fmt::format("output {} is not made here", k));
      set(node.outputs[k], std::move(outputs[k]));
    }
  }

 private:
  const Model& model_;
  Kernels& kernels_;
  std::map<std::string, Array> values_;
};

}  // namespace

std::vector<Array> run_model(const Model& model, const std::vector<TensorData>& inputs,
                             Kernels& kernels) {
  const Graph& graph = model.graph;
  if (inputs.size() > graph.inputs.size()) throw Error("more inputs than the graph has");
  for (const Node& node : graph.nodes)
    adapter_of(node);  // a missing operator is reported before dtypes
  Run run(model, kernels);
  for (const TensorData& t : graph.initializers) run.set(t.name, to_array(t));
  for (std::size_t k = 0; k < inputs.size(); ++k)
    run.set(graph.inputs[k].name, to_array(inputs[k], graph.inputs[k]));
  for (const Node& node : graph.nodes) {
    try {
      run.step(node);
    } catch (const NotApplicable& reason) {
      if (graph.nodes.size() == 1) throw;
      throw NotApplicable(fmt::format("{}: {}", node.op_type, reason.what()));
    } catch (const Error& e) {
      throw Error(fmt::format("{}: {}", node.op_type, e.what()));
    }
  }
  std::vector<Array> outputs;
  for (const ValueInfo& info : graph.outputs) outputs.push_back(run.get(info.name));
  return outputs;
}

}  // namespace mote::onnx
