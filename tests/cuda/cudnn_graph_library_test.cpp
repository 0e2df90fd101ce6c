// What NVIDIA's own cuDNN answers of our graphs without a GPU: its heuristic is asked for engines
// on a GPU that is described by its properties alone, as cuDNN 9.8 and later allow.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "cudnn/attention.h"
#include "cudnn/biased_convolution.h"
#include "cudnn/graph_norms.h"
#include "in_child.h"

namespace mote::cudnn {
namespace {

/// The properties of an H100, under the names by which cuDNN 9.19 asks for them.
constexpr const char* kH100 = R"({"deviceName": "H100", "deviceVer": 900, "driverVer": 13000,
  "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "warpSize": 32,
  "multiProcessorCount": 132, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
  "l2CacheSize": 52428800, "totalGlobalMem": 85000000000, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
  "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "version": 1})";

Target described_gpu() {
  const std::string json = kH100;
  Target target;
  target.device.emplace(descriptor::kDevice)
      .set(attribute::kDeviceJson, of::kChar, static_cast<std::int64_t>(json.size()), json.data())
      .finalize();
  return target;
}

/// "engines", "none", or why cuDNN does not take the graph. In a process of its own, whose driver
/// is the toolkit's stub: engines that are compiled at run time are offered only where there is
/// one.
std::string answer(const std::function<Graph()>& make, Kind kind) {
  return test::in_child([&]() -> std::string {
    if (dlopen(MOTE_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL) == nullptr) return dlerror();
    try {
      return make().configurations(described_gpu(), kind).empty() ? "none" : "engines";
    } catch (const cuda::LibraryError& e) {
      return e.what();
    }
  });
}

class CudnnGraphLibrary : public testing::Test {
 protected:
  void SetUp() override {
    try {
      if (calls().version() < 90800) GTEST_SKIP() << "cuDNN knows no GPU by its properties";
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
    const std::string said = test::in_child([] {
      try {
        described_gpu();
        return std::string();
      } catch (const cuda::LibraryError& e) {
        return std::string(e.what());
      }
    });
    // Which properties it wants isn't documented: of another release only that it may want others.
    constexpr std::size_t kTakesThem = 919;
    if (calls().version() / 100 == kTakesThem) {
      ASSERT_EQ(said, "");
    }
    if (!said.empty()) GTEST_SKIP() << "this cuDNN wants other properties: " << said;
  }
};

Tensor packed(std::vector<std::int64_t> dims, DType dtype) {
  Tensor t{.name = "t", .dtype = dtype, .dims = dims, .strides = dims};
  std::int64_t inner = 1;
  for (std::size_t k = dims.size(); k-- > 0; inner *= dims[k]) t.strides[k] = inner;
  return t;
}

Kind kind_of(DType dtype) { return dtype == DType::f32 ? Kind::f32 : Kind::narrow; }

struct NormCase {
  int mode;
  std::vector<std::int64_t> dims;
  bool gamma, beta, statistics;
};
std::string answer(const NormCase& c, DType dtype) {
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
      kind_of(dtype));
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
      EXPECT_EQ(answer(c, dtype), "engines")
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

/// The RMS norm that finds the inverse deviation of rows: of x alone, in training.
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

/// Which is why gradients that must find it first are declined for such rows.
TEST_F(CudnnGraphLibrary, TakesNoInverseDeviationsOfOneElement) {
  const std::string said = answer(
      [] {
        const Tensor x = packed({12, 1, 1, 1}, DType::f32);
        return inverse_deviation(x, x, x, 1e-5);
      },
      Kind::f32);
  EXPECT_EQ(said.find("cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED"), 0U) << said;
}

Tensor with_channels_last(Tensor t) {
  t.strides[1] = 1;
  std::int64_t inner = t.dims[1];
  for (std::size_t k = t.rank(); k-- > 2; inner *= t.dims[k]) t.strides[k] = inner;
  return t;
}

/// One axis of taps has an axis of height before it.
TEST_F(CudnnGraphLibrary, HasEnginesForConvolutionsWithTheirBias) {
  struct Case {
    Graph::Dims x, w, pads, strides, dilations;
  };
  const std::vector<Case> cases = {
      {{2, 8, 1, 20}, {16, 8, 1, 3}, {0, 1}, {1, 1}, {1, 1}},
      {{2, 3, 1, 20}, {5, 3, 1, 3}, {0, 0}, {1, 2}, {1, 2}},
      {{2, 64, 28, 28}, {64, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {{2, 3, 9, 7}, {5, 3, 3, 3}, {1, 0}, {2, 1}, {1, 2}},
      {{2, 8, 10, 10}, {16, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {{2, 4, 6, 6}, {4, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 8, 6, 6, 6}, {8, 8, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{1, 3, 6, 5, 4}, {2, 3, 2, 2, 2}, {0, 1, 0}, {1, 1, 2}, {1, 1, 1}},
  };
  for (const Case& c : cases)
    for (const DType dtype : {DType::f16, DType::bf16})
      for (const bool is_last : {false, true})
        EXPECT_EQ(answer(
                      [&] {
                        Graph::Dims y = {c.x[0], c.w[0]}, b(c.x.size(), 1);
                        b[1] = c.w[0];
                        for (std::size_t k = 0; k < c.pads.size(); ++k)
                          y.push_back(
                              (c.x[k + 2] + 2 * c.pads[k] - (c.w[k + 2] - 1) * c.dilations[k] - 1) /
                                  c.strides[k] +
                              1);
                        const auto lying = [&](const Graph::Dims& dims) {
                          const Tensor t = packed(dims, dtype);
                          return is_last ? with_channels_last(t) : t;
                        };
                        return graph_of({.x = lying(c.x),
                                         .w = lying(c.w),
                                         .b = packed(b, dtype),
                                         .y = lying(y),
                                         .pads = c.pads,
                                         .strides = c.strides,
                                         .dilations = c.dilations});
                      },
                      Kind::narrow),
                  "engines")
            << packed(c.x, dtype).text() << ' ' << packed(c.w, dtype).text()
            << (is_last ? " channels last" : "");
}

struct AttentionCase {
  std::int64_t heads, shared_heads, queries, keys, depth, width;
  std::vector<std::int64_t> mask;  ///< none where it is empty
  bool causal;
};

constexpr std::int64_t kBatches = 3;

AttentionCall call_of(const AttentionCase& c, DType dtype) {
  AttentionCall a{.q = packed({kBatches, c.heads, c.queries, c.depth}, dtype),
                  .k = packed({kBatches, c.shared_heads, c.keys, c.depth}, dtype),
                  .v = packed({kBatches, c.shared_heads, c.keys, c.width}, dtype),
                  .y = packed({kBatches, c.heads, c.queries, c.width}, dtype),
                  .causal = c.causal};
  if (!c.mask.empty()) a.mask = packed(c.mask, dtype);
  return a;
}

AttentionGradientCall gradient_of(const AttentionCase& c, DType dtype) {
  AttentionGradientCall g{.forward = call_of(c, dtype), .gy = {}, .gq = {}, .gk = {}, .gv = {}};
  g.forward.sums = packed({kBatches, c.heads, c.queries, 1}, DType::f32);
  g.gy = g.forward.y;
  g.gq = g.forward.q;
  g.gk = g.forward.k;
  g.gv = g.forward.v;
  return g;
}

std::string text_of(const AttentionCase& c) {
  return fmt::format("{}/{} {} {} {}{}{}", c.heads, c.shared_heads, c.queries, c.keys, c.depth,
                     c.mask.empty() ? "" : " mask", c.causal ? " causal" : "");
}

TEST_F(CudnnGraphLibrary, HasEnginesForAttentionAndItsGradient) {
  const std::vector<AttentionCase> cases = {{2, 2, 64, 64, 64, 64, {}, false},
                                            {2, 2, 5, 7, 8, 16, {}, false},
                                            {6, 2, 64, 32, 64, 64, {}, false},
                                            {2, 2, 1, 9, 128, 128, {}, false},
                                            {2, 2, 64, 64, 64, 64, {}, true},
                                            {2, 2, 64, 64, 64, 64, {1, 1, 64, 64}, false},
                                            {2, 2, 64, 48, 64, 64, {3, 2, 64, 48}, false},
                                            {2, 2, 64, 64, 64, 64, {1, 1, 1, 64}, true}};
  for (const AttentionCase& c : cases)
    for (const DType dtype : {DType::f16, DType::bf16}) {
      EXPECT_EQ(answer([&] { return graph_of(call_of(c, dtype)); }, Kind::narrow), "engines")
          << text_of(c);
      EXPECT_EQ(answer([&] { return graph_of(gradient_of(c, dtype)); }, Kind::narrow), "engines")
          << "gradient of " << text_of(c);
    }
}

/// Which is why it has no kernels of these. That f16 has none either has another reason: its
/// gradients of scores may leave its range.
TEST_F(CudnnGraphLibrary, HasNoEnginesForTheGradientOfAttentionInF32AndF64) {
  for (const DType dtype : {DType::f32, DType::f64})
    EXPECT_EQ(answer(
                  [&] {
                    return graph_of(gradient_of({2, 2, 64, 64, 64, 64, {}, false}, dtype));
                  },
                  Kind::narrow),
              "none")
        << packed({1}, dtype).text();
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
