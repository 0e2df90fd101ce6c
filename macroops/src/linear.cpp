// SPDX-License-Identifier: Apache-2.0
// Products of matrices. Transposition and broadcasting are expressed by strides of the operands,
// never by another kernel.
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

}  // namespace

std::vector<OpRecord> linear_ops() {
  return {
      {.name = "gemm",
       .family = "linear",
       .equation = "y[m, n] = alpha * sum_k a[m, k] * b[k, n] (+ beta * c[m, n] if there is c)",
       .inputs = {{"a"}, {"b"}, {"c", true}},
       .dtypes = dtypes::kWide,
       .params = {value_param("alpha", 1, "factor of the product"),
                  value_param("beta", 1, "factor of c")},
       .in_place = {{2, 0}},
       .policy = "beta = 0 never reads c; K = 0 gives beta * c; integers accumulate in 64 bits and "
                 "wrap when stored",
       .source = "ONNX opset 17 Gemm; beta = 0 as in BLAS",
       .define = gemm},
      {.name = "matmul",
       .family = "linear",
       .equation = "y[p, q, m, n] = sum_k a[p, q, m, k] * b[p, q, k, n]",
       .inputs = {{"a"}, {"b"}},
       .dtypes = dtypes::kWide,
       .params = {},
       .in_place = {},
       .policy = "P and Q broadcast as in NumPy; K = 0 gives 0; integers accumulate in 64 bits and "
                 "wrap when stored",
       .source = "ONNX opset 17 MatMul",
       .define = matmul},
  };
}

}  // namespace mote
