// SPDX-License-Identifier: Apache-2.0
// BLIS as a backend for f32 and f64: matrices are used in place, with their own row and column
// strides. The loops here run over the other axes, those before the last two.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "api.h"
#include "support/subject.h"

namespace mote::subject::blis {
namespace {

/// Checks strides: BLIS's documentation does not allow a stride of 0, by which an axis repeats.
/// Strides of axes of extent 1 have no effect, but BLIS refuses some values; it takes those set
/// here.
Operand matrices(Operand operand) {
  const std::size_t row = operand.shape.size() - 2;
  const std::size_t col = row + 1;
  for (const std::size_t axis : {row, col})
    if (operand.shape[axis] > 1 && operand.strides[axis] == 0)
      decline(operand.text() + " repeats elements");
  if (operand.shape[col] == 1)
    operand.strides[col] = std::abs(operand.shape[row] > 1 ? operand.strides[row] : 1) *
                           std::max<std::int64_t>(1, operand.shape[row]);
  if (operand.shape[row] == 1)
    operand.strides[row] =
        std::abs(operand.strides[col]) * std::max<std::int64_t>(1, operand.shape[col]);
  return operand;
}

template <typename T>
Matrix<T> matrix(const Operand& operand, std::int64_t p, std::int64_t q) {
  return {at<T>(operand, p * operand.strides[0] + q * operand.strides[1]), operand.shape[2],
          operand.shape[3], operand.strides[2], operand.strides[3]};
}

template <typename Visit>
void for_each_matrix(const Operand& y, const Visit& visit) {
  if (count(y) == 0) return;
  for (std::int64_t p = 0; p < y.shape[0]; ++p)
    for (std::int64_t q = 0; q < y.shape[1]; ++q) visit(p, q);
}

void copy_elements(const Matrix<float>& from, const Matrix<float>& to) {
  for (dim_t row = 0; row < from.rows; ++row)
    for (dim_t col = 0; col < from.cols; ++col) {
      const inc_t offset = row * from.row_stride + col * from.col_stride;
      to.data[offset] = from.data[offset];
    }
}

/// A copy of a matrix in the same layout, with readable memory after its end. Kernels of sgemm for
/// small matrices (version 0.9) load elements beyond the matrix, as docs/findings.md shows.
class Roomy {
 public:
  explicit Roomy(const Matrix<float>& m) : matrix_(m) {
    const auto reach = [](dim_t extent, inc_t stride) {
      return extent > 0 ? (extent - 1) * stride : 0;
    };
    const inc_t rows = reach(m.rows, m.row_stride), cols = reach(m.cols, m.col_stride);
    const inc_t first = std::min<inc_t>(0, rows) + std::min<inc_t>(0, cols);
    const inc_t last = std::max<inc_t>(0, rows) + std::max<inc_t>(0, cols);
    constexpr inc_t kSpare = 64;
    memory_.assign(static_cast<std::size_t>(last - first + 1 + 2 * kSpare), 0);
    matrix_.data = memory_.data() + kSpare - first;
    copy_elements(m, matrix_);
  }
  Matrix<float> operator*() const { return matrix_; }

