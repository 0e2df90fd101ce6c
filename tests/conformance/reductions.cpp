// SPDX-License-Identifier: Apache-2.0
// Adapters of reductions, positions of extremes, and running sums.
#include <numeric>

#include "call.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// Returns the axes to reduce, or all if none are given; nullopt if that means the identity.
std::optional<std::vector<std::size_t>> reduced_axes(const Call& c) {
  const std::size_t rank = c.in(0).shape.size();
  std::vector<std::size_t> axes;
  for (const std::int64_t a : c.dims(1, "axes")) axes.push_back(axis_of(a, rank));
  if (!axes.empty()) return axes;
  if (c.integer("noop_with_empty_axes", 0) != 0) return std::nullopt;
  axes.resize(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// Reduces by an op, or by another one for booleans.
Adapter reduction(const std::string& op, std::string of_flags = "") {
  if (of_flags.empty()) of_flags = op;
  return [=](const Call& c) -> Outputs {
    const auto axes = reduced_axes(c);
    if (!axes) throw NotApplicable("no axis is reduced: the output is a view of the input");
    const bool keep = c.integer("keepdims", 1) != 0, flags = c.dtype() == DType::boolean;
    return {c.reduce(flags ? of_flags : op, c.in(0), *axes, keep)};
  };
}

Adapter extreme_position(const std::string& op) {
  return [=](const Call& c) -> Outputs {
    const std::size_t axis = axis_of(c.integer("axis", 0), c.in(0).shape.size());
    const Params params = {{"last", c.integer("select_last_index", 0)}};
    return {c.reduce(op, c.in(0), {axis}, c.integer("keepdims", 1) != 0, params)};
  };
}

Outputs cumsum(const Call& c) {
  const Array& x = c.in(0);
  const Array flat = around_axis(x, axis_of(integers_in(c.in(1)).at(0), x.shape.size()));
  const Params params = {{"exclusive", c.integer("exclusive", 0)},
                         {"reverse", c.integer("reverse", 0)}};
  return {reshaped(c.kernels().run("cumsum", x.dtype, {&flat}, params), x.shape)};
}

Outputs hardmax(const Call& c) {
  const Array& x = c.in(0);
  const Array flat = around_axis(x, axis_of(c.integer("axis", -1), x.shape.size()));
  return {reshaped(c.kernels().run("hardmax", x.dtype, {&flat}), x.shape)};
}

}  // namespace

Adapters reduce_adapters() {
  return {{"ReduceSum", reduction("sum")},
          {"ReduceMean", reduction("mean")},
          {"ReduceProd", reduction("prod")},
          {"ReduceMax", reduction("reduce_max", "any")},
          {"ReduceMin", reduction("reduce_min", "all")},
          {"ReduceL1", reduction("norm1")},
          {"ReduceL2", reduction("norm2")},
          {"ReduceSumSquare", reduction("sumsq")},
          {"ReduceLogSum", reduction("logsum")},
          {"ReduceLogSumExp", reduction("logsumexp")},
          {"ArgMax", extreme_position("argmax")},
          {"ArgMin", extreme_position("argmin")},
          {"CumSum", cumsum},
          {"Hardmax", hardmax}};
}

}  // namespace mote::onnx
