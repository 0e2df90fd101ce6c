// SPDX-License-Identifier: Apache-2.0
// Adapters of pooling over one to three spatial axes.
#include <fmt/format.h>

#include <algorithm>

#include "call.h"
#include "mote/base/error.h"
#include "window.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// Returns the parameters of a pooling op over `rank` spatial axes; a window with fewer covers the
/// last ones.
Params pool_params(const Call& c, const Window& w, std::size_t rank) {
  Params params = window_params(w, rank);
  const std::size_t axes = w.kernel.size();
  for (std::size_t k = 0; k < rank; ++k) {
    params[fmt::format("kernel{}", k)] = k + axes < rank ? 1 : w.kernel[k + axes - rank];
  }
  params["ceil_mode"] = c.integer("ceil_mode", 0);
  return params;
}

/// Converts positions counted row by row to positions counted column by column, within each image.
Array column_major(const Call& c, const Array& indices, std::int64_t h, std::int64_t w) {
  const auto rows = static_cast<double>(h), columns = static_cast<double>(w);
  const Array inside = c.binary("mod", indices, rows * columns);
  const Array before = c.binary("sub", indices, inside);
  const Array row = c.binary("div", inside, columns), column = c.binary("mod", inside, columns);
  return c.binary("add", before, c.binary("add", c.binary("mul", column, rows), row));
}

Outputs max_pool(const Call& c) {
  const Dims image = spatial(c.in(0));
  const std::size_t rank = image.size() == 3 ? 3 : 2;
  const Params params = pool_params(c, window_of(c, image, c.dims("kernel_shape")), rank);
  const std::string op = fmt::format("max_pool{}d{}", rank, c.wants(1) ? "_with_indices" : "");
  const Array x = with_spatial_axes(c.in(0), rank);
  Outputs outputs = c.kernels().run_all(op, x.dtype, {&x}, params);
  for (Array& y : outputs) y = without_spatial_axes(std::move(y), image.size());
  if (c.wants(1) && c.integer("storage_order", 0) == 1) {
    if (rank == 3) throw NotApplicable("column-major positions in three spatial axes");
    outputs[1] = column_major(c, outputs[1], x.shape[2], x.shape[3]);
  }
  return outputs;
}

Outputs average_pool(const Call& c) {
  const Dims image = spatial(c.in(0));
  const std::size_t rank = image.size() == 3 ? 3 : 2;
  Params params = pool_params(c, window_of(c, image, c.dims("kernel_shape")), rank);
  params["count_include_pad"] = c.integer("count_include_pad", 0);
  const Array x = with_spatial_axes(c.in(0), rank);
  const Array y = c.kernels().run(fmt::format("avg_pool{}d", rank), x.dtype, {&x}, params);
  return {without_spatial_axes(y, image.size())};
}

/// Writes each maximum back to its position; elements of output_shape beyond the windows' reach are
/// 0.
Outputs max_unpool(const Call& c) {
  const Dims image = spatial(c.in(0));
  const std::size_t axes = image.size();
  const Window w = window_of(c, image, c.dims("kernel_shape"));
  Dims reached(2, 1);
  for (std::size_t k = 0; k < axes && axes <= 2; ++k) {
    reached[2 - axes + k] =
        (image[k] - 1) * w.strides.at(k) + w.kernel.at(k) - w.pads.at(k) - w.pads.at(axes + k);
  }
  const Array x = with_spatial_axes(c.in(0), 2), at = with_spatial_axes(c.in(1), 2);
  const Params params = {{"output0", reached[0]}, {"output1", reached[1]}};
  const Array y =
      without_spatial_axes(c.kernels().run("max_unpool2d", x.dtype, {&x, &at}, params), axes);
  if (!c.has(2)) return {y};
  const Dims asked = integers_in(c.in(2));
  Dims pads(2 * y.shape.size(), 0);
  for (std::size_t k = 0; k < y.shape.size(); ++k) {
    pads[y.shape.size() + k] = asked.at(k) - y.shape[k];
  }
  return {c.pad("constant", y, pads)};
}

/// Computes (sum |x|^p)^(1/p) over each window, by the mean over all of its taps.
Outputs lp_pool(const Call& c) {
  const Dims image = spatial(c.in(0)), kernel = c.dims("kernel_shape");
  const std::size_t rank = image.size() == 3 ? 3 : 2;
  Params params = pool_params(c, window_of(c, image, kernel), rank);
  params["count_include_pad"] = 1;
  const auto p = static_cast<double>(c.integer("p", 2));
  const Array powers = c.binary("pow", c.unary("abs", c.in(0)), p);
  const Array x = with_spatial_axes(powers, rank);
  const Array mean = c.kernels().run(fmt::format("avg_pool{}d", rank), x.dtype, {&x}, params);
  const auto taps = static_cast<double>(volume(kernel, 0, kernel.size()));
  const Array y = c.binary("pow", c.binary("mul", mean, taps), 1 / p);
  return {without_spatial_axes(y, image.size())};
}

/// Pools over all spatial axes, for any number of them, as rows of one column.
Adapter global_pool(const std::string& op) {
  return [=](const Call& c) -> Outputs {
    const Array& x = c.in(0);
    Dims shape = {x.shape.at(0), x.shape.at(1), volume(x.shape, 2, 3),
                  volume(x.shape, 3, x.shape.size())};
    const Array flat = reshaped(x, shape);
    shape.assign(x.shape.size(), 1);
    shape[0] = x.shape[0];
    shape[1] = x.shape[1];
    return {reshaped(c.kernels().run(op, x.dtype, {&flat}), shape)};
  };
}

Outputs lrn(const Call& c) {
  const Array& x = c.in(0);
  const Params params = {{"size", c.attribute("size").i},
                         {"alpha", c.real("alpha", 1e-4F)},
                         {"beta", c.real("beta", 0.75)},
                         {"bias", c.real("bias", 1)}};
  const Array flat = channels_in_the_middle(x);
  return {reshaped(c.kernels().run("lrn", x.dtype, {&flat}, params), x.shape)};
}

}  // namespace

Adapters spatial_adapters() {
  return {{"MaxPool", max_pool},
          {"AveragePool", average_pool},
          {"MaxUnpool", max_unpool},
          {"LpPool", lp_pool},
          {"GlobalAveragePool", global_pool("global_avg_pool")},
          {"GlobalMaxPool", global_pool("global_max_pool")},
          {"LRN", lrn}};
}

}  // namespace mote::onnx
