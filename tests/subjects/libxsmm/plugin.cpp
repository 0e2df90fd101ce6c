// SPDX-License-Identifier: Apache-2.0
// libxsmm as a backend: small matrix products that are compiled on demand (f32, f64, and bf16 with
// sums in f32), copies of transposed matrices, f32 rounded to bf16. libxsmm's matrices are
// column-major.
#include <libxsmm.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "support/subject.h"

namespace mote::subject::xsmm {
namespace {

/// The extents and strides of a matrix without its data, so that one plan serves a stack of
/// matrices.
struct Layout {
  std::int64_t rows, cols, row_stride, col_stride;

  Layout transposed() const { return {cols, rows, col_stride, row_stride}; }
};

Layout layout_of(const Operand& operand) {
  const std::size_t row = operand.shape.size() - 2;
  return {operand.shape[row], operand.shape[row + 1], operand.strides[row],
          operand.strides[row + 1]};
}

/// Returns the distance between columns, if each column's elements are adjacent and columns do not
/// overlap.
std::optional<libxsmm_blasint> column_distance(const Layout& m) {
  if (m.rows > 1 && m.row_stride != 1) return {};
  const std::int64_t distance = m.cols > 1 ? m.col_stride : std::max<std::int64_t>(1, m.rows);
  if (distance < m.rows || distance < 1 || distance > std::numeric_limits<int>::max()) return {};
  return static_cast<libxsmm_blasint>(distance);
}

/// A column-major product y = a b: its compiled shape and leading dimensions.
struct Shape {
  libxsmm_blasint m, n, k, lda, ldb, ldy;
  int flags;
};

std::optional<Shape> by_columns(const Layout& a, const Layout& b, const Layout& y) {
  const auto lda = column_distance(a), ldy = column_distance(y);
  const auto ldb = column_distance(b), ldbt = column_distance(b.transposed());
  if (!lda || !ldy || (!ldb && !ldbt)) return {};
  return Shape{.m = static_cast<libxsmm_blasint>(y.rows),
               .n = static_cast<libxsmm_blasint>(y.cols),
               .k = static_cast<libxsmm_blasint>(a.cols),
               .lda = *lda,
               .ldb = ldb ? *ldb : *ldbt,
               .ldy = *ldy,
               .flags = ldb ? LIBXSMM_GEMM_FLAG_NONE : LIBXSMM_GEMM_FLAG_TRANS_B};
}

/// The product, or its transpose b^T a^T = y^T if that is column-major.
struct Product {
  Shape shape{};
  bool swapped = false;
};

Product product_of(const Operand& a, const Operand& b, const Operand& y) {
  const Layout la = layout_of(a), lb = layout_of(b), ly = layout_of(y);
  if (const auto shape = by_columns(la, lb, ly)) return {*shape, false};
  if (const auto shape = by_columns(lb.transposed(), la.transposed(), ly.transposed()))
    return {*shape, true};
  decline("strides that the compiled kernels do not have");
}

libxsmm_smmfunction compiled(const Shape& s, float beta) {
  constexpr float kOne = 1;
  return libxsmm_smmdispatch(s.m, s.n, s.k, &s.lda, &s.ldb, &s.ldy, &kOne, &beta, &s.flags,
                             nullptr);
}
libxsmm_dmmfunction compiled(const Shape& s, double beta) {
  constexpr double kOne = 1;
  return libxsmm_dmmdispatch(s.m, s.n, s.k, &s.lda, &s.ldb, &s.ldy, &kOne, &beta, &s.flags,
                             nullptr);
}

template <typename Visit>
void for_each_matrix(const Operand& y, const Visit& visit) {
  for (std::int64_t p = 0; p < y.shape[0]; ++p)
    for (std::int64_t q = 0; q < y.shape[1]; ++q) visit(p, q);
}

template <typename T>
T* matrix(const Operand& operand, std::int64_t p, std::int64_t q) {
  return at<T>(operand, p * operand.strides[0] + q * operand.strides[1]);
}

template <typename T>
Work product(const Operand& a, const Operand& b, const std::optional<Operand>& c,
             const Operand& y) {
  const Product product = product_of(a, b, y);
  const auto kernel = compiled(product.shape, c ? T{1} : T{0});
  if (kernel == nullptr) decline("libxsmm compiles no such kernel");
  return [=] {
    if (c && c->data != y.data) unpack(packed<T>(*c).data(), y);
    for_each_matrix(y, [&](std::int64_t p, std::int64_t q) {
      const T* first = matrix<const T>(product.swapped ? b : a, p, q);
      const T* second = matrix<const T>(product.swapped ? a : b, p, q);
      kernel(first, second, matrix<T>(y, p, q));
    });
  };
}

/// Converts a[M,K] to a first operand of bf16: two neighbours along K are adjacent, K is even.
std::vector<libxsmm_bfloat16> in_pairs(const libxsmm_bfloat16* a, const Layout& m) {
  const std::int64_t pairs = (m.cols + 1) / 2;
  std::vector<libxsmm_bfloat16> result(static_cast<std::size_t>(pairs * m.rows * 2), 0);
  for (std::int64_t k = 0; k < m.cols; ++k)
    for (std::int64_t row = 0; row < m.rows; ++row)
      result[static_cast<std::size_t>((k / 2 * m.rows + row) * 2 + k % 2)] =
          a[row * m.row_stride + k * m.col_stride];
  return result;
}

/// Converts b[K,N] to column-major, with an even number of rows.
std::vector<libxsmm_bfloat16> in_columns(const libxsmm_bfloat16* b, const Layout& m) {
  const std::int64_t rows = (m.rows + 1) / 2 * 2;
  std::vector<libxsmm_bfloat16> result(static_cast<std::size_t>(rows * m.cols), 0);
  for (std::int64_t col = 0; col < m.cols; ++col)
    for (std::int64_t row = 0; row < m.rows; ++row)
      result[static_cast<std::size_t>(col * rows + row)] =
          b[row * m.row_stride + col * m.col_stride];
  return result;
}

Work bf16_product(const Operand& a, const Operand& b, const Operand& y) {
  const Layout la = layout_of(a), lb = layout_of(b), ly = layout_of(y);
  const auto m = static_cast<libxsmm_blasint>(ly.rows), n = static_cast<libxsmm_blasint>(ly.cols);
  const auto k = static_cast<libxsmm_blasint>((la.cols + 1) / 2 * 2);
  constexpr int kFlags = LIBXSMM_GEMM_FLAG_VNNI_A;
  constexpr float kOne = 1, kZero = 0;
  const libxsmm_bmmfunction kernel =
      libxsmm_bmmdispatch(m, n, k, nullptr, nullptr, nullptr, &kOne, &kZero, &kFlags, nullptr);
  if (kernel == nullptr) decline("libxsmm compiles no such kernel");
  return [=] {
    std::vector<libxsmm_bfloat16> columns(static_cast<std::size_t>(ly.rows * ly.cols));
    for_each_matrix(y, [&](std::int64_t p, std::int64_t q) {
      const auto first = in_pairs(matrix<const libxsmm_bfloat16>(a, p, q), la);
      const auto second = in_columns(matrix<const libxsmm_bfloat16>(b, p, q), lb);
      kernel(first.data(), second.data(), columns.data());
      auto* to = matrix<libxsmm_bfloat16>(y, p, q);
      for (std::int64_t row = 0; row < ly.rows; ++row)
        for (std::int64_t col = 0; col < ly.cols; ++col)
          to[row * ly.row_stride + col * ly.col_stride] =
              columns[static_cast<std::size_t>(col * ly.rows + row)];
    });
  };
}

template <bool kBf16>
void need_dtypes(const Operand& y, const Operand& a, const Operand& b) {
  if (kBf16)
    need({DType::bf16}, {&y, &a, &b});
  else
    need({DType::f32, DType::f64}, {&y, &a, &b});
}

template <bool kBf16>
Work matmul(const Call& call) {
  const Operand y = call.output(0, 4);
  Operand a = call.input(0, 4), b = call.input(1, 4);
  need_dtypes<kBf16>(y, a, b);
  need_elements({&y, &a});
  a = broadcast(a, {y.shape[0], y.shape[1], a.shape[2], a.shape[3]});
  b = broadcast(b, {y.shape[0], y.shape[1], b.shape[2], b.shape[3]});
  if (kBf16) return bf16_product(a, b, y);
  return y.dtype == DType::f32 ? product<float>(a, b, {}, y) : product<double>(a, b, {}, y);
}

template <bool kBf16>
Work gemm(const Call& call) {
  const Operand a = call.input(0, 4), b = call.input(1, 4), y = call.output(0, 4);
  need_dtypes<kBf16>(y, a, b);
  need_elements({&y, &a});
  if (call.real("alpha", 1) != 1) decline("alpha is not 1");
  std::optional<Operand> c;
  if (call.has_input(2)) {
    const double beta = call.real("beta", 1);
    if (beta != 0 && beta != 1) decline("beta is neither 0 nor 1");
    if (beta == 1) c = call.input(2, 4);
  }
  if (kBf16) {
    if (c) decline("c in bf16 would be rounded before it is added");
    return bf16_product(a, b, y);
  }
  return y.dtype == DType::f32 ? product<float>(a, b, c, y) : product<double>(a, b, c, y);
}

/// Computes y = x^T, where both are row-major.
Work transpose(const Call& call) {
  const Operand x = call.input(0, 3), y = call.output(0, 3);
  need_elements({&y});
  const auto ldx = column_distance(layout_of(x).transposed());
  const auto ldy = column_distance(layout_of(y).transposed());
  if (!ldx || !ldy) decline("strides that libxsmm_otrans does not have");
  if (y.dtype != x.dtype) decline("dtypes differ");
  const auto bytes = static_cast<unsigned>(size_of(x.dtype));
  return [=] {
    for (std::int64_t batch = 0; batch < y.shape[0]; ++batch)
      libxsmm_otrans(at<char>(y, batch * y.strides[0] * bytes),
                     at<const char>(x, batch * x.strides[0] * bytes), bytes,
                     static_cast<libxsmm_blasint>(x.shape[2]),
                     static_cast<libxsmm_blasint>(x.shape[1]), *ldx, *ldy);
  };
}

Work to_bf16(const Call& call) {
  const Operand x = call.input(0, 4), y = call.output(0, 4);
  need({DType::f32}, {&x});
  need({DType::bf16}, {&y});
  need_elements({&y});
  const auto ldx = column_distance(layout_of(x).transposed());
  const auto ldy = column_distance(layout_of(y).transposed());
  if (!ldx || !ldy) decline("strides that the compiled kernels do not have");
  const libxsmm_meltwfunction_cvtfp32bf16 kernel = libxsmm_dispatch_meltw_cvtfp32bf16(
      static_cast<libxsmm_blasint>(x.shape[3]), static_cast<libxsmm_blasint>(x.shape[2]), &*ldx,
      &*ldy, LIBXSMM_DATATYPE_F32, LIBXSMM_DATATYPE_BF16);
  if (kernel == nullptr) decline("libxsmm compiles no such kernel");
  return [=] {
    for_each_matrix(y, [&](std::int64_t p, std::int64_t q) {
      const libxsmm_meltw_cvtfp32bf16_param param{matrix<const float>(x, p, q),
                                                  matrix<libxsmm_bfloat16>(y, p, q)};
      kernel(&param);
    });
  };
}

constexpr std::array kCToY = {mote_op_pair{.input = 2, .output = 0}};

constexpr std::array kKernels = {
    Kernel{"matmul", matmul<false>},
    Kernel{"gemm", gemm<false>, {.in_place = kCToY}},
    Kernel{"transpose", transpose},
    Kernel{"cast_bf16", to_bf16},
};

// The instruction for pairs of bf16 treats and gives denormals as 0.
constexpr Promise kBf16 = {.accumulator = MOTE_ACC_F32, .flushes_denormals = true};
constexpr std::array kBf16Kernels = {
    Kernel{"matmul", matmul<true>, kBf16},
    Kernel{"gemm", gemm<true>, kBf16},
};

}  // namespace
}  // namespace mote::subject::xsmm

extern "C" MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin* plugin) {
  using namespace mote::subject::xsmm;
  libxsmm_init();
  return mote::subject::offer(*plugin, LIBXSMM_VERSION,
                              {{"libxsmm", kKernels}, {"libxsmm_bf16", kBf16Kernels}});
}
