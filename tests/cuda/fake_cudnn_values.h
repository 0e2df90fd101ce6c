// SPDX-License-Identifier: Apache-2.0
// The tensors of the fake cuDNN as mote's own, and calls of mote's catalogue on them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fake_cudnn.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/tensor.h"

namespace fake::cudnn {

using mote::DType;
using mote::Tensor;

std::size_t bytes_of(int type, const Dims& dims);  ///< of a tensor without gaps
/// The elements where they are. Throws where they are not in the GPU's memory.
Tensor view(const TensorDesc& tensor, In data);
/// Row-major copies, in double where nothing else is said.
Tensor converted(const Tensor& values, DType dtype = DType::f64);
Tensor read(const TensorDesc& tensor, In data);
Tensor filled(const Dims& dims, double number);
/// As images of channels: [N, C, S].
Tensor as_images(const Tensor& values);
/// Each number as an element of that type, or to the 11 significant bits of tf32.
Tensor rounded(const Tensor& values, int type);
Tensor rounded_to_tf32(Tensor values);

/// out = alpha values + beta out; where beta is 0, out is not read. Axes of extent 1 repeat.
void write(const TensorDesc& tensor, Out data, const Tensor& values, double alpha = 1,
           double beta = 0);
/// The same, of factors in the host's memory: doubles for doubles, else floats.
void write(const TensorDesc& tensor, Out data, const Tensor& values, In alpha, In beta);
double factor_of(const TensorDesc& tensor, In factor);

using Params = std::map<std::string, std::variant<std::int64_t, double>>;
/// Parameters name0, name1, …
Params along(const std::vector<std::pair<std::string, Dims>>& all);
Dims joined(Dims first, const Dims& second);

/// An op's outputs. Doubles are computed by the oracle's reference, floats by the kernels whose
/// sums are floats. A tensor without memory is absent.
std::vector<Tensor> results(const std::string& op, const std::vector<Tensor>& inputs,
                            const Params& params = {}, std::optional<int> axis = std::nullopt);
/// The first of them.
Tensor result(const std::string& op, const std::vector<Tensor>& inputs, const Params& params = {},
              std::optional<int> axis = std::nullopt);
/// A reduction: of each axis, of which the result may have fewer elements, neighbours are reduced.
Tensor reduced(const std::string& op, const Tensor& values, const Dims& to);

}  // namespace fake::cudnn
