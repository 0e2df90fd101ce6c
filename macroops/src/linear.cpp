// Linear ops: products of matrices and convolutions. Transposition, layout and broadcasting are
// strides of the operands, never another kernel.
#include "families.h"

namespace mote {
namespace {

ProgramSpec gemm(const Instance& instance) {
  const DType t = instance.dtype;
  const Shape mnk = {"M", "N", "K"};
  const Uop a = input("a", t, {"M", "K"});
  const Uop b = input("b", t, {"K", "N"});
  const Uop c = optional_input(instance, 2, "c", {"M", "N"});
  const Uop beta = param("beta", t);
  Uop y = param("alpha", t) * sum_over(broadcast(a, mnk, {0, 2}) * broadcast(b, mnk, {2, 1}), {2});
  if (c) y = y + where(eq(beta, 0), 0, beta * c);
  return spec({a, b, c}, y);
}

ProgramSpec matmul(const Instance& instance) {
  const Shape pqmnk = {"P", "Q", "M", "N", "K"};
  const Uop a = input("a", instance.dtype, {"1|P", "1|Q", "M", "K"});
  const Uop b = input("b", instance.dtype, {"1|P", "1|Q", "K", "N"});
  const Uop products = broadcast(a, pqmnk, {0, 1, 2, 4}) * broadcast(b, pqmnk, {0, 1, 4, 3});
  return spec({a, b}, sum_over(products, {4}));
}

ProgramSpec conv2d(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"N", "ci: $groups*CG", "H", "W"});
  const Uop w = input("w", instance.dtype, {"co: $groups*CO", "CG", "KH", "KW"});
  const Uop b = optional_input(instance, 2, "b", {"co: $groups*CO"});
  const Shape taps = {"N", "co: $groups*CO", "OH", "OW", "ci: CG", "KH", "KW"};
  const IndexText row = "i2*$stride0 + i5*$dilation0 - $pads0";
  const IndexText column = "i3*$stride1 + i6*$dilation1 - $pads1";
  const Uop products =
      reindex(x, taps, {"i0", "i1/CO*CG + i4", row, column}) * broadcast(w, taps, {1, 4, 5, 6});
  const Uop in_image = inside(row, "H", taps) && inside(column, "W", taps);
  Uop y = sum_over(where(in_image, products, 0), {4, 5, 6});
  if (b) y = y + broadcast(b, shape_of(y), {1});
  return spec({x, w, b}, y, window_sizes("KH", "KW"));
}

std::vector<ParamDecl> conv2d_params() {
  std::vector<ParamDecl> params = window_params();
  params.push_back(integer_param("groups", 1, 1, "groups that channels of x and w fall into"));
  return params;
}

}  // namespace

std::vector<OpRecord> linear_ops() {
  return {
      {.name = "gemm",
       .family = "linear",
       .equation = "y[m, n] = alpha * sum_k a[m, k] * b[k, n] (+ beta * c[m, n] if there is c)",
       .inputs = {{"a"}, {"b"}, {"c", true}},
       .dtypes = dtypes::kNumber,
       .params = {value_param("alpha", 1, "factor of the product"),
                  value_param("beta", 1, "factor of c")},
       .in_place = {{2, 0}},
       .policy = "beta = 0 never reads c; K = 0 gives beta * c; i32 accumulates in 64 bits and "
                 "wraps when stored",
       .source = "ONNX opset 17 Gemm; beta = 0 as in BLAS",
       .define = gemm},
      {.name = "matmul",
       .family = "linear",
       .equation = "y[p, q, m, n] = sum_k a[p, q, m, k] * b[p, q, k, n]",
       .inputs = {{"a"}, {"b"}},
       .dtypes = dtypes::kNumber,
       .params = {},
       .in_place = {},
       .policy = "P and Q broadcast as in NumPy; K = 0 gives 0; i32 accumulates in 64 bits and "
                 "wraps when stored",
       .source = "ONNX opset 17 MatMul",
       .define = matmul},
      {.name = "conv2d",
       .family = "linear",
       .equation = "y[n, co, oh, ow] = sum_ci,kh,kw x[n, (co/CO)*CG + ci, "
                   "oh*stride0 + kh*dilation0 - pads0, ow*stride1 + kw*dilation1 - pads1] * "
                   "w[co, ci, kh, kw] (+ b[co] if there is b)",
       .inputs = {{"x"}, {"w"}, {"b", true}},
       .dtypes = dtypes::kReal,
       .params = conv2d_params(),
       .in_place = {},
       .policy = "taps outside x do not exist (no 0 * inf at the border); logical order is NCHW, "
                 "NHWC is strides; depthwise is groups = channels",
       .source = "ONNX opset 17 Conv",
       .define = conv2d},
  };
}

}  // namespace mote
