// SPDX-License-Identifier: Apache-2.0
// matmul: y[P,Q,M,N] = a[P,Q,M,K] b[P,Q,K,N] for each batch (p, q), f32 or f64. Ranks are 2 to 4;
// missing batch axes count as 1; an axis of extent 1 repeats, as in NumPy. It iterates over batches
// by strides, with one BLAS call each.
#include <fmt/format.h>

#include <array>

#include "kernels.h"
#include "matrix.h"

namespace mote::openblas {
namespace {

/// A stack of matrices: the batch axes P and Q, then rows and columns.
struct Stack {
  Operand operand;
  std::array<std::int64_t, 2> extent{1, 1};
  std::array<std::int64_t, 2> stride{0, 0};  ///< 0 if the axis repeats

  template <typename T>
  Matrix<T> matrix(std::int64_t p, std::int64_t q) const {
    const std::size_t rank = operand.shape.size();
    return {element<T>(operand.data, p * stride[0] + q * stride[1]), operand.shape[rank - 2],
            operand.shape[rank - 1], operand.strides[rank - 2], operand.strides[rank - 1]};
  }
};

struct MatmulPlan {
  Stack a, b, y;
};

void split_batch(Stack& stack) {
  const std::size_t batch_axes = stack.operand.shape.size() - 2;
  for (std::size_t axis = 0; axis < batch_axes; ++axis) {
    const std::size_t slot = axis + 2 - batch_axes;
    stack.extent[slot] = stack.operand.shape[axis];
    stack.stride[slot] = stack.extent[slot] == 1 ? 0 : stack.operand.strides[axis];
  }
}

Check check_layout(const Stack& stack) {
  if (is_blas_layout(stack.matrix<char>(0, 0))) return {};
  return unsupported(
      fmt::format("{}: BLAS needs one unit stride in the last two axes and a leading dimension "
                  "that covers it",
                  stack.operand.text()));
}

Check check_batch(const MatmulPlan& plan) {
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const std::int64_t a = plan.a.extent[slot];
    const std::int64_t b = plan.b.extent[slot];
    if (a != b && a != 1 && b != 1)
      return invalid(fmt::format("batch axes of a and b differ: {} and {}", a, b));
    const std::int64_t expected = a == 1 ? b : a;
    if (plan.y.extent[slot] != expected)
      return invalid(
          fmt::format("a batch axis of y is {}, expected {}", plan.y.extent[slot], expected));
  }
  return {};
}

Check make_plan(const mote_call& call, MatmulPlan& plan) {
  if (auto no = check_counts(call, 2, 2, 1)) return no;
  if (auto no = check_param_names(call, {})) return no;
  if (auto no = read_input(call, 0, "a", 2, 4, plan.a.operand)) return no;
  if (auto no = read_input(call, 1, "b", 2, 4, plan.b.operand)) return no;
  if (auto no = read_output(call, 0, "y", 2, 4, plan.y.operand)) return no;
  if (auto no = check_dtypes({&plan.a.operand, &plan.b.operand, &plan.y.operand},
                             {DType::f32, DType::f64}))
    return no;
  for (Stack* stack : {&plan.a, &plan.b, &plan.y}) split_batch(*stack);
  if (auto no = check_batch(plan)) return no;

  const auto a = plan.a.matrix<char>(0, 0);
  const auto b = plan.b.matrix<char>(0, 0);
  const auto y = plan.y.matrix<char>(0, 0);
  if (a.cols != b.rows)
    return invalid(fmt::format("K of a and b differ: {} and {}", a.cols, b.rows));
  if (y.rows != a.rows || y.cols != b.cols)
    return invalid(fmt::format("the last axes of y are {},{}, expected {},{}", y.rows, y.cols,
                               a.rows, b.cols));
  if (auto no = check_extents({&plan.a.operand, &plan.b.operand})) return no;
  for (const Stack* stack : {&plan.a, &plan.b, &plan.y})
    if (auto no = check_layout(*stack)) return no;
  return {};
}

template <typename T>
void execute(const MatmulPlan& plan) {
  for (std::int64_t p = 0; p < plan.y.extent[0]; ++p)
    for (std::int64_t q = 0; q < plan.y.extent[1]; ++q)
      multiply(T{1}, plan.a.matrix<const T>(p, q), plan.b.matrix<const T>(p, q), false,
               plan.y.matrix<T>(p, q));
}

}  // namespace

mote_status can_run_matmul(const mote_call* call) {
  return guarded(*call, [&]() -> Check {
    MatmulPlan plan;
    return make_plan(*call, plan);
  });
}

mote_status run_matmul(const mote_call* call, void*) {
  return guarded(*call, [&]() -> Check {
    MatmulPlan plan;
    if (auto no = make_plan(*call, plan)) return no;
    plan.y.operand.dtype == DType::f32 ? execute<float>(plan) : execute<double>(plan);
    return {};
  });
}

}  // namespace mote::openblas
