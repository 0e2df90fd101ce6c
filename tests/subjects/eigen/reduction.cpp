// SPDX-License-Identifier: Apache-2.0
// Reductions of x[R, N, C] along N: each row is a map with a stride, or without one if elements are
// adjacent, for which Eigen has other code.
#include "array.h"
#include "kernels.h"

namespace mote::subject::eigen {
namespace {

template <typename T>
using Adjacent = Eigen::Map<const Line<T>>;
template <typename T>
using Strided = Eigen::Map<const Line<T>, Eigen::Unaligned, Eigen::InnerStride<>>;

/// Calls visit(row of x, r, c), with the row as a map of either kind.
template <typename T, typename Visit>
void for_each_row(const Operand& x, const Visit& visit) {
  for (std::int64_t r = 0; r < x.shape[0]; ++r)
    for (std::int64_t c = 0; c < x.shape[2]; ++c) {
      const T* data = at<const T>(x, r * x.strides[0] + c * x.strides[2]);
      if (x.strides[1] == 1)
        visit(Adjacent<T>(data, x.shape[1]), r, c);
      else
        visit(Strided<T>(data, x.shape[1], Eigen::InnerStride<>(x.strides[1])), r, c);
    }
}

template <typename T, typename Row>
T reduced(std::string_view op, const Row& row) {
  if (op == "sum") return row.sum();
  if (op == "mean") return row.mean();
  if (op == "prod") return row.prod();
  if (op == "norm1") return row.matrix().template lpNorm<1>();
  if (op == "norm2") return row.matrix().norm();
  if (op == "sumsq") return row.matrix().squaredNorm();
  if (op == "reduce_max") return row.template maxCoeff<Eigen::PropagateNaN>();
  return row.template minCoeff<Eigen::PropagateNaN>();
}

template <typename T>
T& element(const Operand& y, std::int64_t r, std::int64_t c) {
  return *at<T>(y, r * y.strides[0] + c * y.strides[1]);
}

/// Returns the elements of y at the positions of a row of x.
template <typename T>
Eigen::Map<Line<T>, Eigen::Unaligned, Eigen::InnerStride<>> row_of(const Operand& y, std::int64_t r,
                                                                   std::int64_t c) {
  return {at<T>(y, r * y.strides[0] + c * y.strides[2]), y.shape[1],
          Eigen::InnerStride<>(y.strides[1])};
}

template <typename T, typename Row, typename To>
void normalised(std::string_view op, const Row& row, To y) {
  const T greatest = row.template maxCoeff<Eigen::PropagateNaN>();
  if (op == "softmax") {
    y = (row - greatest).exp();
    y /= y.sum();
  } else {
    const T sum = (row - greatest).exp().sum();
    y = row - greatest - std::log(sum);
  }
}

/// Calls work(row, r, c) with a type of f32 or f64 for each row of x.
template <typename F>
Work by_rows(const Operand& x, F work) {
  return of_real(x, [=]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>)
      for_each_row<T>(x, [&](const auto& row, std::int64_t r, std::int64_t c) {
        work.template operator()<T>(row, r, c);
      });
  });
}

}  // namespace

Work reduction(const Call& call) {
  const Operand x = call.input(0, 3), y = call.output(0, 2);
  need(kFloats, {&x, &y});
  need_elements({&x});
  const std::string op(call.op());
  return by_rows(x, [=]<typename T>(const auto& row, std::int64_t r, std::int64_t c) {
    element<T>(y, r, c) = reduced<T>(op, row);
  });
}

Work position(const Call& call) {
  const Operand x = call.input(0, 3), y = call.output(0, 2);
  need(kFloats, {&x});
  need_elements({&x});
  if (call.integer("last", 0) != 0) decline("the last of equals");
  const bool greatest = call.op() == "argmax";
  return by_rows(x, [=]<typename T>(const auto& row, std::int64_t r, std::int64_t c) {
    Eigen::Index k = 0;
    greatest ? row.template maxCoeff<Eigen::PropagateNaN>(&k)
             : row.template minCoeff<Eigen::PropagateNaN>(&k);
    element<std::int64_t>(y, r, c) = k;
  });
}

Work along_axis(const Call& call) {
  const Operand x = call.input(0, 3), y = call.output(0, 3);
  need(kFloats, {&x, &y});
  need_elements({&x});
  const std::string op(call.op());
  return by_rows(x, [=]<typename T>(const auto& row, std::int64_t r, std::int64_t c) {
    normalised<T>(op, row, row_of<T>(y, r, c));
  });
}

}  // namespace mote::subject::eigen
