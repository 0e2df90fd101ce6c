// SPDX-License-Identifier: Apache-2.0
// Compares the calls of cuBLASLt as mote declares them with cublasLt.h of a toolkit: arguments of
// the same kinds and sizes, and the same constants.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "alike.h"
#include "cublas/api.h"

namespace mote::cublas {
namespace {

#define LIKE(ours, theirs) static_assert(test::are_alike(LtCalls().ours, decltype (&(theirs))()))

LIKE(create, cublasLtCreate);
LIKE(version, cublasLtGetVersion);
LIKE(status_name, cublasLtGetStatusName);
LIKE(create_matmul, cublasLtMatmulDescCreate);
LIKE(destroy_matmul, cublasLtMatmulDescDestroy);
LIKE(set_matmul, cublasLtMatmulDescSetAttribute);
LIKE(create_layout, cublasLtMatrixLayoutCreate);
LIKE(destroy_layout, cublasLtMatrixLayoutDestroy);
LIKE(set_layout, cublasLtMatrixLayoutSetAttribute);
LIKE(create_preference, cublasLtMatmulPreferenceCreate);
LIKE(destroy_preference, cublasLtMatmulPreferenceDestroy);
LIKE(set_preference, cublasLtMatmulPreferenceSetAttribute);
LIKE(heuristic, cublasLtMatmulAlgoGetHeuristic);
LIKE(matmul, cublasLtMatmul);

#undef LIKE

static_assert(kSuccess == CUBLAS_STATUS_SUCCESS && kAllocFailed == CUBLAS_STATUS_ALLOC_FAILED);
static_assert(kArchMismatch == CUBLAS_STATUS_ARCH_MISMATCH);
static_assert(kNotSupported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(kReal32 == CUDA_R_32F && kReal64 == CUDA_R_64F);
static_assert(kReal16 == CUDA_R_16F && kBrain16 == CUDA_R_16BF);
static_assert(kInteger8 == CUDA_R_8I && kInteger32 == CUDA_R_32I);
static_assert(kComputeInteger == CUBLAS_COMPUTE_32I);
static_assert(kCompute32 == CUBLAS_COMPUTE_32F && kCompute64 == CUBLAS_COMPUTE_64F);
static_assert(kComputeTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(kTransposeA == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(kTransposeB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1);
static_assert(kBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(kBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(kMaxWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(kReductionMask == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
static_assert(kFirstAlignment == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(kFirstAlignment + 3 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(kReduceInComputeType == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(HeuristicResult, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(HeuristicResult, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

}  // namespace
}  // namespace mote::cublas
