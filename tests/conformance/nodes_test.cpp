// SPDX-License-Identifier: Apache-2.0
// Tests branches of adapters that no ONNX test reaches: nodes with small values worked out by hand,
// or by an equivalent node.
#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "one_node.h"

namespace mote::onnx {
namespace {

using Attributes = std::map<std::string, Attribute>;

TEST(Scatter, JoinsAsTheReductionSays) {
  struct Case {
    const char* reduction;
    std::vector<double> expected;
  };
  const Case cases[] = {{"none", {1, 7, 3, -4}},
                        {"add", {1, 14, 3, 0}},
                        {"mul", {1, 70, 3, -16}},
                        {"max", {1, 7, 3, 4}},
                        {"min", {1, 2, 3, -4}}};
  const TensorData x = tensor_data({4}, {1, 2, 3, 4});
  const TensorData updates = tensor_data({3}, {5, 7, -4});
  for (const Case& c : cases) {
    const Attributes reduction = {{"reduction", text(c.reduction)}};
    EXPECT_EQ(run_node("ScatterElements", {x, index_data({3}, {1, 1, -1}), updates}, reduction),
              reals({4}, c.expected))
        << c.reduction;
    EXPECT_EQ(run_node("ScatterND", {x, index_data({3, 1}, {1, 1, -1}), updates}, reduction),
              reals({4}, c.expected))
        << c.reduction;
  }
}

TEST(Scatter, AnIndexMayBeSmallerOnEveryAxis) {
  const TensorData x = tensor_data({2, 3, 2}, std::vector<float>(12, 9));
  const TensorData index = index_data({1, 2, 1}, {2, 0});
  const TensorData updates = tensor_data({1, 2, 1}, {5, 6});
  EXPECT_EQ(run_node("ScatterElements", {x, index, updates}, {{"axis", whole(1)}}),
            reals({2, 3, 2}, {6, 9, 9, 9, 5, 9, 9, 9, 9, 9, 9, 9}));
}

TEST(Scatter, MoreIndexedAxesThanTheOpHas) {
  const TensorData x = tensor_data({2, 1, 2, 2}, std::vector<float>(8, 0));
  const TensorData index = index_data({2, 4}, {1, 0, 0, 1, -2, -1, 1, 0});
  EXPECT_EQ(run_node("ScatterND", {x, index, tensor_data({2}, {5, 6})}),
            reals({2, 1, 2, 2}, {0, 0, 6, 0, 0, 5, 0, 0}));
}

/// Runs the same convolution with its two axes as the last two of three, and as the first two.
TEST(ConvTranspose, InSpaceIsWhatItIsInThePlane) {
  const auto node = [](const Dims& x, const Dims& w, const Dims& strides, const Dims& dilations,
                       const Dims& pads, const Dims& output) {
    const Attributes attributes = {{"strides", list(strides)},
                                   {"dilations", list(dilations)},
                                   {"pads", list(pads)},
                                   {"output_padding", list(output)},
                                   {"group", whole(2)}};
    return run_node("ConvTranspose", {counted(x), counted(w), counted({6})}, attributes);
  };
  const Array plane = node({2, 4, 3, 5}, {4, 3, 3, 2}, {2, 3}, {1, 2}, {1, 0, 2, 1}, {1, 2});
  const Array last =
      node({2, 4, 1, 3, 5}, {4, 3, 1, 3, 2}, {1, 2, 3}, {1, 1, 2}, {0, 1, 0, 0, 2, 1}, {0, 1, 2});
  const Array first =
      node({2, 4, 3, 5, 1}, {4, 3, 3, 2, 1}, {2, 3, 1}, {1, 2, 1}, {1, 0, 0, 2, 1, 0}, {1, 2, 0});
  EXPECT_EQ(reshaped(last, plane.shape), plane);
  EXPECT_EQ(reshaped(first, plane.shape), plane);
}

TEST(MaxUnpool, AlongOneAxis) {
  const TensorData x = tensor_data({1, 1, 2}, {5, 6});
  const Attributes window = {{"kernel_shape", list({2})}, {"strides", list({2})}};
  EXPECT_EQ(run_node("MaxUnpool", {x, index_data({1, 1, 2}, {1, 2})}, window),
            reals({1, 1, 4}, {0, 5, 6, 0}));
}

TEST(Pad, OnSomeAxesOnly) {
  const TensorData x = tensor_data({1, 2}, {1, 2}), pads = index_data({2}, {1, 2});
  const TensorData value = tensor_data({}, {9}), axes = index_data({1}, {-1});
  EXPECT_EQ(run_node("Pad", {x, pads, value, axes}), reals({1, 5}, {9, 1, 2, 9, 9}));
}

TEST(Bits, ShiftAndJoinIntegers) {
  const TensorData a = index_data({3}, {1, 6, 12}), b = index_data({3}, {2, 1, 2});
  const auto i64 = [](const Dims& values) { return integers(DType::i64, {3}, values); };
  const auto shifted = [&](const std::string& direction) {
    return run_node("BitShift", {a, b}, {{"direction", text(direction)}});
  };
  EXPECT_EQ(shifted("LEFT"), i64({4, 12, 48}));
  EXPECT_EQ(shifted("RIGHT"), i64({0, 3, 3}));
  EXPECT_THROW(shifted("UP"), Error);
  EXPECT_EQ(run_node("BitwiseAnd", {a, b}), i64({0, 0, 0}));
  EXPECT_EQ(run_node("BitwiseOr", {a, b}), i64({3, 7, 14}));
  EXPECT_EQ(run_node("BitwiseXor", {a, b}), i64({3, 7, 14}));
  EXPECT_EQ(run_node("BitwiseNot", {a}), i64({-2, -7, -13}));
}

TEST(Dropout, IsNotJudgedWhereChanceDecides) {
  const TensorData x = tensor_data({2}, {1, 2}), ratio = tensor_data({}, {0.5F});
  const TensorData training = flags_data({}, {true});
  EXPECT_EQ(why_not(model_of("Dropout", 3), {x, ratio, training}),
            "random numbers: the test's data come from another generator");
  EXPECT_EQ(run_node("Dropout", {x, tensor_data({}, {0}), training}), reals({2}, {1, 2}));
  EXPECT_EQ(run_node("Dropout", {x, ratio}), reals({2}, {1, 2}));
}

TEST(Pad, CentreOfEachAxis) {
  const TensorData x = tensor_data({1, 5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(run_node("CenterCropPad", {x, index_data({2}, {2, 2})}), reals({2, 2}, {2, 3, 0, 0}));
  EXPECT_EQ(run_node("CenterCropPad", {x, index_data({1}, {8})}, {{"axes", list({-1})}}),
            reals({1, 8}, {0, 1, 2, 3, 4, 5, 0, 0}));
}

TEST(SpaceToDepth, UndoesDepthToSpaceInEitherOrder) {
  for (const char* mode : {"DCR", "CRD"}) {
    const Attributes attributes = {{"blocksize", whole(2)}, {"mode", text(mode)}};
    const TensorData x = counted({1, 8, 2, 3});
    const Array deep = run_node("DepthToSpace", {x}, attributes);
    TensorData y = x;
    y.shape = deep.shape;
    Memory memory(deep);
    y.bytes.assign(static_cast<const char*>(memory.tensor().data), x.bytes.size());
    EXPECT_EQ(run_node("SpaceToDepth", {y}, attributes), to_array(x)) << mode;
  }
}

TEST(Tile, AxesThatDoNotRepeatGoWithThoseBefore) {
  const TensorData x = tensor_data({1, 2, 1, 2, 1, 1}, {1, 2, 3, 4});
  EXPECT_EQ(run_node("Tile", {x, index_data({6}, {1, 1, 2, 1, 1, 1})}),
            reals({1, 2, 2, 2, 1, 1}, {1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(
      why_not(model_of("Tile", 2), {counted({2, 2, 2, 2, 2}), index_data({5}, {2, 2, 2, 2, 2})}),
      "tile has 4 axes, this needs 5");
}

TEST(Reduce, FlagsByAnyAndAll) {
  const TensorData x = flags_data({2, 2}, {true, false, true, true});
  const Attributes axes = {{"axes", list({1})}, {"keepdims", whole(0)}};
  EXPECT_EQ(run_node("ReduceMax", {x}, axes), (Array{DType::boolean, {2}, {1, 1}}));
  EXPECT_EQ(run_node("ReduceMin", {x}, axes), (Array{DType::boolean, {2}, {0, 1}}));
}

TEST(Quantise, AScaleForEachBlock) {
  const TensorData x = tensor_data({1, 4}, {2, 4, 30, 40}), scale = tensor_data({1, 2}, {2, 10});
  EXPECT_EQ(run_node("QuantizeLinear", {x, scale}, {{"block_size", whole(2)}}),
            integers(DType::u8, {1, 4}, {1, 2, 3, 4}));
}

}  // namespace
}  // namespace mote::onnx
