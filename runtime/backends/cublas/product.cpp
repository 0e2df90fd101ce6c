// SPDX-License-Identifier: Apache-2.0
// Products by cuBLASLt. Its matrices are columns: a row-major y is the transpose of one, and is
// computed as bᵀ aᵀ. Batches that one stride does not reach are separate calls.
#include "product.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "api.h"

namespace mote::cublas {
namespace {

using cuda::OnDevice;
using nvidia::decline;

/// The workspace that NVIDIA recommends on Hopper; an algorithm that needs more is not taken.
constexpr std::uint64_t kMaxWorkspaceBytes = std::uint64_t{32} << 20;
constexpr std::uint32_t kBestAlignment = 256;
/// The alignment of addresses, leading dimensions, m and k for 8-bit products.
constexpr std::int64_t kIntegerAlignment = 4;
/// The number of 8-bit products whose sum is always below 2^31.
constexpr std::int64_t kMaxIntegerTerms = ((std::int64_t{1} << 31) - 1) / (std::int64_t{128} * 128);

/// A stack as cuBLAS stores it: columns, or their transpose.
struct Stored {
  std::int64_t rows = 1, cols = 1, ld = 1;
  bool is_transposed = false;
};

/// True if elements of a column are adjacent and columns do not overlap, as far as the extents
/// show.
bool has_columns(const Stack& s) {
  return (s.rows == 1 || s.row_stride == 1) && (s.cols == 1 || s.col_stride >= s.rows);
}

Stored columns_of(const Stack& s) {
  return {s.rows, s.cols, s.cols == 1 ? s.rows : s.col_stride, false};
}

Stored stored(const Stack& s) {
  if (has_columns(s)) return columns_of(s);
  Stored other = columns_of(s.transposed());
  other.is_transposed = true;
  return other;
}

void require_layout(const Stack& s) {
  if (!has_columns(s) && !has_columns(s.transposed()))
    decline(s.tensor.text() +
            ": cuBLAS needs one unit stride and a leading dimension that covers it");
}

int type_of(DType dtype) {
  return dtype == DType::i8    ? kInteger8
         : dtype == DType::i32 ? kInteger32
         : dtype == DType::f32 ? kReal32
         : dtype == DType::f64 ? kReal64
         : dtype == DType::f16 ? kReal16
                               : kBrain16;
}

/// The types that sums are kept in and factors are passed as.
struct Computation {
  int compute, scale;
};
Computation computation_of(const Product& p) {
  if (p.d.tensor.dtype == DType::f64) return {kCompute64, kReal64};
  if (p.kind == nvidia::Kind::i8) return {kComputeInteger, kInteger32};
  return {p.kind == nvidia::Kind::tf32 ? kComputeTf32 : kCompute32, kReal32};
}

/// True if strides and extents suit cuBLASLt's 8-bit kernels: k adjacent in both operands (the form
/// "TN"), and columns that begin at multiples of 4.
bool has_layout_of_8_bits(const Product& p) {
  const Stack a = p.a.transposed();
  const auto by_4 = [](const Stack& s) {
    return columns_of(s).ld % kIntegerAlignment == 0 &&
           std::ranges::all_of(s.batch_stride,
                               [](std::int64_t b) { return b % kIntegerAlignment == 0; });
  };
  return has_columns(a) && has_columns(p.b) && has_columns(p.d) && by_4(a) && by_4(p.b) &&
         by_4(p.d) && p.d.rows % kIntegerAlignment == 0 && p.b.rows % kIntegerAlignment == 0;
}

/// The iteration over batches: `outer` calls, each of `inner` batches.
struct Walk {
  std::int64_t outer = 1, inner = 1;
  std::size_t outer_axis = 0, inner_axis = 1;
};

Walk walk_of(const Product& p) {
  const auto [P, Q] = p.d.batch;
  if (Q == 1) return {1, P, 1, 0};
  const auto reaches = [Q = Q](const Stack& s) {
    return s.batch_stride[0] == s.batch_stride[1] * Q;
  };
  const bool joined = P == 1 || (reaches(p.a) && reaches(p.b) && reaches(p.c) && reaches(p.d));
  return joined ? Walk{1, P * Q, 0, 1} : Walk{P, Q, 0, 1};
}

/// The descriptors of one call.
class Call {
 public:
  Call(const Product& p, const Walk& walk)
      : product_(p),
        walk_(walk),
        matmul_(nullptr, lt_.calls().destroy_matmul),
        a_(layout(p.a, stored(p.a))),
        b_(layout(p.b, stored(p.b))),
        c_(layout(p.c, columns_of(p.c))),
        d_(layout(p.d, columns_of(p.d))) {
    const Computation in = computation_of(p);
    MatmulDesc* made = nullptr;
    lt_.check(lt_.calls().create_matmul(&made, in.compute, in.scale), "cublasLtMatmulDescCreate");
    matmul_.reset(made);
    set_transpose(kTransposeA, stored(p.a).is_transposed);
    set_transpose(kTransposeB, stored(p.b).is_transposed);
  }

