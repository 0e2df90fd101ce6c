// SPDX-License-Identifier: Apache-2.0
// 8-bit tensors that stand for reals, x = scale*(q - zero), and products of them: summed as
// integers, then scaled and rounded.
#include "families.h"

namespace mote {
namespace {

Uop rounded(const Uop& x) { return map(MapOp::round, std::vector<Uop>{x}); }
/// Returns an integer parameter as an i32 at all elements.
Uop zero_point(const char* name) {
  return cast(iota(std::string("$").append(name).c_str(), {}), DType::i32);
}

ProgramSpec quantize(const Instance& instance) {
  const Uop x = input("x", DType::f32, {"R", "C", "N"});
  const Uop scale = input("scale", DType::f32, {"C"});
  const Uop zero = input("zero", instance.dtype, {"C"});
  const Uop steps = rounded(x / broadcast(scale, shape_of(x), {1}));
  const Uop shifted = steps + broadcast(cast(zero, DType::f32), shape_of(x), {1});
  return spec({x, scale, zero}, cast(shifted, instance.dtype));
}

ProgramSpec dequantize(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "C", "N"});
  const Uop scale = input("scale", DType::f32, {"C"});
  const Uop zero = input("zero", instance.dtype, {"C"});
  const Uop steps = cast(x, DType::i64) - broadcast(cast(zero, DType::i64), shape_of(x), {1});
  return spec({x, scale, zero}, cast(steps, DType::f32) * broadcast(scale, shape_of(x), {1}));
}

/// Returns an operand's distance from its zero.
Uop centred(const Uop& x, const char* zero) { return cast(x, DType::i32) - zero_point(zero); }

Uop products_of(const Uop& a, const Uop& b) {
  const Shape terms = {"P", "M", "N", "K"};
  return sum_over(broadcast(centred(a, "a_zero"), terms, {0, 1, 3}) *
                      broadcast(centred(b, "b_zero"), terms, {0, 3, 2}),
                  {3});
}
Uop left(const Instance& instance) { return input("a", instance.dtype, {"1|P", "M", "K"}); }
Uop right() { return input("b", DType::i8, {"1|P", "K", "N"}); }

ProgramSpec matmul_integer(const Instance& instance) {
  const Uop a = left(instance), b = right();
  return spec({a, b}, products_of(a, b));
}

/// Returns the sum times scale, rounded, plus y_zero, as an 8-bit element.
Uop requantised(const Uop& total, const Uop& scale, int axis, DType to) {
  const Uop factor = broadcast(scale, shape_of(total), {axis});
  const Uop steps = rounded(cast(total, DType::f32) * factor);
  return cast(steps + cast(zero_point("y_zero"), DType::f32), to);
}

ProgramSpec qmatmul(const Instance& instance) {
  const Uop a = left(instance), b = right();
  const Uop scale = input("scale", DType::f32, {"N"});
  return spec({a, b, scale}, requantised(products_of(a, b), scale, 2, instance.dtype));
}

struct QuantisedConvolution {
  ConvolutionTaps loops = convolution_taps(2);
  Uop x, w, total;

  explicit QuantisedConvolution(const Instance& instance)
      : x(input("x", instance.dtype, loops.image)), w(input("w", DType::i8, loops.kernel)) {
    const Uop taps = reindex(centred(x, "x_zero"), loops.taps, loops.from);
    const Uop weights = broadcast(cast(w, DType::i32), loops.taps, loops.kernel_axes);
    total = sum_over(taps * weights, loops.summed);
  }
};

ProgramSpec conv2d_integer(const Instance& instance) {
  const QuantisedConvolution c(instance);
  return spec({c.x, c.w}, c.total, c.loops.sizes);
}

ProgramSpec qconv2d(const Instance& instance) {
  const QuantisedConvolution c(instance);
  const Uop scale = input("scale", DType::f32, {"co: $groups*CO"});
  const bool biased = (instance.input_mask >> 3U & 1U) != 0;
  const Uop b = biased ? input("b", DType::i32, {"co: $groups*CO"}) : Uop();
  const Uop total = biased ? c.total + broadcast(b, shape_of(c.total), {1}) : c.total;
  return spec({c.x, c.w, scale, b}, requantised(total, scale, 1, instance.dtype), c.loops.sizes);
}

