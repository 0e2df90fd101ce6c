// SPDX-License-Identifier: Apache-2.0
// cuBLASLt as its manual describes it, over mote's own products: column-major matrices with leading
// dimensions, transposes, strided batches. What the manual forbids is CUBLAS_STATUS_INVALID_VALUE.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "cublas/api.h"
#include "fake_tensors.h"

namespace {

using fake::converted;
using fake::Dims;
using fake::DType;
using fake::In;
using fake::result;
using fake::Tensor;

namespace cublas = mote::cublas;  // which has names of the numbers

constexpr int kInvalidValue = 7;      // CUBLAS_STATUS_INVALID_VALUE
constexpr int kExecutionFailed = 13;  // CUBLAS_STATUS_EXECUTION_FAILED
/// The workspace that the fake's algorithm for any address asks for, so that the caller must
/// provide one, and that of the better one for tensors whose addresses 16 divides.
constexpr std::size_t kWorkspace = 1024;
constexpr std::size_t kWorkspaceOfTheBest = 4096;
constexpr std::uint32_t kAlignmentOfTheBest = 16;
constexpr std::uint64_t kAlgorithmMark = 0x6d6f7465;

struct Handle {};
struct MatmulDesc {
  int compute = 0, scale = 0;
  std::int32_t transpose_a = 0, transpose_b = 0;
};
struct Layout {
  int type = 0;
  std::uint64_t rows = 0, cols = 0;
  std::int64_t ld = 0;
  std::int32_t batches = 1;
  std::int64_t batch_stride = 0;
};
struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t reductions = 7;
  std::array<std::uint32_t, 4> alignments{256, 256, 256, 256};
};
struct Heuristic {
  std::array<std::uint64_t, 8> algorithm;
  std::size_t workspace;
  int state;
  float waves;
  std::array<int, 4> reserved;
};

/// The settings that the last product's algorithm asks for.
std::size_t last_workspace = 0;

int of_driver(int status) {
  return status == 0 ? 0 : status == fake::kOutOfMemory ? cublas::kAllocFailed : kExecutionFailed;
}

/// The values of cudaDataType_t.
const std::map<int, DType>& dtypes() {
  static const std::map<int, DType> all = {
      {cublas::kReal32, DType::f32},    {cublas::kReal64, DType::f64},
      {cublas::kReal16, DType::f16},    {cublas::kInteger8, DType::i8},
      {cublas::kInteger32, DType::i32}, {cublas::kBrain16, DType::bf16}};
  return all;
}

template <typename T>
int set(T& member, const void* value, std::size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return kInvalidValue;
  std::memcpy(&member, value, bytes);
  return of_driver(fake::counted());
}

/// The table of the manual: which types go with a compute type.
bool types_fit(const MatmulDesc& m, const Layout& a, const Layout& b, const Layout& c,
               const Layout& d) {
  if (m.compute == cublas::kComputeInteger)
    return m.scale == cublas::kInteger32 && a.type == cublas::kInteger8 &&
           b.type == cublas::kInteger8 && c.type == cublas::kInteger32 &&
           d.type == cublas::kInteger32;
  if (a.type != b.type || a.type != c.type || a.type != d.type) return false;
  if (m.compute == cublas::kCompute64)
    return m.scale == cublas::kReal64 && a.type == cublas::kReal64;
  if (m.compute == cublas::kComputeTf32)
    return m.scale == cublas::kReal32 && a.type == cublas::kReal32;
  return m.compute == cublas::kCompute32 && m.scale == cublas::kReal32 &&
         (a.type == cublas::kReal32 || a.type == cublas::kReal16 || a.type == cublas::kBrain16);
}

/// Rows and columns of op(X).
std::array<std::uint64_t, 2> shape(const Layout& x, std::int32_t transpose) {
  if (transpose != 0) return {x.cols, x.rows};
  return {x.rows, x.cols};
}

/// The manual wants products of 8 bits in regular order to have the form "TN" and multiples of 4.
bool integers_fit(const MatmulDesc& m, const Layout& a, const Layout& b, const Layout& c,
                  const Layout& d) {
  if (m.compute != cublas::kComputeInteger) return true;
  bool fits = m.transpose_a == 1 && m.transpose_b == 0 && d.rows % 4 == 0 && a.rows % 4 == 0;
  for (const Layout* x : {&a, &b, &c, &d})
    fits = fits && x->ld % 4 == 0 && (x->batches == 1 || x->batch_stride % 4 == 0);
  return fits;
}

