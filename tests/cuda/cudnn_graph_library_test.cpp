// SPDX-License-Identifier: Apache-2.0
// Asks NVIDIA's own cuDNN, without a GPU, for engines of mote's graphs of norms.
#include "cudnn/graph_norms.h"
#include "described_gpu.h"

namespace mote::cudnn {
namespace {

struct NormCase {
  int mode;
  std::vector<std::int64_t> dims;
  bool gamma, beta, statistics;
};
std::string answer_of(const NormCase& c, DType dtype) {
  return answer(
      [&] {
        const Tensor x = packed(c.dims, dtype), vector = packed({1, c.dims[1], 1, 1}, dtype);
        const Tensor statistic = packed({c.dims[0], 1, 1, 1}, DType::f32);
        NormCall norm{.mode = c.mode, .x = x, .y = x, .eps = 1e-5};
        if (c.gamma) norm.gamma = vector;
        if (c.beta) norm.beta = vector;
        if (c.statistics) norm.statistics = {statistic, statistic};
        return graph_of(norm);
      },
      kind_for(dtype));
}

TEST_F(CudnnGraphLibrary, HasEnginesForTheNormsThatWeAskFor) {
  const std::vector<NormCase> cases = {{kLayerNorm, {12, 64, 1, 1}, true, true, false},
                                       {kLayerNorm, {12, 64, 1, 1}, true, false, false},
                                       {kLayerNorm, {12, 64, 1, 1}, false, false, false},
                                       {kLayerNorm, {12, 64, 1, 1}, true, true, true},
                                       {kLayerNorm, {3, 7, 1, 1}, true, true, false},
                                       {kLayerNorm, {1, 1, 1, 1}, false, false, false},
                                       {kRmsNorm, {12, 64, 1, 1}, true, false, false},
                                       {kRmsNorm, {3, 7, 1, 1}, false, false, false},
                                       {kInstanceNorm, {2, 6, 10, 1}, true, true, false},
                                       {kInstanceNorm, {2, 8, 16, 1}, true, true, false},
                                       {kInstanceNorm, {2, 6, 1, 1}, true, true, false}};
  for (const NormCase& c : cases)
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      EXPECT_EQ(answer_of(c, dtype), "engines")
          << c.mode << ' ' << packed(c.dims, dtype).text() << (c.gamma ? " gamma" : "")
          << (c.beta ? " beta" : "") << (c.statistics ? " statistics" : "");
}

TEST_F(CudnnGraphLibrary, HasEnginesForTheGradientsOfNorms) {
  struct Case {
    int mode;
    std::vector<std::int64_t> dims;
  };
  const std::vector<Case> cases = {{kLayerNorm, {12, 64, 1, 1}},  {kLayerNorm, {3, 7, 1, 1}},
                                   {kLayerNorm, {1, 1, 1, 1}},    {kRmsNorm, {12, 64, 1, 1}},
                                   {kRmsNorm, {500, 1, 1, 1}},    {kInstanceNorm, {2, 6, 10, 1}},
                                   {kInstanceNorm, {2, 6, 1, 1}}, {kInstanceNorm, {2, 8, 16, 1}}};
  for (const Case& c : cases)
    EXPECT_EQ(answer(
                  [&] {
                    const Tensor x = packed(c.dims, DType::f32);
                    const Tensor vector = packed({1, c.dims[1], 1, 1}, DType::f32);
                    const std::int64_t columns = c.mode == kInstanceNorm ? c.dims[1] : 1;
                    const Tensor statistic = packed({c.dims[0], columns, 1, 1}, DType::f32);
                    NormGradientCall norm{.mode = c.mode,
                                          .gy = x,
                                          .x = x,
                                          .gamma = vector,
                                          .inverse = statistic,
                                          .gx = x,
                                          .ggamma = vector};
                    if (c.mode != kRmsNorm) norm.mean = statistic;
                    if (c.mode != kRmsNorm) norm.gbeta = vector;
                    return graph_of(norm);
                  },
                  Kind::f32),
              "engines")
        << c.mode << ' ' << packed(c.dims, DType::f32).text();
}

/// The RMS norm in training finds the inverse deviation of rows from x alone.
TEST_F(CudnnGraphLibrary, HasEnginesForInverseDeviations) {
  for (const std::int64_t columns : {64, 7, 2})
    EXPECT_EQ(answer(
                  [&] {
                    return inverse_deviation(packed({12, columns, 1, 1}, DType::f32),
                                             packed({12, columns, 1, 1}, DType::f32),
                                             packed({12, 1, 1, 1}, DType::f32), 1e-5);
                  },
                  Kind::f32),
              "engines")
        << columns;
}

/// For this reason gradients that must find it first are declined for such rows.
TEST_F(CudnnGraphLibrary, TakesNoInverseDeviationsOfOneElement) {
  const std::string said = answer(
      [] {
        const Tensor x = packed({12, 1, 1, 1}, DType::f32);
        return inverse_deviation(x, x, x, 1e-5);
      },
      Kind::f32);
  EXPECT_EQ(said.find("cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED"), 0U) << said;
}

TEST_F(CudnnGraphLibrary, TakesOurVariantPacks) {
  const std::vector<std::int64_t> ids = {1, 2};
  int memory = 0;
  void* const data = &memory;
  void* const nothing = nullptr;
  const std::vector<void*> pointers = {data, data};
  for (void* const workspace : {data, nothing}) {
    Descriptor pack(descriptor::kVariantPack);
    pack.integers(attribute::kPackIds, ids)
        .set(attribute::kPackPointers, of::kPointer, 2, pointers.data())
        .set(attribute::kPackWorkspace, of::kPointer, 1, &workspace);
    EXPECT_NO_THROW(pack.finalize());
  }
}

TEST_F(CudnnGraphLibrary, TakesNoRowsWithGaps) {
  const std::string said = answer(
      [] {
        Tensor x = packed({12, 64, 1, 1}, DType::f32);
        x.strides[0] = 70;
        return graph_of({.x = x, .y = x, .gamma = packed({1, 64, 1, 1}, DType::f32), .eps = 1});
      },
      Kind::f32);
  EXPECT_EQ(said.find("cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM"), 0U) << said;
}

}  // namespace
}  // namespace mote::cudnn
