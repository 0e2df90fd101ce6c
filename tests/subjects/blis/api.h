// SPDX-License-Identifier: Apache-2.0
// BLIS's typed functions, overloaded for float and double. A matrix is data, extents and two
// strides.
#pragma once

#include <blis.h>

namespace mote::subject::blis {

template <typename T>
struct Matrix {
  T* data;
  dim_t rows, cols;
  inc_t row_stride, col_stride;
};

constexpr trans_t kPlain = BLIS_NO_TRANSPOSE;
constexpr conj_t kReal = BLIS_NO_CONJUGATE;

inline void gemm(float alpha, Matrix<float> a, Matrix<float> b, float beta, Matrix<float> y) {
  bli_sgemm(kPlain, kPlain, y.rows, y.cols, a.cols, &alpha, a.data, a.row_stride, a.col_stride,
            b.data, b.row_stride, b.col_stride, &beta, y.data, y.row_stride, y.col_stride);
}
inline void gemm(double alpha, Matrix<double> a, Matrix<double> b, double beta, Matrix<double> y) {
  bli_dgemm(kPlain, kPlain, y.rows, y.cols, a.cols, &alpha, a.data, a.row_stride, a.col_stride,
            b.data, b.row_stride, b.col_stride, &beta, y.data, y.row_stride, y.col_stride);
}

/// Computes y = x, or its transpose.
inline void copy(trans_t trans, Matrix<float> x, Matrix<float> y) {
  bli_scopym(0, BLIS_NONUNIT_DIAG, BLIS_DENSE, trans, y.rows, y.cols, x.data, x.row_stride,
             x.col_stride, y.data, y.row_stride, y.col_stride);
}
inline void copy(trans_t trans, Matrix<double> x, Matrix<double> y) {
  bli_dcopym(0, BLIS_NONUNIT_DIAG, BLIS_DENSE, trans, y.rows, y.cols, x.data, x.row_stride,
             x.col_stride, y.data, y.row_stride, y.col_stride);
}

/// Computes y += x.
inline void add(Matrix<float> x, Matrix<float> y) {
  bli_saddm(0, BLIS_NONUNIT_DIAG, BLIS_DENSE, kPlain, y.rows, y.cols, x.data, x.row_stride,
            x.col_stride, y.data, y.row_stride, y.col_stride);
}
inline void add(Matrix<double> x, Matrix<double> y) {
  bli_daddm(0, BLIS_NONUNIT_DIAG, BLIS_DENSE, kPlain, y.rows, y.cols, x.data, x.row_stride,
            x.col_stride, y.data, y.row_stride, y.col_stride);
}

/// Computes y -= x.
inline void subtract(Matrix<float> x, Matrix<float> y) {
  bli_ssubm(0, BLIS_NONUNIT_DIAG, BLIS_DENSE, kPlain, y.rows, y.cols, x.data, x.row_stride,
            x.col_stride, y.data, y.row_stride, y.col_stride);
}
inline void subtract(Matrix<double> x, Matrix<double> y) {
  bli_dsubm(0, BLIS_NONUNIT_DIAG, BLIS_DENSE, kPlain, y.rows, y.cols, x.data, x.row_stride,
            x.col_stride, y.data, y.row_stride, y.col_stride);
}

/// Computes y = alpha x.
inline void scale(float alpha, Matrix<float> x, Matrix<float> y) {
  bli_sscal2m(0, BLIS_NONUNIT_DIAG, BLIS_DENSE, kPlain, y.rows, y.cols, &alpha, x.data,
              x.row_stride, x.col_stride, y.data, y.row_stride, y.col_stride);
}
inline void scale(double alpha, Matrix<double> x, Matrix<double> y) {
  bli_dscal2m(0, BLIS_NONUNIT_DIAG, BLIS_DENSE, kPlain, y.rows, y.cols, &alpha, x.data,
              x.row_stride, x.col_stride, y.data, y.row_stride, y.col_stride);
}

inline void cast(Matrix<float> x, Matrix<double> y) {
  bli_sdcastm(kPlain, y.rows, y.cols, x.data, x.row_stride, x.col_stride, y.data, y.row_stride,
              y.col_stride);
}
inline void cast(Matrix<double> x, Matrix<float> y) {
  bli_dscastm(kPlain, y.rows, y.cols, x.data, x.row_stride, x.col_stride, y.data, y.row_stride,
              y.col_stride);
}

template <typename T>
struct Vector {
  T* data;
  dim_t extent;
  inc_t stride;
};

inline void invert(Vector<float> x) { bli_sinvertv(x.extent, x.data, x.stride); }
inline void invert(Vector<double> x) { bli_dinvertv(x.extent, x.data, x.stride); }
inline void norm1(Vector<float> x, float* y) { bli_snorm1v(x.extent, x.data, x.stride, y); }
inline void norm1(Vector<double> x, double* y) { bli_dnorm1v(x.extent, x.data, x.stride, y); }
inline void norm2(Vector<float> x, float* y) { bli_snormfv(x.extent, x.data, x.stride, y); }
inline void norm2(Vector<double> x, double* y) { bli_dnormfv(x.extent, x.data, x.stride, y); }
inline void sumsq(Vector<float> x, float* y) {
  bli_sdotv(kReal, kReal, x.extent, x.data, x.stride, x.data, x.stride, y);
}
inline void sumsq(Vector<double> x, double* y) {
  bli_ddotv(kReal, kReal, x.extent, x.data, x.stride, x.data, x.stride, y);
}

}  // namespace mote::subject::blis
