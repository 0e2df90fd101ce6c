// SPDX-License-Identifier: Apache-2.0
// Pooling over 2 or 3 axes and its gradient. If ceil_mode lets the last window extend beyond the
// pads, the trailing pad is widened to hold it; a window without any tap is declined, since oneDNN
// gives it no value.
#include <fmt/format.h>

#include <algorithm>

#include "ops.h"

namespace mote::onednn {
namespace {

struct Window {
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
  memory::dims kernel, stride, dilation, before, after;
};

bool has_taps(memory::dim first, memory::dim taps, memory::dim step, memory::dim extent) {
  for (memory::dim k = 0; k < taps; ++k)
    if (first + k * step >= 0 && first + k * step < extent) return true;
  return false;
}

/// Adds one axis of the window over x's extent and y's.
void add_axis(const Reader& call, std::size_t axis, std::size_t axes, memory::dim in,
              memory::dim out, Window& w) {
  const memory::dim taps = call.integer(fmt::format("kernel{}", axis), 0);
  const memory::dim stride = call.integer(fmt::format("stride{}", axis), 1);
  const memory::dim step = call.integer(fmt::format("dilation{}", axis), 1);
  const memory::dim before = call.integer(fmt::format("pads{}", axis), 0);
  const memory::dim given = call.integer(fmt::format("pads{}", axis + axes), 0);
  const memory::dim reach = (taps - 1) * step + 1;
  const memory::dim needed = (out - 1) * stride + reach - in - before;
  if (needed > given && w.algorithm == dnnl::algorithm::pooling_avg_include_padding)
    decline("a window hangs over the pads, which count");
  for (memory::dim o = 0; o < out; ++o)
    if (!has_taps(o * stride - before, taps, step, in)) decline("a window has no taps");
  w.kernel.push_back(taps);
  w.stride.push_back(stride);
  w.dilation.push_back(step - 1);
  w.before.push_back(before);
  w.after.push_back(std::max(needed, given));
}

std::size_t axes_of(const Reader& call) {
  return call.op().find("3d") == std::string::npos ? 2 : 3;
}

Window window_of(const Reader& call, const View& x, const View& y) {
  Window w;
  const bool pads_count = call.integer("count_include_pad", 0) != 0;
  if (call.op().starts_with("avg"))
    w.algorithm = pads_count ? dnnl::algorithm::pooling_avg_include_padding
                             : dnnl::algorithm::pooling_avg_exclude_padding;
  for (std::size_t axis = 0; axis < axes_of(call); ++axis)
    add_axis(call, axis, axes_of(call), x.dims[axis + 2], y.dims[axis + 2], w);
  return w;
}

using PoolForward = dnnl::pooling_v2_forward;
using PoolBackward = dnnl::pooling_v2_backward;

PoolForward::primitive_desc forward_desc(const Window& w, dnnl::prop_kind kind,
                                         const memory::desc& x, const memory::desc& y) {
  return {
      PoolForward::desc(kind, w.algorithm, x, y, w.stride, w.kernel, w.dilation, w.before, w.after),
      attributes(), engine()};
}

}  // namespace

Jobs pooling(const Reader& call) {
  const int rank = static_cast<int>(axes_of(call)) + 2;
  const View x = call.input(0, rank, /*any_type=*/call.op().starts_with("max"));
  const View y = call.output(0, rank, /*any_type=*/true);
  if (x.type != y.type) decline("dtypes differ");
  const Window w = window_of(call, x, y);
  return {make_job<PoolForward>({x.as(DNNL_ARG_SRC), y.as(DNNL_ARG_DST)},
                                {Layouts::as_they_lie, Layouts::dense}, [&](const auto& d) {
                                  return forward_desc(w, dnnl::prop_kind::forward_inference, d[0],
                                                      d[1]);
                                })};
}

Jobs pooling_gradient(const Reader& call) {
  const int rank = static_cast<int>(axes_of(call)) + 2;
  const View gy = call.input(0, rank);
  const View x = call.input(1, rank);
  const View gx = call.output(0, rank);
  const Window w = window_of(call, x, gy);
  const auto dense = [](const View& v) {
    return memory::desc(v.dims, v.type,
                        v.dims.size() == 4 ? memory::format_tag::nchw : memory::format_tag::ncdhw);
  };
  const auto forward = forward_desc(w, dnnl::prop_kind::forward_training, dense(x), dense(gy));
  return {make_job<PoolBackward>({gx.as(DNNL_ARG_DIFF_SRC), gy.as(DNNL_ARG_DIFF_DST)},
                                 {Layouts::dense}, [&](const auto& d) {
                                   return PoolBackward::primitive_desc(
                                       PoolBackward::desc(w.algorithm, d[0], d[1], w.stride,
                                                          w.kernel, w.dilation, w.before, w.after),
                                       attributes(), engine(), forward);
                                 })};
}

}  // namespace mote::onednn