int check_product(const MatmulDesc& m, const Layout& a, const Layout& b, const Layout& c,
                  const Layout& d) {
  const auto [am, ak] = shape(a, m.transpose_a);
  const auto [bk, bn] = shape(b, m.transpose_b);
  if (am != d.rows || bn != d.cols || ak != bk) return kInvalidValue;
  if (c.rows != d.rows || c.cols != d.cols) return kInvalidValue;
  for (const Layout* x : {&a, &b, &c, &d}) {
    if (x->ld < static_cast<std::int64_t>(x->rows) || x->rows == 0 || x->cols == 0)
      return kInvalidValue;
    if (x->batches != d.batches || x->batches < 1) return kInvalidValue;
  }
  return types_fit(m, a, b, c, d) && integers_fit(m, a, b, c, d) ? 0 : cublas::kNotSupported;
}

/// op(X) as [1, batch, rows, columns]: a matrix is column-major.
Tensor view(const Layout& x, In data, bool is_transposed = false) {
  const Dims dims = {1, x.batches, static_cast<std::int64_t>(x.rows),
                     static_cast<std::int64_t>(x.cols)};
  const Tensor all = fake::view(dtypes().at(x.type), dims, {1, x.batch_stride, 1, x.ld}, data);
  return is_transposed ? all.permute({0, 1, 3, 2}) : all;
}

/// D = alpha op(A) op(B) + beta C. Operands are rounded as far as the compute type allows; sums of
/// floats are floats.
void multiply(const MatmulDesc& m, const Tensor& a, const Tensor& b, const Tensor& c,
              const Tensor& d, double alpha, double beta) {
  std::vector<Tensor> operands = {converted(a), converted(b)};
  const bool is_wide = m.compute == cublas::kCompute64 || m.compute == cublas::kComputeInteger;
  for (Tensor& t : operands) {
    if (m.compute == cublas::kComputeTf32) t = fake::rounded_to_tf32(t);
    if (!is_wide) t = converted(t, DType::f32);
  }
  Tensor all = converted(result("matmul", operands));
  all = result("mul", {all, fake::filled({1}, alpha)});
  if (beta != 0) all = result("add", {all, result("mul", {converted(c), fake::filled({1}, beta)})});
  mote::copy(all, d);
}

}  // namespace