  /// Returns cuBLASLt's best algorithm within the workspace, for tensors with these alignments.
  HeuristicResult choose(std::uint64_t workspace, const std::array<std::uint32_t, 4>& alignments) {
    Preference* made = nullptr;
    lt_.check(lt_.calls().create_preference(&made), "cublasLtMatmulPreferenceCreate");
    const Owned<Preference> wanted(made, lt_.calls().destroy_preference);
    const auto set = [&](int attribute, const auto& value) {
      lt_.check(lt_.calls().set_preference(made, attribute, &value, sizeof(value)),
                "cublasLtMatmulPreferenceSetAttribute");
    };
    set(kMaxWorkspace, workspace);
    // Partial sums are combined in the compute type too: the contract's accumulator.
    set(kReductionMask, std::uint32_t{kReduceInComputeType});
    for (int k = 0; k < 4; ++k) set(kFirstAlignment + k, alignments[static_cast<std::size_t>(k)]);
    HeuristicResult best;
    int found = 0;
    lt_.check(lt_.calls().heuristic(lt_.handle(), matmul_.get(), a_.get(), b_.get(), c_.get(),
                                    d_.get(), made, 1, &best, &found),
              "cublasLtMatmulAlgoGetHeuristic");
    if (found < 1) decline("cuBLASLt has no algorithm for this product");
    lt_.check(best.state, "cublasLtMatmulAlgoGetHeuristic");
    return best;
  }

  /// Returns the workspace that suffices for the best algorithm for tensors that begin at multiples
  /// of 256, and for one for any addresses: the tensors' addresses are not known yet.
  std::size_t workspace_bytes() {
    const auto element = static_cast<std::uint32_t>(size_of(product_.d.tensor.dtype));  // 4 for 8
                                                                                        // bits
    const std::size_t anywhere =
        choose(kMaxWorkspaceBytes, {element, element, element, element}).workspace_bytes;
    return std::max(anywhere, choose(kMaxWorkspaceBytes, alignments({})).workspace_bytes);
  }

  void run(const OnDevice& at, std::size_t workspace_bytes) {
    const HeuristicResult best =
        choose(workspace_bytes, alignments({address(product_.a, at), address(product_.b, at),
                                            address(product_.c, at), address(product_.d, at)}));
    const Scalar alpha = scalar(product_.alpha);
    const Scalar beta = scalar(product_.beta);
    for (std::int64_t o = 0; o < walk_.outer; ++o)
      lt_.check(
          lt_.calls().matmul(lt_.handle(), matmul_.get(), &alpha, data(product_.a, at, o), a_.get(),
                             data(product_.b, at, o), b_.get(), &beta, data(product_.c, at, o),
                             c_.get(), data(product_.d, at, o), d_.get(), &best.algorithm,
                             at.workspace, workspace_bytes, at.stream),
          "cublasLtMatmul");
  }

 private:
  union Scalar {
    float narrow;
    double wide;
    std::int32_t integer;
  };
  Scalar scalar(double value) const {
    if (product_.d.tensor.dtype == DType::f64) return {.wide = value};
    if (product_.kind == nvidia::Kind::i8) return {.integer = static_cast<std::int32_t>(value)};
    return {.narrow = static_cast<float>(value)};
  }

  Owned<Layout> layout(const Stack& s, const Stored& as) const {
    Layout* made = nullptr;
    lt_.check(lt_.calls().create_layout(&made, type_of(s.tensor.dtype),
                                        static_cast<std::uint64_t>(as.rows),
                                        static_cast<std::uint64_t>(as.cols), as.ld),
              "cublasLtMatrixLayoutCreate");
    Owned<Layout> owned(made, lt_.calls().destroy_layout);
    const auto set = [&](int attribute, const auto& value) {
      lt_.check(lt_.calls().set_layout(made, attribute, &value, sizeof(value)),
                "cublasLtMatrixLayoutSetAttribute");
    };
    set(kBatchCount, static_cast<std::int32_t>(walk_.inner));
    set(kBatchStride, s.batch_stride[walk_.inner_axis]);
    return owned;
  }

