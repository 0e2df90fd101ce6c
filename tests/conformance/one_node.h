// SPDX-License-Identifier: Apache-2.0
// Builds models of one node and tensors to feed them, for tests of adapters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph.h"
#include "kernels.h"
#include "memory.h"
#include "model.h"
#include "shapes.h"

namespace mote::onnx {

inline TensorData tensor_data(Dims shape, const std::vector<float>& values) {
  TensorData t;
  t.type = ElementType::float32;
  t.shape = std::move(shape);
  t.bytes.assign(reinterpret_cast<const char*>(values.data()), 4 * values.size());
  return t;
}
inline TensorData index_data(Dims shape, const Dims& values) {
  TensorData t;
  t.type = ElementType::int64;
  t.shape = std::move(shape);
  t.bytes.assign(reinterpret_cast<const char*>(values.data()), 8 * values.size());
  return t;
}

inline TensorData flags_data(Dims shape, const std::vector<bool>& values) {
  TensorData t;
  t.type = ElementType::boolean;
  t.shape = std::move(shape);
  for (const bool v : values) t.bytes.push_back(v ? 1 : 0);
  return t;
}
/// Makes small whole numbers, so that sums in any order are the same.
inline TensorData counted(const Dims& shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k * 7 % 11) - 5;
  return tensor_data(shape, values);
}

inline Attribute whole(std::int64_t i) {
  Attribute a;
  a.i = i;
  return a;
}
inline Attribute real(float f) {
  Attribute a;
  a.f = f;
  return a;
}
inline Attribute text(const std::string& s) {
  Attribute a;
  a.s = s;
  return a;
}
inline Attribute list(const Dims& ints) {
  Attribute a;
  a.ints = ints;
  return a;
}

inline Array reals(Dims shape, const std::vector<double>& values) {
  return array_of(DType::f32, std::move(shape), values);
}

/// Makes a model of one node whose inputs are x0, x1, … and whose output is y.
inline Model model_of(const std::string& op, std::size_t inputs,
                      std::map<std::string, Attribute> attributes = {}) {
  Model model;
  Node node{op, "", {}, {"y"}, std::move(attributes)};
  for (std::size_t k = 0; k < inputs; ++k) {
    node.inputs.push_back("x" + std::to_string(k));
    model.graph.inputs.push_back({node.inputs.back(), true});
  }
  model.graph.nodes.push_back(std::move(node));
  model.graph.outputs.push_back({"y", true});
  model.opsets[""] = 17;
  return model;
}

/// Returns the output of such a model; inputs without an element type are absent.
inline Array run_node(const std::string& op, const std::vector<TensorData>& inputs,
                      const std::map<std::string, Attribute>& attributes = {}) {
  Kernels kernels;
  Model model = model_of(op, inputs.size(), attributes);
  std::vector<TensorData> given;
  std::vector<ValueInfo> declared;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].type == ElementType::undefined) {
      model.graph.nodes[0].inputs[k].clear();
      continue;
    }
    given.push_back(inputs[k]);
    declared.push_back(model.graph.inputs[k]);
  }
  model.graph.inputs = declared;
  return run_model(model, given, kernels).at(0);
}

/// Returns the reason why the model is not applicable.
inline std::string why_not(const Model& model, const std::vector<TensorData>& inputs) {
  Kernels kernels;
  try {
    run_model(model, inputs, kernels);
  } catch (const NotApplicable& reason) {
    return reason.what();
  }
  return "applicable";
}

}  // namespace mote::onnx
