// SPDX-License-Identifier: Apache-2.0
// Convolutions over 1 to 3 axes, their gradients, and the transposed one. Kernels choose their own
// layouts; oneDNN counts a dilation from 0. With groups, w gets a leading axis of groups.
#include <fmt/format.h>

#include "ops.h"

namespace mote::onednn {
namespace {

constexpr dnnl::algorithm kDirect = dnnl::algorithm::convolution_direct;

ConvolutionWindow window_of(const Reader& call) {
  return convolution_window(call, call.op().starts_with("conv1d")   ? 1
                                  : call.op().starts_with("conv3d") ? 3
                                                                    : 2);
}

int rank_of(const ConvolutionWindow& w) { return static_cast<int>(w.axes) + 2; }

using Forward = dnnl::convolution_forward;

/// Returns the operation that a primitive applies to its results before it stores them: max(y, 0).
dnnl::post_ops relu() {
  dnnl::post_ops after;
  after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  return after;
}

/// Returns the forward primitive that guides a gradient's choice of a kernel.
Forward::primitive_desc hint(const ConvolutionWindow& w, const View& x, const View& weights,
                             const View& y) {
  const auto any = [](const View& v) {
    return memory::desc(v.dims, v.type, memory::format_tag::any);
  };
  return convolution_desc(w, dnnl::prop_kind::forward_training, any(x), any(weights), nullptr,
                          any(y), attributes());
}

Job data_gradient(const ConvolutionWindow& w, const Forward::primitive_desc& forward,
                  const View& gy, const View& weights, const View& gx) {
  using Backward = dnnl::convolution_backward_data;
  return make_job<Backward>(
      {gx.as(DNNL_ARG_DIFF_SRC), weights.as(DNNL_ARG_WEIGHTS), gy.as(DNNL_ARG_DIFF_DST)},
      {Layouts::any}, [&](const auto& d) {
        return Backward::primitive_desc(
            Backward::desc(kDirect, d[0], d[1], d[2], w.stride, w.dilation, w.before, w.after),
            attributes(), engine(), forward);
      });
}

Job weights_gradient(const ConvolutionWindow& w, const Forward::primitive_desc& forward,
                     const View& gy, const View& x, const View& gw) {
  using Backward = dnnl::convolution_backward_weights;
  return make_job<Backward>(
      {x.as(DNNL_ARG_SRC), gw.as(DNNL_ARG_DIFF_WEIGHTS), gy.as(DNNL_ARG_DIFF_DST)}, {Layouts::any},
      [&](const auto& d) {
        return Backward::primitive_desc(
            Backward::desc(kDirect, d[0], d[1], d[2], w.stride, w.dilation, w.before, w.after),
            attributes(), engine(), forward);
      });
}

/// Computes gb[c] = sum of gy over all axes except that of channels.
Job bias_gradient(const View& gy, const View& gb) {
  View sums = gb.with_axis(0);
  while (sums.dims.size() < gy.dims.size()) sums = sums.with_axis(sums.dims.size());
  using Sum = dnnl::reduction;
  return make_job<Sum>({gy.as(DNNL_ARG_SRC), sums.as(DNNL_ARG_DST)},
                       {Layouts::as_they_lie, Layouts::dense}, [&](const auto& d) {
                         return Sum::primitive_desc(
                             Sum::desc(dnnl::algorithm::reduction_sum, d[0], d[1], 0, 0),
                             attributes(), engine());
                       });
}

}  // namespace

ConvolutionWindow convolution_window(const Reader& call, std::size_t axes) {
  ConvolutionWindow w;
  w.axes = axes;
  for (std::size_t k = 0; k < w.axes; ++k) {
    w.stride.push_back(call.integer(fmt::format("stride{}", k), 1));
    w.dilation.push_back(call.integer(fmt::format("dilation{}", k), 1) - 1);
    w.before.push_back(call.integer(fmt::format("pads{}", k), 0));
    w.after.push_back(call.integer(fmt::format("pads{}", k + w.axes), 0));
  }
  w.groups = call.integer("groups", 1);
  if (w.groups < 1) decline("there are no groups");
  return w;
}

dnnl::convolution_forward::primitive_desc convolution_desc(
    const ConvolutionWindow& w, dnnl::prop_kind kind, const memory::desc& x,
    const memory::desc& weights, const memory::desc* bias, const memory::desc& y,
    const dnnl::primitive_attr& attr) {
  const Forward::desc desc =
      bias != nullptr
          ? Forward::desc(kind, kDirect, x, weights, *bias, y, w.stride, w.dilation, w.before,
                          w.after)
          : Forward::desc(kind, kDirect, x, weights, y, w.stride, w.dilation, w.before, w.after);
  return {desc, attr, engine()};
}

Jobs convolution(const Reader& call) {
  const ConvolutionWindow w = window_of(call);
  const View weights = call.input(1, rank_of(w));
  std::vector<Argument> arguments = {
      call.input(0, rank_of(w)).as(DNNL_ARG_SRC),
      (w.groups == 1 ? weights : weights.split(0, w.groups)).as(DNNL_ARG_WEIGHTS),
      call.output(0, rank_of(w)).as(DNNL_ARG_DST)};
  if (call.has_input(2)) arguments.push_back(call.input(2, 1).as(DNNL_ARG_BIAS));
  dnnl::primitive_attr attr = attributes();
  if (call.op() == "conv2d_relu") attr.set_post_ops(relu());
  return {make_job<Forward>(arguments, {Layouts::any}, [&](const auto& d) {
    return convolution_desc(w, dnnl::prop_kind::forward_inference, d[0], d[1],
                            d.size() > 3 ? &d[3] : nullptr, d[2], attr);
  })};
}

Jobs convolution_gradient(const Reader& call) {
  const ConvolutionWindow w = window_of(call);
  const auto grouped = [&](const View& v) { return w.groups == 1 ? v : v.split(0, w.groups); };
  const View gy = call.input(0, rank_of(w));
  const View x = call.input(1, rank_of(w));
  const View weights = grouped(call.input(2, rank_of(w)));
  const Forward::primitive_desc forward = hint(w, x, weights, gy);
  Jobs jobs;
  if (call.has_output(0))
    jobs.push_back(data_gradient(w, forward, gy, weights, call.output(0, rank_of(w))));
  if (call.has_output(1))
    jobs.push_back(weights_gradient(w, forward, gy, x, grouped(call.output(1, rank_of(w)))));
  if (call.has_output(2)) jobs.push_back(bias_gradient(gy, call.output(2, 1)));
  return jobs;
}

// w is [CI, CO/groups, …]; oneDNN takes output channels first. Rows that output_pad adds reduce the
// trailing pad.
Jobs deconvolution(const Reader& call) {
  using Transposed = dnnl::deconvolution_forward;
  ConvolutionWindow w = window_of(call);
  for (std::size_t k = 0; k < w.axes; ++k)
    w.after[k] -= call.integer(fmt::format("output_pad{}", k), 0);
  const View given = call.input(1, 4);
  const View weights = w.groups == 1 ? given.permuted({1, 0, 2, 3})
                                     : given.split(0, w.groups).permuted({0, 2, 1, 3, 4});
  std::vector<Argument> arguments = {call.input(0, 4).as(DNNL_ARG_SRC),
                                     weights.as(DNNL_ARG_WEIGHTS),
                                     call.output(0, 4).as(DNNL_ARG_DST)};
  if (call.has_input(2)) arguments.push_back(call.input(2, 1).as(DNNL_ARG_BIAS));
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  constexpr auto kAlgorithm = dnnl::algorithm::deconvolution_direct;
  return {make_job<Transposed>(arguments, {Layouts::any}, [&](const auto& d) {
    const Transposed::desc desc = d.size() > 3
                                      ? Transposed::desc(kKind, kAlgorithm, d[0], d[1], d[3], d[2],
                                                         w.stride, w.dilation, w.before, w.after)
                                      : Transposed::desc(kKind, kAlgorithm, d[0], d[1], d[2],
                                                         w.stride, w.dilation, w.before, w.after);
    return Transposed::primitive_desc(desc, attributes(), engine());
  })};
}

}  // namespace mote::onednn
