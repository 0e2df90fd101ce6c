// SPDX-License-Identifier: Apache-2.0
// cuBLASLt, loaded at run time if it is installed: the calls that mote uses, as cublasLt.h of its
// versions 12 and 13 declares them, and one handle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cuda/driver.h"
#include "cuda/library.h"

namespace mote::cublas {

// These types are opaque: the library makes and destroys them.
struct Handle;
struct MatmulDesc;
struct Layout;
struct Preference;

// These are values of the header's enums.
constexpr int kSuccess = 0;
constexpr int kAllocFailed = 3;
constexpr int kArchMismatch = 8;
constexpr int kNotSupported = 15;
constexpr int kReal32 = 0;               // CUDA_R_32F
constexpr int kReal64 = 1;               // CUDA_R_64F
constexpr int kReal16 = 2;               // CUDA_R_16F
constexpr int kBrain16 = 14;             // CUDA_R_16BF
constexpr int kInteger8 = 3;             // CUDA_R_8I
constexpr int kInteger32 = 10;           // CUDA_R_32I
constexpr int kCompute32 = 68;           // CUBLAS_COMPUTE_32F
constexpr int kCompute64 = 70;           // CUBLAS_COMPUTE_64F
constexpr int kComputeInteger = 72;      // CUBLAS_COMPUTE_32I
constexpr int kComputeTf32 = 77;         // CUBLAS_COMPUTE_32F_FAST_TF32
constexpr int kTransposeA = 3;           // CUBLASLT_MATMUL_DESC_TRANSA
constexpr int kTransposeB = 4;           // CUBLASLT_MATMUL_DESC_TRANSB
constexpr int kBatchCount = 5;           // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
constexpr int kBatchStride = 6;          // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
constexpr int kMaxWorkspace = 1;         // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
constexpr int kReductionMask = 3;        // CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK
constexpr int kFirstAlignment = 5;       // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES; then B, C, D
constexpr int kReduceInComputeType = 2;  // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE

struct Algorithm {
  std::array<std::uint64_t, 8> data{};
};
struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace_bytes = 0;
  int state = kSuccess;
  float waves = 0;
  std::array<int, 4> reserved{};
};

struct LtCalls {
  int (*create)(Handle**) = nullptr;
  std::size_t (*version)() = nullptr;
  const char* (*status_name)(int) = nullptr;
  int (*create_matmul)(MatmulDesc**, int compute_type, int scale_type) = nullptr;
  int (*destroy_matmul)(MatmulDesc*) = nullptr;
  int (*set_matmul)(MatmulDesc*, int attribute, const void*, std::size_t) = nullptr;
  int (*create_layout)(Layout**, int type, std::uint64_t rows, std::uint64_t cols,
                       std::int64_t ld) = nullptr;
  int (*destroy_layout)(Layout*) = nullptr;
  int (*set_layout)(Layout*, int attribute, const void*, std::size_t) = nullptr;
  int (*create_preference)(Preference**) = nullptr;
  int (*destroy_preference)(Preference*) = nullptr;
  int (*set_preference)(Preference*, int attribute, const void*, std::size_t) = nullptr;
  int (*heuristic)(Handle*, MatmulDesc*, Layout* a, Layout* b, Layout* c, Layout* d, Preference*,
                   int requested, HeuristicResult*, int* returned) = nullptr;
  int (*matmul)(Handle*, MatmulDesc*, const void* alpha, const void* a, Layout*, const void* b,
                Layout*, const void* beta, const void* c, Layout*, void* d, Layout*,
                const Algorithm*, void* workspace, std::size_t, cuda::DriverStream*) = nullptr;
};

/// The library and its handle. NVIDIA allows several threads to use one handle of cuBLASLt, so
/// there is one for the process, made in the first GPU's context.
class Lt {
 public:
  /// Throws Error if the library is not installed, LibraryError if it makes no handle. The context
  /// must be current.
  static const Lt& open();
  /// Returns the library without a handle, which needs no GPU.
  static const Lt& library();

  const LtCalls& calls() const { return calls_; }
  Handle* handle() const { return handle_; }
  /// Throws LibraryError unless the status is 0; `call` is the call that returned it.
  void check(int status, const char* call) const;

 private:
  Lt();
  static Lt& only();
  cuda::Library library_;
  LtCalls calls_;
  Handle* handle_ = nullptr;
};

template <typename T>
using Owned = std::unique_ptr<T, int (*)(T*)>;

}  // namespace mote::cublas
