// SPDX-License-Identifier: Apache-2.0
// Convolutions over one, two or three spatial axes, and their transpose. The layout is expressed by
// strides of the operands, never by another kernel.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "families.h"

namespace mote {

std::vector<ParamDecl> convolution_params(int axes) {
  std::vector<ParamDecl> params = window_params(axes);
  params.push_back(integer_param("groups", 1, 1, "groups that channels of x and w fall into"));
  return params;
}

ConvolutionTaps convolution_taps(int axes) {
  ConvolutionTaps t;
  t.image = {"N", "ci: $groups*CG"};
  t.kernel = {"co: $groups*CO", "CG"};
  t.taps = {"N", "co: $groups*CO"};
  std::vector<std::string> tap_sizes;
  for (int a = 0; a < axes; ++a) {
    const std::string letter = spatial_letter(axes, a);
    t.image.emplace_back(letter);
    t.kernel.emplace_back("K" + letter);
    t.taps.emplace_back("O" + letter);
    tap_sizes.push_back("K" + letter);
  }
  const int channel = 2 + axes;
  t.taps.emplace_back("ci: CG");
  t.taps.insert(t.taps.end(), t.kernel.begin() + 2, t.kernel.end());
  t.from = {"i0", fmt::format("i1/CO*CG + i{}", channel).c_str()};
  t.kernel_axes = {1, channel};
  t.summed = {channel};
  for (int a = 0; a < axes; ++a) {
    const int tap = channel + 1 + a;
    t.from.emplace_back(window_index(a, 2 + a, tap).c_str());
    const Uop in_axis = inside(t.from.back(), spatial_letter(axes, a).c_str(), t.taps);
    t.in_image = t.in_image ? t.in_image && in_axis : in_axis;
    t.kernel_axes.push_back(tap);
    t.summed.push_back(tap);
  }
  t.sizes = window_sizes(tap_sizes);
  return t;
}

namespace {

/// The treatment of taps outside of x.
enum class Outside : std::uint8_t { left_out, multiplied };

/// Returns the form in which taps outside of x are zeros, which are multiplied like any other
/// value.
Form padding_multiplied(std::function<ProgramSpec(const Instance&)> define) {
  return {.name = std::string(kPaddingMultiplied),
          .meaning =
              "taps outside of x are zeros times w, in a gradient times gy: NaN where that is not "
              "finite",
          .source = "im2col, or a copy of x with zeros around it",
          .define = std::move(define),
          .differentiated = true};
}

/// Returns the sum of x at each window's taps times w, plus b; if `rectified`, negative results
/// become 0.
ProgramSpec convolution(const Instance& instance, int axes, Outside outside,
                        bool rectified = false) {
  const ConvolutionTaps t = convolution_taps(axes);
  const Uop x = input("x", instance.dtype, t.image);
  const Uop w = input("w", instance.dtype, t.kernel);
  const Uop b = optional_input(instance, 2, "b", {"co: $groups*CO"});
  const Uop products = reindex(x, t.taps, t.from) * broadcast(w, t.taps, t.kernel_axes);
  const bool all = outside == Outside::multiplied;
  Uop y = sum_over(all ? products : where(t.in_image, products, 0), t.summed);
  if (b) y = y + broadcast(b, shape_of(y), {1});
  if (rectified) y = max(y, 0);
  return spec({x, w, b}, y, t.sizes);
}

OpRecord convolution_record(int axes, std::string equation, std::string policy) {
  const auto with = [axes](Outside outside) {
    return [=](const Instance& instance) { return convolution(instance, axes, outside); };
  };
  std::vector<Form> forms = {padding_multiplied(with(Outside::multiplied))};
  if (axes == 2) std::ranges::move(winograd_forms(), std::back_inserter(forms));
  return {.name = fmt::format("conv{}d", axes),
          .family = "linear",
          .equation = std::move(equation),
          .inputs = {{"x"}, {"w"}, {"b", true}},
          .dtypes = dtypes::kReal,
          .params = convolution_params(axes),
          .in_place = {},
          .policy = std::move(policy),
          .source = "ONNX opset 17 Conv",
          .define = with(Outside::left_out),
          .forms = std::move(forms)};
}

/// Returns a convolution with its bias and activation, as fused kernels compute it.
OpRecord conv2d_relu(OpRecord record, std::string equation) {
  const auto with = [](Outside outside) {
    return [=](const Instance& instance) { return convolution(instance, 2, outside, true); };
  };
  record.name = "conv2d_relu";
  record.equation = std::move(equation);
  record.policy += "; NaN propagates; rounded once";
  record.source = "conv2d, then relu: ONNX opset 17 Conv and Relu";
  record.define = with(Outside::left_out);
  record.forms = {padding_multiplied(with(Outside::multiplied))};
  return record;
}

/// y[oh] takes x[h] by tap kh where h*stride + kh*dilation - pads = oh: a gather in which only the
/// rows that the stride divides count.
ProgramSpec conv_transpose2d(const Instance& instance, Outside outside) {
  const Uop x = input("x", instance.dtype, {"N", "ci: $groups*CI", "H", "W"});
  const Uop w = input("w", instance.dtype, {"ci: $groups*CI", "CO", "KH", "KW"});
  const Uop b = optional_input(instance, 2, "b", {"co: $groups*CO"});
  const Shape taps = {"N", "co: $groups*CO", "OH", "OW", "ci: CI", "KH", "KW"};
  const Expr row = parse_expr("i2 + $pads0 - i5*$dilation0").expr, sh = Expr::param("stride0");
  const Expr column = parse_expr("i3 + $pads1 - i6*$dilation1").expr, sw = Expr::param("stride1");
  const IndexText channel = "i1/CO*CI + i4";
  const Uop hits = eq(iota(row % sh, taps), 0) && inside(row / sh, "H", taps) &&
                   eq(iota(column % sw, taps), 0) && inside(column / sw, "W", taps);
  const Uop image = reindex(x, taps, {"i0", channel, row / sh, column / sw});
  const Uop kernel = reindex(w, taps, {channel, "i1%CO", "i5", "i6"});
  const bool all = outside == Outside::multiplied;
  const Uop products = all ? where(hits, image, 0) * kernel : where(hits, image * kernel, 0);
  Uop y = sum_over(products, {4, 5, 6});
  if (b) y = y + broadcast(b, shape_of(y), {1});
  const char* size =
      "({0} - 1)*$stride{1} + $dilation{1}*(K{0} - 1) + 1 + $output_pad{1} - "
      "$pads{1} - $pads{2}";
  return spec({x, w, b}, y,
              {named_size("OH", fmt::format(fmt::runtime(size), "H", 0, 2)),
               named_size("OW", fmt::format(fmt::runtime(size), "W", 1, 3))});
}

std::vector<ParamDecl> conv_transpose2d_params() {
  std::vector<ParamDecl> params = convolution_params(2);
  params.push_back(integer_param("output_pad0", 0, 0, "rows added at the bottom"));
  params.push_back(integer_param("output_pad1", 0, 0, "columns added on the right"));
  return params;
}

}  // namespace

std::vector<OpRecord> convolution_ops() {
  const std::string border = "taps outside x do not exist (no 0 * inf at the border); ";
  const std::string sum =
      "sum_ci,kh,kw x[n, (co/CO)*CG + ci, oh*stride0 + kh*dilation0 - pads0, "
      "ow*stride1 + kw*dilation1 - pads1] * w[co, ci, kh, kw] (+ b[co] if there is b)";
  const OpRecord conv2d =
      convolution_record(2, "y[n, co, oh, ow] = " + sum,
                         border +
                             "logical order is NCHW, NHWC is strides; depthwise is groups = "
                             "channels");
  return {
      convolution_record(1,
                         "y[n, co, ow] = sum_ci,kw x[n, (co/CO)*CG + ci, "
                         "ow*stride0 + kw*dilation0 - pads0] * w[co, ci, kw] "
                         "(+ b[co] if there is b)",
                         border + "logical order is NCW, NWC is strides"),
      conv2d,
      conv2d_relu(conv2d, "y[n, co, oh, ow] = max(" + sum + ", 0)"),
      convolution_record(3,
                         "y[n, co, od, oh, ow] = sum_ci,kd,kh,kw x[n, (co/CO)*CG + ci, "
                         "od*stride0 + kd*dilation0 - pads0, oh*stride1 + kh*dilation1 - pads1, "
                         "ow*stride2 + kw*dilation2 - pads2] * w[co, ci, kd, kh, kw] "
                         "(+ b[co] if there is b)",
                         border + "logical order is NCDHW, NDHWC is strides"),
      {.name = "conv_transpose2d",
       .family = "linear",
       .equation = "y[n, co, oh, ow] = sum of x[n, ci', h, w'] * w[ci', co%CO, kh, kw] over ci' of "
                   "co's group, and h, w', kh, kw with oh = h*stride0 + kh*dilation0 - pads0, "
                   "ow = w'*stride1 + kw*dilation1 - pads1 (+ b[co] if there is b)",
       .inputs = {{"x"}, {"w"}, {"b", true}},
       .dtypes = dtypes::kReal,
       .params = conv_transpose2d_params(),
       .in_place = {},
       .policy = "w is [CI, CO/groups, KH, KW]; an element that no tap reaches is b, or 0",
       .source = "ONNX opset 17 ConvTranspose",
       .define = [](const Instance& i) { return conv_transpose2d(i, Outside::left_out); },
       .forms = {padding_multiplied(
           [](const Instance& i) { return conv_transpose2d(i, Outside::multiplied); })}},
  };
}

}  // namespace mote