FAKE_EXPORT std::size_t cublasLtGetVersion() { return 990000; }
FAKE_EXPORT const char* cublasLtGetStatusName(int status) {
  switch (status) {
    case cublas::kAllocFailed:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case kInvalidValue:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case kExecutionFailed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case cublas::kNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}
FAKE_EXPORT int cublasLtCreate(Handle** handle) {
  if (const int status = fake::counted_in_context()) return of_driver(status);
  static Handle only;
  *handle = &only;
  return 0;
}

FAKE_EXPORT int cublasLtMatmulDescCreate(MatmulDesc** made, int compute, int scale) {
  if (const int status = fake::counted()) return of_driver(status);
  fake::make(made);
  (*made)->compute = compute;
  (*made)->scale = scale;
  return 0;
}
FAKE_EXPORT int cublasLtMatmulDescDestroy(MatmulDesc* made) {
  fake::unmake(made);
  return 0;
}
FAKE_EXPORT int cublasLtMatmulDescSetAttribute(MatmulDesc* m, int attribute, const void* value,
                                               std::size_t bytes) {
  if (attribute == cublas::kTransposeA) return set(m->transpose_a, value, bytes);
  if (attribute == cublas::kTransposeB) return set(m->transpose_b, value, bytes);
  return kInvalidValue;
}

FAKE_EXPORT int cublasLtMatrixLayoutCreate(Layout** made, int type, std::uint64_t rows,
                                           std::uint64_t cols, std::int64_t ld) {
  if (const int status = fake::counted()) return of_driver(status);
  fake::make(made);
  **made = {type, rows, cols, ld, 1, 0};
  return 0;
}
FAKE_EXPORT int cublasLtMatrixLayoutDestroy(Layout* made) {
  fake::unmake(made);
  return 0;
}
FAKE_EXPORT int cublasLtMatrixLayoutSetAttribute(Layout* l, int attribute, const void* value,
                                                 std::size_t bytes) {
  if (attribute == cublas::kBatchCount) return set(l->batches, value, bytes);
  if (attribute == cublas::kBatchStride) return set(l->batch_stride, value, bytes);
  return kInvalidValue;
}

FAKE_EXPORT int cublasLtMatmulPreferenceCreate(Preference** made) {
  if (const int status = fake::counted()) return of_driver(status);
  fake::make(made);
  return 0;
}
FAKE_EXPORT int cublasLtMatmulPreferenceDestroy(Preference* made) {
  fake::unmake(made);
  return 0;
}
FAKE_EXPORT int cublasLtMatmulPreferenceSetAttribute(Preference* p, int attribute,
                                                     const void* value, std::size_t bytes) {
  if (attribute == cublas::kMaxWorkspace) return set(p->workspace, value, bytes);
  if (attribute == cublas::kReductionMask) return set(p->reductions, value, bytes);
  const int operand = attribute - cublas::kFirstAlignment;
  if (operand >= 0 && operand < 4)
    return set(p->alignments.at(static_cast<std::size_t>(operand)), value, bytes);
  return kInvalidValue;
}

FAKE_EXPORT std::size_t fake_cublas_last_workspace() { return last_workspace; }

/// The algorithm notes the alignments that it was chosen for, and its workspace; the product holds
/// it to them.
FAKE_EXPORT int cublasLtMatmulAlgoGetHeuristic(Handle*, MatmulDesc* m, Layout* a, Layout* b,
                                               Layout* c, Layout* d, Preference* p, int requested,
                                               Heuristic* results, int* returned) {
  if (const int status = fake::counted_in_context()) return of_driver(status);
  *returned = 0;
  if (requested < 1) return kInvalidValue;
  if (const int status = check_product(*m, *a, *b, *c, *d)) return status;
  // Where sums in parts may be combined in another type, what would be chosen is of no use.
  if ((p->reductions & ~std::uint32_t{cublas::kReduceInComputeType}) != 0)
    return cublas::kNotSupported;
  if (p->workspace < kWorkspace) return cublas::kNotSupported;
  if (m->compute == cublas::kComputeInteger &&
      (p->alignments[0] % 4 != 0 || p->alignments[1] % 4 != 0))
    return cublas::kNotSupported;
  const bool is_best =
      p->workspace >= kWorkspaceOfTheBest && std::ranges::min(p->alignments) >= kAlignmentOfTheBest;
  const std::size_t bytes = is_best ? kWorkspaceOfTheBest : kWorkspace;
  *results = {{kAlgorithmMark, p->alignments[0], p->alignments[1], p->alignments[2],
               p->alignments[3], bytes, 0, 0},
              bytes,
              0,
              1.0F,
              {}};
  *returned = 1;
  return 0;
}

FAKE_EXPORT int cublasLtMatmul(Handle*, MatmulDesc* m, const void* alpha, const void* a, Layout* la,
                               const void* b, Layout* lb, const void* beta, const void* c,
                               Layout* lc, void* d, Layout* ld, const std::uint64_t* algorithm,
                               void* workspace, std::size_t workspace_bytes, void*) {
  if (const int status = fake::counted_in_context()) return of_driver(status);
  if (const int status = check_product(*m, *la, *lb, *lc, *ld)) return status;
  if (algorithm == nullptr || algorithm[0] != kAlgorithmMark || workspace_bytes < algorithm[5] ||
      !fake::is_workspace(workspace, workspace_bytes))
    return kInvalidValue;
  const std::array<const void*, 4> pointers = {a, b, c, d};
  for (std::size_t k = 0; k < 4; ++k)
    if (reinterpret_cast<std::uint64_t>(pointers[k]) % algorithm[k + 1] != 0) return kInvalidValue;
  last_workspace = algorithm[5];
  if (c == d && lc->ld != ld->ld) return kInvalidValue;
  if (!dtypes().contains(ld->type) || !dtypes().contains(la->type)) return cublas::kNotSupported;
  const DType type = dtypes().at(ld->type);
  const double times = fake::factor(alpha, type), plus = fake::factor(beta, type);
  // The manual allows no other factors of sums of integers.
  if (type == DType::i32 && ((times != 0 && times != 1) || (plus != 0 && plus != 1)))
    return kInvalidValue;
  try {
    multiply(*m, view(*la, a, m->transpose_a != 0), view(*lb, b, m->transpose_b != 0),
             view(*lc, plus == 0 ? d : c), view(*ld, d), times, plus);
  } catch (const std::runtime_error&) {
    return kExecutionFailed;
  }
  return 0;
}
