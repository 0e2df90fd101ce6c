// SPDX-License-Identifier: Apache-2.0
// Tests the parts of NVIDIA's own cuBLASLt that answer without a GPU: descriptors, and the names of
// statuses.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "cublas/api.h"

namespace mote::cublas {
namespace {

class CublasLibrary : public testing::Test {
 protected:
  void SetUp() override {
    try {
      calls_ = &Lt::library().calls();
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
  }
  const LtCalls* calls_ = nullptr;
};

TEST_F(CublasLibrary, TakesTheAttributesThatWeSet) {
  EXPECT_GE(calls_->version(), 120000U);
  for (const int type : {kReal32, kReal64, kReal16, kBrain16, kInteger8, kInteger32}) {
    Layout* layout = nullptr;
    ASSERT_EQ(calls_->create_layout(&layout, type, 3, 4, 5), kSuccess);
    const Owned<Layout> owned(layout, calls_->destroy_layout);
    const std::int32_t batches = 7;
    const std::int64_t stride = std::int64_t{1} << 40;
    EXPECT_EQ(calls_->set_layout(layout, kBatchCount, &batches, sizeof(batches)), kSuccess);
    EXPECT_EQ(calls_->set_layout(layout, kBatchStride, &stride, sizeof(stride)), kSuccess);
    EXPECT_NE(calls_->set_layout(layout, kBatchStride, &stride, sizeof(batches)), kSuccess)
        << "the library checks the sizes of attributes";
  }
  struct Computation {
    int compute, scale;
  };
  for (const auto [compute, scale] : {Computation{kCompute32, kReal32},
                                      {kCompute64, kReal64},
                                      {kComputeTf32, kReal32},
                                      {kComputeInteger, kInteger32}}) {
    MatmulDesc* matmul = nullptr;
    ASSERT_EQ(calls_->create_matmul(&matmul, compute, scale), kSuccess);
    const Owned<MatmulDesc> owned(matmul, calls_->destroy_matmul);
    const std::int32_t transposed = 1;
    for (const int which : {kTransposeA, kTransposeB})
      EXPECT_EQ(calls_->set_matmul(matmul, which, &transposed, sizeof(transposed)), kSuccess);
  }
  Preference* preference = nullptr;
  ASSERT_EQ(calls_->create_preference(&preference), kSuccess);
  const Owned<Preference> owned(preference, calls_->destroy_preference);
  const std::uint64_t bytes = 1 << 20;
  EXPECT_EQ(calls_->set_preference(preference, kMaxWorkspace, &bytes, sizeof(bytes)), kSuccess);
  const std::uint32_t word = kReduceInComputeType;
  EXPECT_EQ(calls_->set_preference(preference, kReductionMask, &word, sizeof(word)), kSuccess);
  for (int k = 0; k < 4; ++k)
    EXPECT_EQ(calls_->set_preference(preference, kFirstAlignment + k, &word, sizeof(word)),
              kSuccess);
}

TEST_F(CublasLibrary, ErrorsAreNamed) {
  try {
    Lt::library().check(kNotSupported, "cublasLtMatmul");
    FAIL() << "no error";
  } catch (const cuda::LibraryError& e) {
    EXPECT_EQ(std::string(e.what()), "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED (15)");
    EXPECT_EQ(e.kind(), cuda::Failure::unsupported);
  }
}

}  // namespace
}  // namespace mote::cublas