 private:
  Matrix<float> matrix_;
  std::vector<float> memory_;
};

void safe_gemm(double alpha, Matrix<double> a, Matrix<double> b, double beta, Matrix<double> y) {
  gemm(alpha, a, b, beta, y);
}
void safe_gemm(float alpha, Matrix<float> a, Matrix<float> b, float beta, Matrix<float> y) {
  const Roomy result(y);
  gemm(alpha, *Roomy(a), *Roomy(b), beta, *result);
  copy_elements(*result, y);
}

/// Calls body with a value of the operand's dtype.
template <typename Body>
Work typed(const Operand& y, const Body& body) {
  if (y.dtype == DType::f32) return [body] { body(float{}); };
  return [body] { body(double{}); };
}

Work matmul(const Call& call) {
  Operand y = call.output(0, 4);
  Operand a = call.input(0, 4), b = call.input(1, 4);
  need({DType::f32, DType::f64}, {&y, &a, &b});
  a = matrices(broadcast(a, {y.shape[0], y.shape[1], a.shape[2], a.shape[3]}));
  b = matrices(broadcast(b, {y.shape[0], y.shape[1], b.shape[2], b.shape[3]}));
  y = matrices(y);
  return typed(y, [a, b, y]<typename T>(T) {
    for_each_matrix(y, [&](std::int64_t p, std::int64_t q) {
      safe_gemm(T{1}, matrix<T>(a, p, q), matrix<T>(b, p, q), T{0}, matrix<T>(y, p, q));
    });
  });
}

Work gemm_with_c(const Call& call) {
  const Operand a = matrices(call.input(0, 4)), b = matrices(call.input(1, 4));
  const Operand y = matrices(call.output(0, 4));
  need({DType::f32, DType::f64}, {&y, &a, &b});
  const double alpha = call.real("alpha", 1);
  if (alpha == 0) decline("alpha is 0: BLIS reads neither a nor b, whose NaN would show");
  const double beta = call.has_input(2) ? call.real("beta", 1) : 0;
  const Operand c = call.has_input(2) ? matrices(call.input(2, 4)) : y;
  return typed(y, [=]<typename T>(T) {
    if (count(y) == 0) return;
    const Matrix<T> to = matrix<T>(y, 0, 0);
    if (beta != 0 && c.data != y.data) copy(kPlain, matrix<T>(c, 0, 0), to);
    safe_gemm(static_cast<T>(alpha), matrix<T>(a, 0, 0), matrix<T>(b, 0, 0), static_cast<T>(beta),
              to);
  });
}

Work transpose(const Call& call) {
  const Operand x = matrices(call.input(0, 4)), y = matrices(call.output(0, 4));
  need({DType::f32, DType::f64}, {&y, &x});
  return typed(y, [x, y]<typename T>(T) {
    for_each_matrix(y, [&](std::int64_t p, std::int64_t q) {
      copy(BLIS_TRANSPOSE, matrix<T>(x, p, q), matrix<T>(y, p, q));
    });
  });
}

/// Computes y = a, then y += b or y -= b.
Work sum_or_difference(const Call& call) {
  const Operand y = matrices(call.output(0, 4));
  const Operand a = matrices(broadcast(call.input(0, 4), y.shape));
  const Operand b = matrices(broadcast(call.input(1, 4), y.shape));
  need({DType::f32, DType::f64}, {&y, &a, &b});
  const bool adds = call.op() == "add";
  return typed(y, [=]<typename T>(T) {
    for_each_matrix(y, [&](std::int64_t p, std::int64_t q) {
      const Matrix<T> to = matrix<T>(y, p, q);
      copy(kPlain, matrix<T>(a, p, q), to);
      adds ? add(matrix<T>(b, p, q), to) : subtract(matrix<T>(b, p, q), to);
    });
  });
}

Work negate(const Call& call) {
  const Operand x = matrices(call.input(0, 4)), y = matrices(call.output(0, 4));
  need({DType::f32, DType::f64}, {&y, &x});
  return typed(y, [x, y]<typename T>(T) {
    for_each_matrix(y, [&](std::int64_t p, std::int64_t q) {
      scale(T{-1}, matrix<T>(x, p, q), matrix<T>(y, p, q));
    });
  });
}

Work reciprocal(const Call& call) {
  const Operand x = matrices(call.input(0, 4)), y = matrices(call.output(0, 4));
  need({DType::f32, DType::f64}, {&y, &x});
  return typed(y, [x, y]<typename T>(T) {
    for_each_matrix(y, [&](std::int64_t p, std::int64_t q) {
      const Matrix<T> to = matrix<T>(y, p, q);
      copy(kPlain, matrix<T>(x, p, q), to);
      for (dim_t row = 0; row < to.rows; ++row)
        invert(Vector<T>{to.data + row * to.row_stride, to.cols, to.col_stride});
    });
  });
}

template <typename To, typename From>
Work cast_between(const Operand& x, const Operand& y) {
  return [x, y] {
    for_each_matrix(y, [&](std::int64_t p, std::int64_t q) {
      cast(matrix<From>(x, p, q), matrix<To>(y, p, q));
    });
  };
}

Work cast_op(const Call& call) {
  const Operand x = matrices(call.input(0, 4)), y = matrices(call.output(0, 4));
  if (y.dtype == DType::f64) {
    need({DType::f32}, {&x});
    return cast_between<double, float>(x, y);
  }
  need({DType::f64}, {&x});
  return cast_between<float, double>(x, y);
}

/// Computes a norm of x[r, :, c] for each r and c, where the middle axis is a vector.
Work norm(const Call& call) {
  const Operand x = call.input(0, 3), y = call.output(0, 2);
  need({DType::f32, DType::f64}, {&y, &x});
  if (x.shape[1] > 1 && x.strides[1] == 0) decline(x.text() + " repeats elements");
  const std::string op(call.op());
  return typed(y, [x, y, op]<typename T>(T) {
    for (std::int64_t r = 0; r < y.shape[0]; ++r)
      for (std::int64_t c = 0; c < y.shape[1]; ++c) {
        const Vector<T> v{at<T>(x, r * x.strides[0] + c * x.strides[2]), x.shape[1], x.strides[1]};
        T* to = at<T>(y, r * y.strides[0] + c * y.strides[1]);
        op == "norm1" ? norm1(v, to) : op == "norm2" ? norm2(v, to) : sumsq(v, to);
      }
  });
}

constexpr std::array kCToY = {mote_op_pair{.input = 2, .output = 0}};
constexpr std::array kXToY = {mote_op_pair{.input = 0, .output = 0}};

constexpr std::array kKernels = {
    Kernel{"matmul",
           matmul,
           {.ignores_nan = true}},  // in the last column NaN and infinities times 0 are 0
    Kernel{"gemm", gemm_with_c, {.in_place = kCToY, .ignores_nan = true}},
    Kernel{"transpose", transpose},
    Kernel{"add", sum_or_difference},
    Kernel{"sub", sum_or_difference},
    Kernel{"neg", negate, {.in_place = kXToY}},
    Kernel{"recip", reciprocal},
    Kernel{"cast_f32", cast_op},
    Kernel{"cast_f64", cast_op},
    Kernel{"norm1", norm},
    Kernel{"norm2", norm, {.ignores_nan = true}},  // infinities become NaN
    Kernel{"sumsq", norm},
};

}  // namespace
}  // namespace mote::subject::blis

extern "C" MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin* plugin) {
  return mote::subject::offer(*plugin, bli_info_get_version_str(),
                              {{"blis", mote::subject::blis::kKernels}});
}
