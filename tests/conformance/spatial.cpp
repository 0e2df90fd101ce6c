// Adapters of pooling, over one to three spatial axes.
#include <fmt/format.h>

#include <algorithm>

#include "call.h"
#include "mote/base/error.h"
#include "window.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

Params pool_params(const Call& c, const Window& w, const std::string& op, std::size_t rank) {
  Params params = window_params(w, rank);
  const std::size_t axes = w.kernel.size();
  for (std::size_t k = 0; k < rank; ++k) {
    params[fmt::format("kernel{}", k)] = k + axes < rank ? 1 : w.kernel[k + axes - rank];
  }
  if (c.integer("ceil_mode", 0) == 0) return params;
  if (!has_param(op, "ceil_mode")) throw NotApplicable(op + " has no ceil_mode");
  params["ceil_mode"] = 1;
  return params;
}

/// The result of an op over two spatial axes, with the number of them that the node has.
Array without_spatial_axes(Array y, std::size_t axes) {
  Dims shape = y.shape;
  if (axes == 1) shape.erase(shape.begin() + 2);
  return reshaped(std::move(y), std::move(shape));
}

/// Axes from..., of three, of a window.
Window part_of(const Window& w, std::size_t from, std::size_t to) {
  Window part;
  for (std::size_t k = from; k < to; ++k) {
    part.kernel.push_back(w.kernel.at(k));
    part.strides.push_back(w.strides.at(k));
    part.dilations.push_back(w.dilations.at(k));
    part.pads.push_back(w.pads.at(k));
  }
  for (std::size_t k = from; k < to; ++k) part.pads.push_back(w.pads.at(w.kernel.size() + k));
  return part;
}

/// Rows and columns first, then planes: what extremes allow, and means of windows of equal size.
Array pool_3d(const Call& c, const std::string& op, const Array& x, const Window& w) {
  const Dims& s = x.shape;
  Params params = pool_params(c, part_of(w, 1, 3), op, 2);
  const Array planes = reshaped(x, {s[0], s[1] * s[2], s[3], s[4]});
  const Array y = c.kernels().run(op, x.dtype, {&planes}, params);
  const Dims t = y.shape;
  Window depth = part_of(w, 0, 1);
  depth.kernel.push_back(1);
  depth.strides.push_back(1);
  depth.dilations.push_back(1);
  depth.pads = {depth.pads[0], 0, depth.pads[1], 0};
  params = pool_params(c, depth, op, 2);
  const Array stacked = reshaped(y, {s[0], s[1], s[2], t[2] * t[3]});
  const Array z = c.kernels().run(op, x.dtype, {&stacked}, params);
  return reshaped(z, {s[0], s[1], z.shape[2], t[2], t[3]});
}

/// Positions counted row by row become positions counted column by column, within each image.
Array column_major(const Call& c, const Array& indices, std::int64_t h, std::int64_t w) {
  const auto rows = static_cast<double>(h), columns = static_cast<double>(w);
  const Array inside = c.binary("mod", indices, rows * columns);
  const Array before = c.binary("sub", indices, inside);
  const Array row = c.binary("div", inside, columns), column = c.binary("mod", inside, columns);
  return c.binary("add", before, c.binary("add", c.binary("mul", column, rows), row));
}

Outputs max_pool(const Call& c) {
  const Dims image = spatial(c.in(0));
  const Window w = window_of(c, image, c.dims("kernel_shape"));
  const bool with_indices = c.wants(1);
  if (image.size() == 3 && !with_indices) {
    if (!has_op("max_pool3d")) return {pool_3d(c, "max_pool2d", c.in(0), w)};
    const Params params = pool_params(c, w, "max_pool3d", 3);
    return {c.kernels().run("max_pool3d", c.dtype(), {&c.in(0)}, params)};
  }
  const std::string op = with_indices ? "max_pool2d_with_indices" : "max_pool2d";
  const Array x = with_spatial_axes(c.in(0), 2);
  Outputs outputs = c.kernels().run_all(op, x.dtype, {&x}, pool_params(c, w, op, 2));
  for (Array& y : outputs) y = without_spatial_axes(std::move(y), image.size());
  if (with_indices && c.integer("storage_order", 0) == 1) {
    outputs[1] = column_major(c, outputs[1], x.shape[2], x.shape[3]);
  }
  return outputs;
}

Outputs average_pool(const Call& c) {
  const Dims image = spatial(c.in(0));
  const Window w = window_of(c, image, c.dims("kernel_shape"));
  const std::size_t axes = image.size(), rank = axes == 3 && has_op("avg_pool3d") ? 3 : 2;
  const std::string op = fmt::format("avg_pool{}d", rank);
  const bool padded = std::ranges::any_of(w.pads, [](std::int64_t p) { return p != 0; });
  if (axes > rank && !padded && c.integer("ceil_mode", 0) == 0) {
    return {pool_3d(c, op, c.in(0), w)};
  }
  Params params = pool_params(c, w, op, rank);
  params["count_include_pad"] = c.integer("count_include_pad", 0);
  const Array x = with_spatial_axes(c.in(0), rank);
  return {without_spatial_axes(c.kernels().run(op, x.dtype, {&x}, params), axes)};
}

/// Over all spatial axes, whatever their number, as rows of one column.
Adapter global_pool(std::string op) {
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

/// Local response: the mean of the squares over a window of channels is a pooling whose rows are
/// the channels, padding counted.
Outputs lrn(const Call& c) {
  const Array& x = c.in(0);
  const std::int64_t size = c.attribute("size").i;
  if (has_op("lrn")) {
    const Array flat =
        reshaped(x, {x.shape.at(0), x.shape.at(1), volume(x.shape, 2, x.shape.size())});
    const Params params = {{"size", size},
                           {"alpha", c.real("alpha", 1e-4F)},
                           {"beta", c.real("beta", 0.75)},
                           {"bias", c.real("bias", 1)}};
    return {reshaped(c.kernels().run("lrn", x.dtype, {&flat}, params), x.shape)};
  }
  const Dims shape = {x.shape.at(0), 1, x.shape.at(1), volume(x.shape, 2, x.shape.size())};
  const Array squares = reshaped(c.binary("mul", x, x), shape);
  const Params params = {{"kernel0", size},
                         {"kernel1", 1},
                         {"pads0", (size - 1) / 2},
                         {"pads2", size - 1 - (size - 1) / 2},
                         {"count_include_pad", 1}};
  const Array mean = reshaped(c.kernels().run("avg_pool2d", x.dtype, {&squares}, params), x.shape);
  const Array scaled = c.binary("mul", mean, c.real("alpha", 1e-4F));
  const Array base = c.binary("add", scaled, c.real("bias", 1));
  return {c.binary("div", x, c.binary("pow", base, c.real("beta", 0.75)))};
}

}  // namespace

Adapters spatial_adapters() {
  return {{"MaxPool", max_pool},
          {"AveragePool", average_pool},
          {"GlobalAveragePool", global_pool("global_avg_pool")},
          {"GlobalMaxPool", global_pool("global_max_pool")},
          {"LRN", lrn}};
}

}  // namespace mote::onnx
