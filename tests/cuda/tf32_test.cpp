// SPDX-License-Identifier: Apache-2.0
// Tests that the tf32 backend keeps its contract, which declares the rounding of operands, and
// fails a contract without it. Tests the list of its ops too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda/catalogue_kernels.h"
#include "mote/base/plugin.h"
#include "mote/oracle/run.h"

namespace mote {
namespace {

const mote_backend& backend_of(const Plugin& plugin, std::string_view name) {
  const auto has_name = [&](const mote_backend* b) { return b->name == name; };
  return **std::ranges::find_if(plugin.backends, has_name);
}

/// Returns the oracle's verdict on the backend's kernel for the case, by another contract if one is
/// given.
Outcome outcome_of(const std::string& line, const mote_contract* contract = nullptr) {
  setenv("MOTE_CACHE", MOTE_CUDA_CACHE, 1);
  static const Plugin plugin = load_plugin(MOTE_CUDA_HOST_PLUGIN);
  mote_backend backend = backend_of(plugin, "cuda_host_tf32");
  const std::string op = line.substr(0, line.find(' '));
  std::vector<mote_kernel> kernels;
  for (std::int32_t k = 0; k < backend.kernel_count; ++k)
    if (kernel_at(backend, k).op == op) kernels.push_back(kernel_at(backend, k));
  if (contract != nullptr)
    for (mote_kernel& kernel : kernels) kernel.contract = contract;
  backend.kernels = kernels.data();
  backend.kernel_count = static_cast<std::int32_t>(kernels.size());
  return Prepared(parse_case(line)).run(backend);
}

const mote_contract& declared() {
  static const Plugin plugin = load_plugin(MOTE_CUDA_HOST_PLUGIN);
  return *kernel_at(backend_of(plugin, "cuda_host_tf32"), 0).contract;
}

TEST(CudaTf32, DeclaresWhatItRounds) {
  EXPECT_EQ(declared().multiply_rounding, 11);
  ASSERT_GT(declared().function_count, 0);
  const mote_accuracy& last = declared().functions[declared().function_count - 1];
  EXPECT_STREQ(last.function, "dot");
  EXPECT_EQ(last.ulp, 2);
}

/// The unrounded contract fails even with the sums of tensor cores declared, since that of f32 is
/// stricter.
TEST(CudaTf32, KeepsItsContractAndNoneThatRoundsNothing) {
  mote_contract unrounded = declared();
  unrounded.multiply_rounding = 0;
  for (const char* line : {"matmul a=f32[1,1,40,24] b=f32[1,1,24,36] fill=uniform:1",
                           "gemm a=f32[33,20]:t b=f32[20,34] c=f32[33,34] fill=uniform:2",
                           "conv2d x=f32[1,3,9,7] w=f32[40,3,3,3] pads=1,1,1,1 fill=uniform:3"}) {
    EXPECT_EQ(outcome_of(line).verdict, Verdict::passed) << line;
    EXPECT_EQ(outcome_of(line, &unrounded).verdict, Verdict::failed) << line;
  }
}

TEST(CudaTf32, HasNoOtherOpsAndDtypes) {
  EXPECT_EQ(outcome_of("relu x=f32[1,1,1,2] fill=uniform:1").verdict, Verdict::declined);
  EXPECT_EQ(outcome_of("matmul a=f64[33,2] b=f64[2,33] fill=uniform:1").verdict, Verdict::declined);
  EXPECT_EQ(outcome_of("rms_norm x=f32[33,40] gamma=f32[40] fill=uniform:1").verdict,
            Verdict::declined);
}

/// The question that reads only the definition leaves out no op with tf32 kernels.
TEST(CudaTf32, EveryOpThatHasItIsOffered) {
  std::vector<std::string> offered;
  for (const OpRecord* record : generated_ops()) {
    const bool has = std::ranges::any_of(cuda::instances_of(record->name), [](const auto& one) {
      return one->has(cuda::Variant::tf32);
    });
    EXPECT_TRUE(!has || cuda::may_have_tf32(*record)) << record->name;
    if (has) offered.push_back(record->name);
  }
  std::ranges::sort(offered);
  EXPECT_EQ(offered, (std::vector<std::string>{"attention",
                                               "attention.grad",
                                               "attention_softcap",
                                               "attention_softcap_with_lse",
                                               "attention_with_lse",
                                               "conv1d",
                                               "conv1d.grad",
                                               "conv2d",
                                               "conv2d.grad",
                                               "conv2d.grad.grad",
                                               "conv2d_relu",
                                               "conv2d_relu.grad",
                                               "conv3d",
                                               "conv3d.grad",
                                               "conv_transpose2d",
                                               "conv_transpose2d.grad",
                                               "gemm",
                                               "matmul",
                                               "matmul.grad",
                                               "matmul.grad.grad"}));
}

}  // namespace
}  // namespace mote
