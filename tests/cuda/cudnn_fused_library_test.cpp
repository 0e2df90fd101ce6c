// SPDX-License-Identifier: Apache-2.0
// Asks NVIDIA's own cuDNN, without a GPU, for engines of mote's graphs of convolutions and
// attention.
#include <fmt/format.h>

#include "cudnn/attention.h"
#include "cudnn/fused_convolution.h"
#include "described_gpu.h"

namespace mote::cudnn {
namespace {

Tensor with_channels_last(Tensor t) {
  t.strides[1] = 1;
  std::int64_t inner = t.dims[1];
  for (std::size_t k = t.rank(); k-- > 2; inner *= t.dims[k]) t.strides[k] = inner;
  return t;
}

/// If there is only one axis of taps, an axis of height 1 precedes it.
TEST_F(CudnnGraphLibrary, HasEnginesForConvolutionsWithTheirBiasAndActivation) {
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
  const auto asked_of = [](const Case& c, DType dtype, bool is_last, bool is_rectified) {
    Graph::Dims y = {c.x[0], c.w[0]}, b(c.x.size(), 1);
    b[1] = c.w[0];
    for (std::size_t k = 0; k < c.pads.size(); ++k)
      y.push_back(
          (c.x[k + 2] + 2 * c.pads[k] - (c.w[k + 2] - 1) * c.dilations[k] - 1) / c.strides[k] + 1);
    const auto lying = [&](const Graph::Dims& dims) {
      const Tensor t = packed(dims, dtype);
      return is_last ? with_channels_last(t) : t;
    };
    return asked(
        [&] {
          return graph_of({.x = lying(c.x),
                           .w = lying(c.w),
                           .b = packed(b, dtype),
                           .y = lying(y),
                           .is_rectified = is_rectified,
                           .pads = c.pads,
                           .strides = c.strides,
                           .dilations = c.dilations});
        },
        kind_for(dtype));
  };
  for (const Case& c : cases)
    EXPECT_EQ(with_driver([&] {
                std::string lacking;
                for (const DType dtype : {DType::f16, DType::bf16, DType::f32})
                  for (const bool is_last : {false, true})
                    for (const bool is_rectified : {false, true}) {
                      const std::string said = asked_of(c, dtype, is_last, is_rectified);
                      if (said != "engines")
                        lacking += fmt::format("{}{}{}: {}\n", packed(c.w, dtype).text(),
                                               is_last ? " channels last" : "",
                                               is_rectified ? " relu" : "", said);
                    }
                return lacking;
              }),
              "")
        << packed(c.x, DType::f32).text();
}

/// For this reason an activation without a bias is a separate step.
TEST_F(CudnnGraphLibrary, HasNoEnginesForConvolutionsWithAnActivationAlone) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32})
    EXPECT_EQ(answer(
                  [&] {
                    Graph graph;
                    const Graph::Node sums = graph.between({2, 64, 28, 28});
                    graph.convolve({.x = graph.tensor(packed({2, 64, 28, 28}, dtype)),
                                    .w = graph.tensor(packed({64, 64, 3, 3}, dtype)),
                                    .y = sums,
                                    .pads = {1, 1},
                                    .strides = {1, 1},
                                    .dilations = {1, 1}});
                    graph.map_into(graph.tensor(packed({2, 64, 28, 28}, dtype)), kRectify, sums);
                    return graph;
                  },
                  kind_for(dtype)),
              "none")
        << packed({1}, dtype).text();
}

struct AttentionCase {
  std::int64_t heads, shared_heads, queries, keys, depth, width;
  std::vector<std::int64_t> mask;  ///< empty if there is no mask
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

/// For this reason the backend has no kernels of these. f16 is left out for another reason: its
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

}  // namespace
}  // namespace mote::cudnn
