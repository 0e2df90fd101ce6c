// SPDX-License-Identifier: Apache-2.0
// gemm: y[M,N] = alpha a[M,K] b[K,N] + beta c[M,N], f32 or f64. Strides express transposition. beta
// = 0 never reads c; c may be y itself; K = 0 gives beta c.
#include <fmt/format.h>

#include <vector>

#include "kernels.h"
#include "matrix.h"

namespace mote::openblas {
namespace {

struct GemmPlan {
  Operand a, b, c, y;
  bool reads_c = false;
  double alpha = 1;
  double beta = 1;
};

template <typename T>
Matrix<T> matrix_of(const Operand& operand) {
  return {static_cast<T*>(operand.data), operand.shape[0], operand.shape[1], operand.strides[0],
          operand.strides[1]};
}

Check check_layout(const Operand& operand) {
  if (is_blas_layout(matrix_of<char>(operand))) return {};
  return unsupported(fmt::format(
      "{}: BLAS needs one unit stride and a leading dimension that covers it", operand.text()));
}

/// Checks a call in place, which is legal only if both have one layout: otherwise y would overwrite
/// elements of c that are still to be read.
Check check_in_place(const GemmPlan& plan) {
  if (plan.y.data == nullptr || plan.c.data != plan.y.data) return {};
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (plan.y.shape[axis] > 1 && plan.c.strides[axis] != plan.y.strides[axis])
      return invalid(fmt::format("c and y share memory in different layouts: {}, {}", plan.c.text(),
                                 plan.y.text()));
  return {};
}

Check read_operands(const mote_call& call, GemmPlan& plan) {
  if (auto no = check_counts(call, 2, 3, 1)) return no;
  if (auto no = check_param_names(call, {"alpha", "beta"})) return no;
  if (auto no = read_real(call, "alpha", plan.alpha)) return no;
  if (auto no = read_real(call, "beta", plan.beta)) return no;
  if (auto no = read_input(call, 0, "a", 2, 2, plan.a)) return no;
  if (auto no = read_input(call, 1, "b", 2, 2, plan.b)) return no;
  if (auto no = read_output(call, 0, "y", 2, 2, plan.y)) return no;
  if (auto no = check_dtypes({&plan.a, &plan.b, &plan.y}, {DType::f32, DType::f64})) return no;
  if (plan.a.shape[1] != plan.b.shape[0])
    return invalid(fmt::format("K of a and b differ: {} and {}", plan.a.shape[1], plan.b.shape[0]));
  return check_shape(plan.y, {plan.a.shape[0], plan.b.shape[1]});
}

Check make_plan(const mote_call& call, GemmPlan& plan) {
  if (auto no = read_operands(call, plan)) return no;
  if (has_input(call, 2)) {
    if (auto no = read_input(call, 2, "c", 2, 2, plan.c)) return no;
    if (auto no = check_dtypes({&plan.a, &plan.c}, {DType::f32, DType::f64})) return no;
    if (auto no = check_shape(plan.c, plan.y.shape)) return no;
    plan.reads_c = plan.beta != 0;
  }
  if (plan.reads_c)
    if (auto no = check_in_place(plan)) return no;
  if (auto no = check_extents({&plan.a, &plan.b})) return no;
  for (const Operand* operand : {&plan.a, &plan.b, &plan.y})
    if (auto no = check_layout(*operand)) return no;
  return {};
}

template <typename T>
void execute(const GemmPlan& plan) {
  const auto a = matrix_of<const T>(plan.a);
  const auto b = matrix_of<const T>(plan.b);
  const auto y = matrix_of<T>(plan.y);
  if (plan.reads_c) {
    const auto c = matrix_of<const T>(plan.c);
    for (std::int64_t m = 0; m < y.rows; ++m)
      for (std::int64_t n = 0; n < y.cols; ++n)
        y.at(m, n) = static_cast<T>(plan.beta * static_cast<double>(c.at(m, n)));
  }
  if (plan.alpha != 0) {
    multiply(static_cast<T>(plan.alpha), a, b, plan.reads_c, y);
    return;
  }
  // BLAS does not read a and b when alpha is 0, but 0 times their infinities and NaNs is NaN.
  std::vector<T> product(static_cast<std::size_t>(y.rows * y.cols));
  const Matrix<T> p{product.data(), y.rows, y.cols, y.cols, 1};
  multiply(T{1}, a, b, false, p);
  for (std::int64_t m = 0; m < y.rows; ++m)
    for (std::int64_t n = 0; n < y.cols; ++n)
      y.at(m, n) = T{0} * p.at(m, n) + (plan.reads_c ? y.at(m, n) : T{0});
}

}  // namespace

mote_status can_run_gemm(const mote_call* call) {
  return guarded(*call, [&]() -> Check {
    GemmPlan plan;
    return make_plan(*call, plan);
  });
}

mote_status run_gemm(const mote_call* call, void*) {
  return guarded(*call, [&]() -> Check {
    GemmPlan plan;
    if (auto no = make_plan(*call, plan)) return no;
    plan.y.dtype == DType::f32 ? execute<float>(plan) : execute<double>(plan);
    return {};
  });
}

}  // namespace mote::openblas
