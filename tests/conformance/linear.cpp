// SPDX-License-Identifier: Apache-2.0
// Adapters of matrix products and convolutions.
#include "call.h"
#include "mote/base/error.h"
#include "window.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

Outputs gemm(const Call& c) {
  const auto matrix = [&](std::size_t k, const char* flag) {
    return c.integer(flag, 0) != 0 ? permuted(c.in(k), {1, 0}) : c.in(k);
  };
  const Array a = matrix(0, "transA"), b = matrix(1, "transB");
  const Params params = {{"alpha", c.real("alpha", 1)}, {"beta", c.real("beta", 1)}};
  if (!c.has(2)) return {c.kernels().run("gemm", a.dtype, {&a, &b}, params)};
  const Array added = broadcast_to(c.in(2), {a.shape.at(0), b.shape.at(1)});
  return {c.kernels().run("gemm", a.dtype, {&a, &b, &added}, params)};
}

/// Vectors become a row or a column; the result loses that axis again.
Outputs matmul(const Call& c) {
  Array a = c.in(0), b = c.in(1);
  const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  if (row) a = reshaped(a, {1, a.shape[0]});
  if (column) b = reshaped(b, {b.shape[0], 1});
  Array y = c.matmul(a, b);
  Dims shape = y.shape;
  if (row) shape.erase(shape.end() - 2);
  if (column) shape.pop_back();
  return {reshaped(y, shape)};
}

Outputs conv(const Call& c) { return {convolve(c, c.in(0), c.in(1), c.find(2))}; }

}  // namespace

Adapters linear_adapters() { return {{"Gemm", gemm}, {"MatMul", matmul}, {"Conv", conv}}; }

}  // namespace mote::onnx
