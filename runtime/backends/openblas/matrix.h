// SPDX-License-Identifier: Apache-2.0
// Strided matrices and the one product that all kernels of this backend use. BLAS requires one unit
// stride and a leading dimension: callers refuse matrices without them first.
#pragma once

#include <cblas.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace mote::openblas {

/// Returns the element `distance` after the first; an empty tensor may have no data, and then no
/// elements.
template <typename T>
T* element(void* data, std::int64_t distance) {
  return data == nullptr ? nullptr : static_cast<T*>(data) + distance;
}

template <typename T>
struct Matrix {
  T* data;
  std::int64_t rows, cols;
  std::int64_t row_stride, col_stride;

  Matrix transposed() const { return {data, cols, rows, col_stride, row_stride}; }
  T& at(std::int64_t r, std::int64_t c) const { return data[r * row_stride + c * col_stride]; }
};

/// Returns the distance between rows of a row-major matrix; BLAS requires at least one row's length
/// even if there is no second row.
template <typename T>
std::int64_t leading_dimension(const Matrix<T>& m) {
  return m.rows <= 1 ? std::max<std::int64_t>(1, m.cols) : m.row_stride;
}

/// True if elements of a row are adjacent and rows do not overlap, as far as the extents show, and
/// the offset of the last element fits an int: OpenBLAS 0.3.21 computes some distances in 32 bits.
template <typename T>
bool is_row_major(const Matrix<T>& m) {
  constexpr std::int64_t kFarthest = std::numeric_limits<int>::max();
  const bool adjacent = m.cols <= 1 || m.col_stride == 1;
  const bool apart = m.rows <= 1 || m.row_stride >= std::max<std::int64_t>(1, m.cols);
  const bool near = m.rows <= 1 || m.row_stride <= (kFarthest - m.cols) / (m.rows - 1);
  return adjacent && apart && near && leading_dimension(m) <= kFarthest;
}

/// True if BLAS can take it as it is or transposed. A matrix without elements is never passed to
/// BLAS.
template <typename T>
bool is_blas_layout(const Matrix<T>& m) {
  return m.rows == 0 || m.cols == 0 || is_row_major(m) || is_row_major(m.transposed());
}

template <typename T>
void fill(const Matrix<T>& m, T value) {
  for (std::int64_t r = 0; r < m.rows; ++r)
    for (std::int64_t c = 0; c < m.cols; ++c) m.at(r, c) = value;
}

inline void blas_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha,
                      const float* a, int lda, const float* b, int ldb, float beta, float* y,
                      int ldy) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, y, ldy);
}
inline void blas_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha,
                      const double* a, int lda, const double* b, int ldb, double beta, double* y,
                      int ldy) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, y, ldy);
}

/// Computes y = alpha a b + (accumulate ? y : 0), for matrices that is_blas_layout accepts. Unless
/// it accumulates, y is not read.
template <typename T>
void multiply(T alpha, const Matrix<const T>& a, const Matrix<const T>& b, bool accumulate,
              const Matrix<T>& y) {
  if (y.rows == 0 || y.cols == 0) return;
  if (a.cols == 0) {
    if (!accumulate) fill(y, T{0});
    return;
  }
  if (!is_row_major(y))
    return multiply(alpha, b.transposed(), a.transposed(), accumulate, y.transposed());
  const bool a_plain = is_row_major(a);
  const bool b_plain = is_row_major(b);
  const auto lda = static_cast<int>(leading_dimension(a_plain ? a : a.transposed()));
  const auto ldb = static_cast<int>(leading_dimension(b_plain ? b : b.transposed()));
  blas_gemm(a_plain ? CblasNoTrans : CblasTrans, b_plain ? CblasNoTrans : CblasTrans,
            static_cast<int>(y.rows), static_cast<int>(y.cols), static_cast<int>(a.cols), alpha,
            a.data, lda, b.data, ldb, accumulate ? T{1} : T{0}, y.data,
            static_cast<int>(leading_dimension(y)));
}

}  // namespace mote::openblas
