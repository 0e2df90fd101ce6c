// SPDX-License-Identifier: Apache-2.0
// Matrix products on maps with the operands' own strides.
#include "array.h"
#include "kernels.h"

namespace mote::subject::eigen {
namespace {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using AnyStride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
template <typename T>
using AnyMap = Eigen::Map<T, Eigen::Unaligned, AnyStride>;
template <typename T>
using RowMap = Eigen::Map<T, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Calls visit(map) with the matrix at batch (p, q); the map has adjacent elements in a row if
/// possible.
template <typename M, typename T, typename Visit>
void with_matrix(const Operand& x, std::int64_t p, std::int64_t q, const Visit& visit) {
  T* data = at<T>(x, p * x.strides[0] + q * x.strides[1]);
  if (x.strides[3] == 1 && x.strides[2] >= x.shape[3])
    visit(RowMap<M>(data, x.shape[2], x.shape[3], Eigen::OuterStride<>(x.strides[2])));
  else
    visit(AnyMap<M>(data, x.shape[2], x.shape[3], AnyStride(x.strides[2], x.strides[3])));
}

/// Calls visit(a, b, y) for each batch.
template <typename T, typename Visit>
void for_each_product(const Operand& a, const Operand& b, const Operand& y, const Visit& visit) {
  for (std::int64_t p = 0; p < y.shape[0]; ++p)
    for (std::int64_t q = 0; q < y.shape[1]; ++q)
      with_matrix<const Matrix<T>, const T>(a, p, q, [&](const auto& am) {
        with_matrix<const Matrix<T>, const T>(b, p, q, [&](const auto& bm) {
          with_matrix<Matrix<T>, T>(y, p, q, [&](auto ym) { visit(am, bm, ym); });
        });
      });
}

}  // namespace

Work matmul(const Call& call) {
  const Operand y = call.output(0, 4);
  Operand a = call.input(0, 4), b = call.input(1, 4);
  a = broadcast(a, {y.shape[0], y.shape[1], a.shape[2], a.shape[3]});
  b = broadcast(b, {y.shape[0], y.shape[1], b.shape[2], b.shape[3]});
  need(kFloats, {&a, &b, &y});
  return of_real(y, [=]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>)
      for_each_product<T>(a, b, y,
                          [](const auto& am, const auto& bm, auto& ym) { ym.noalias() = am * bm; });
  });
}

Work gemm(const Call& call) {
  const Operand a = call.input(0, 4), b = call.input(1, 4), y = call.output(0, 4);
  need(kFloats, {&a, &b, &y});
  const double alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  const bool reads_c = call.has_input(2) && beta != 0;
  const Operand c = reads_c ? call.input(2, 4) : y;
  return of_real(y, [=]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>)
      for_each_product<T>(a, b, y, [&](const auto& am, const auto& bm, auto& ym) {
        const auto factor = static_cast<T>(alpha);
        if (!reads_c) {
          ym.noalias() = factor * (am * bm);
          return;
        }
        with_matrix<const Matrix<T>, const T>(
            c, 0, 0, [&](const auto& cm) { ym = static_cast<T>(beta) * cm; });
        ym.noalias() += factor * (am * bm);
      });
  });
}

}  // namespace mote::subject::eigen
