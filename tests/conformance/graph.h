// SPDX-License-Identifier: Apache-2.0
// Runs a whole model node by node through the adapters.
#pragma once

#include <string>
#include <vector>

#include "kernels.h"
#include "model.h"

namespace mote::onnx {

/// Returns the graph's outputs for its inputs, in order. Throws NotApplicable if mote has no
/// counterpart of a node, its element types or its attributes, and mote::Error if the model is
/// wrong.
std::vector<Array> run_model(const Model& model, const std::vector<TensorData>& inputs,
                             Kernels& kernels);

/// Returns the reason why an operator without an adapter has none, in words.
std::string why_missing(const std::string& op_type);

}  // namespace mote::onnx
