// SPDX-License-Identifier: Apache-2.0
// The tensors of the fake libraries as mote's own, and calls of mote's catalogue on them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fake_device.h"
#include "mote/base/dlpack.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/tensor.h"

namespace fake {

using mote::contiguous_strides;
using mote::DType;
using mote::Tensor;
using Dims = std::vector<std::int64_t>;
using In = const void*;
using Out = void*;

/// Returns a view of the GPU's memory. Throws if not all elements are in it.
Tensor view(DType dtype, const Dims& dims, const Dims& strides, In data);
/// Returns a row-major copy, in double by default.
Tensor converted(const Tensor& values, DType dtype = DType::f64);
Tensor filled(const Dims& dims, double number);
/// Returns the doubles, each rounded to an element of that type.
Tensor rounded(const Tensor& values, DType dtype);
/// Returns the doubles, each rounded to the 11 significant bits of tf32: to nearest, ties away from
/// 0.
Tensor rounded_to_tf32(const Tensor& values);
/// Computes out = alpha values + beta out; if beta is 0, out is not read. Values repeat along axes
/// of extent 1.
void write(const Tensor& out, const Tensor& values, double alpha = 1, double beta = 0);
/// A factor in the host's memory: a double or an integer for tensors of these, else a float.
double factor(In at, DType dtype);

using Params = std::map<std::string, std::variant<std::int64_t, double>>;
/// The parameters name0, name1, …
Params along(const std::vector<std::pair<std::string, Dims>>& all);
Dims joined(Dims first, const Dims& second);

/// Returns the extents of an op's first output. Throws StatusError if the inputs do not match.
Dims dims_of(const std::string& op, const std::vector<Dims>& inputs, const Params& params);
/// Returns the op's outputs. Doubles are computed by the reference, floats by the kernels whose
/// sums are floats. A tensor without memory is absent.
std::vector<Tensor> results(const std::string& op, const std::vector<Tensor>& inputs,
                            const Params& params = {}, std::optional<int> axis = std::nullopt);
/// Returns the first output.
Tensor result(const std::string& op, const std::vector<Tensor>& inputs, const Params& params = {},
              std::optional<int> axis = std::nullopt);
/// Returns a reduction of neighbours that leaves `to` elements along each axis.
Tensor reduced(const std::string& op, const Tensor& values, const Dims& to);

/// Returns a convolution whose pads are zeros that are multiplied, so that infinities give NaN.
Tensor convolved(const std::string& op, const Tensor& x, const Tensor& w, Params params);

}  // namespace fake