ParamDecl zero_param(std::string name, const char* of) {
  ParamDecl zero = offset_param(std::move(name), 0, std::string("zero point of ") + of);
  zero.lower = -128;
  zero.upper = 255;
  return zero;
}

std::vector<ParamDecl> with(std::vector<ParamDecl> params, const std::vector<ParamDecl>& more) {
  params.insert(params.end(), more.begin(), more.end());
  return params;
}

OpRecord quantised(std::string name, std::string equation, std::vector<InputDecl> inputs,
                   std::vector<DType> dtypes, std::vector<ParamDecl> params, std::string policy,
                   std::string source, ProgramSpec (*define)(const Instance&)) {
  return {.name = std::move(name),
          .family = "quantised",
          .equation = std::move(equation),
          .inputs = std::move(inputs),
          .dtypes = std::move(dtypes),
          .params = std::move(params),
          .in_place = {},
          .policy = std::move(policy),
          .source = std::move(source),
          .define = define};
}

}  // namespace

std::vector<OpRecord> quantised_ops() {
  using enum DType;
  const std::vector<DType> bytes = {u8, i8};
  const std::vector<ParamDecl> of_matmul = {zero_param("a_zero", "a"), zero_param("b_zero", "b")};
  const std::vector<ParamDecl> of_conv = with(convolution_params(2), {zero_param("x_zero", "x")});
  const std::vector<ParamDecl> of_y = {zero_param("y_zero", "y")};
  const std::string product = "sum_k (a[p, m, k] - a_zero) * (b[p, k, n] - b_zero)";
  const std::string window =
      "sum_ci,kh,kw (x[n, (co/CO)*CG + ci, oh*stride0 + kh*dilation0 - pads0, ow*stride1 + "
      "kw*dilation1 - pads1] - x_zero) * w[co, ci, kh, kw]";
  const std::string exact = "exact: summed in 64 bits, which wrap where they are stored; ";
  const std::string rounds =
      "rounds half to even, then saturates; scale is that of the operands "
      "over that of y; ";
  return {
      quantised(
          "quantize", "y[r, c, n] = round(x[r, c, n]/scale[c]) + zero[c]",
          {{"x"}, {"scale"}, {"zero"}}, bytes, {},
          "rounds half to even, then saturates; NaN gives 0; x is f32; one scale for all is a "
          "stride of 0",
          "ONNX opset 17 QuantizeLinear", quantize),
      quantised("dequantize", "y[r, c, n] = (x[r, c, n] - zero[c]) * scale[c]",
                {{"x"}, {"scale"}, {"zero"}}, {u8, i8, i32}, {},
                "y is f32; one scale for all is a stride of 0", "ONNX opset 17 DequantizeLinear",
                dequantize),
      quantised("matmul_integer", "y[p, m, n] = " + product, {{"a"}, {"b"}}, bytes, of_matmul,
                exact + "b is i8; P broadcasts", "ONNX opset 17 MatMulInteger", matmul_integer),
      quantised("qmatmul", "y[p, m, n] = round(scale[n] * " + product + ") + y_zero",
                {{"a"}, {"b"}, {"scale"}}, bytes, with(of_matmul, of_y),
                rounds + "b is i8; P broadcasts; one scale for all is a stride of 0",
                "ONNX opset 17 QLinearMatMul", qmatmul),
      quantised("conv2d_integer", "y[n, co, oh, ow] = " + window, {{"x"}, {"w"}}, bytes, of_conv,
                exact + "w is i8, its zero 0; taps outside x are x_zero",
                "ONNX opset 17 ConvInteger", conv2d_integer),
      quantised(
          "qconv2d",
          "y[n, co, oh, ow] = round(scale[co] * (" + window + " (+ b[co] if there is b))) + y_zero",
          {{"x"}, {"w"}, {"scale"}, {"b", true}}, bytes, with(of_conv, of_y),
          rounds +
              "w is i8, its zero 0, b is i32; taps outside x are x_zero; one scale for all is a "
              "stride of 0",
          "ONNX opset 17 QLinearConv", qconv2d),
  };
}

}  // namespace mote