  void set_transpose(int attribute, bool is_transposed) {
    const std::int32_t operation = is_transposed ? 1 : 0;  // CUBLAS_OP_T, CUBLAS_OP_N
    lt_.check(lt_.calls().set_matmul(matmul_.get(), attribute, &operation, sizeof(operation)),
              "cublasLtMatmulDescSetAttribute");
  }

  std::int64_t outer_bytes(const Stack& s) const {
    return walk_.outer == 1 ? 0
                            : s.batch_stride[walk_.outer_axis] *
                                  static_cast<std::int64_t>(size_of(s.tensor.dtype));
  }
  void* data(const Stack& s, const OnDevice& at, std::int64_t outer) const {
    return static_cast<char*>(at.data[s.tensor.slot]) + outer * outer_bytes(s);
  }
  static std::uintptr_t address(const Stack& s, const OnDevice& at) {
    return reinterpret_cast<std::uintptr_t>(at.data[s.tensor.slot]);
  }
  /// Returns the alignments of a, b, c and d at these addresses: the greatest power of two that
  /// divides the address of the first element in every call, at most 256.
  std::array<std::uint32_t, 4> alignments(const std::array<std::uintptr_t, 4>& addresses) const {
    const std::array<const Stack*, 4> stacks = {&product_.a, &product_.b, &product_.c, &product_.d};
    std::array<std::uint32_t, 4> all{};
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto bits =
          addresses[k] | static_cast<std::uintptr_t>(outer_bytes(*stacks[k])) | kBestAlignment;
      all[k] = static_cast<std::uint32_t>(bits & (~bits + 1));
    }
    return all;
  }

  const Lt& lt_ = Lt::open();
  Product product_;
  Walk walk_;
  Owned<MatmulDesc> matmul_;
  Owned<Layout> a_, b_, c_, d_;
};

/// Returns dᵀ = bᵀ aᵀ.
Product transposed(const Product& p) {
  return {p.b.transposed(),
          p.a.transposed(),
          p.c.transposed(),
          p.d.transposed(),
          p.alpha,
          p.beta,
          p.kind};
}

/// Returns the product or its transpose, the one whose d has adjacent columns.
Product in_columns(const Product& p) {
  if (p.kind == nvidia::Kind::i8) {
    if (p.a.cols > kMaxIntegerTerms) decline("sums of that number of products may exceed 32 bits");
    if (has_layout_of_8_bits(p)) return p;
    const Product other = transposed(p);
    if (!has_layout_of_8_bits(other))
      decline(
          "cuBLASLt multiplies 8 bits where the summed axis is adjacent in a and b, and it, y's "
          "adjacent axis and all other strides are multiples of 4");
    return other;
  }
  for (const Stack* s : {&p.a, &p.b, &p.c, &p.d}) require_layout(*s);
  const Product columns = has_columns(p.d) ? p : transposed(p);
  if (!has_columns(columns.c)) decline(columns.c.tensor.text() + " does not lie as y does");
  return columns;
}

}  // namespace

Stack Stack::transposed() const {
  Stack t = *this;
  std::swap(t.rows, t.cols);
  std::swap(t.row_stride, t.col_stride);
  return t;
}

Stack stack_of(const nvidia::Tensor& t) {
  Stack s{.tensor = t};
  const std::size_t rank = t.rank();
  for (std::size_t k = 0; k + 2 < rank; ++k) {
    s.batch.at(k) = t.dims[k];
    s.batch_stride.at(k) = t.dims[k] == 1 ? 0 : t.strides[k];
  }
  s.rows = t.dims[rank - 2];
  s.cols = t.dims[rank - 1];
  s.row_stride = t.strides[rank - 2];
  s.col_stride = t.strides[rank - 1];
  return s;
}

nvidia::Work work_of(const Product& product) {
  const Product p = in_columns(product);
  const Walk walk = walk_of(p);
  if (walk.inner > std::numeric_limits<std::int32_t>::max())
    decline("there are 2^31 batches or more");
  const auto call = std::make_shared<Call>(p, walk);
  const std::size_t bytes = call->workspace_bytes();
  return {bytes, [call, bytes](const OnDevice& at) { call->run(at, bytes); }};
}

}  // namespace mote::cublas
