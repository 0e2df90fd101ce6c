// SPDX-License-Identifier: Apache-2.0
// Tests the parts of NVIDIA's own cuDNN that answer without a GPU: descriptors, the extents of
// outputs of windows, and the texts of statuses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cudnn/describe.h"
#include "cudnn/recurrent.h"

namespace mote::cudnn {
namespace {

class CudnnLibrary : public testing::Test {
 protected:
  void SetUp() override {
    try {
      EXPECT_GE(calls().version(), 90000U);
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
  }
};

Tensor dense(std::vector<std::int64_t> dims, DType dtype = DType::f32) {
  Tensor t{.name = "t", .dtype = dtype, .dims = dims, .strides = dims};
  std::int64_t inner = 1;
  for (std::size_t k = dims.size(); k-- > 0; inner *= dims[k]) t.strides[k] = inner;
  return t;
}

/// A window drawn for an axis, and the catalogue's extent of its output.
struct Axis {
  int extent, taps, stride, dilation, pad;
  std::int64_t windows() const {
    return (extent + 2 * pad - dilation * (taps - 1) - 1) / stride + 1;
  }
};
Axis draw(std::mt19937& engine, bool is_pool) {
  const auto upto = [&](unsigned most) { return static_cast<int>(engine() % (most + 1)); };
  Axis a{0, 1 + upto(4), 1 + upto(2), is_pool ? 1 : 1 + upto(2), 0};
  a.pad = upto(static_cast<unsigned>(a.taps - 1));
  a.extent = a.dilation * (a.taps - 1) + 1 + upto(9);
  return a;
}

std::vector<int> each(const std::vector<Axis>& axes, int Axis::*member) {
  std::vector<int> all;
  for (const Axis& a : axes) all.push_back(a.*member);
  return all;
}

/// Returns images, channels, and for each axis the member, or the number of windows if it is null.
std::vector<std::int64_t> dims_of(std::int64_t images, std::int64_t channels,
                                  const std::vector<Axis>& axes, int Axis::*member) {
  std::vector<std::int64_t> dims = {images, channels};
  for (const Axis& a : axes) dims.push_back(member == nullptr ? a.windows() : a.*member);
  return dims;
}

TEST_F(CudnnLibrary, HasTheCataloguesExtentsOfConvolutions) {
  std::mt19937 engine(1);
  for (int k = 0; k < 400; ++k) {
    std::vector<Axis> axes;
    for (int axis = 0; axis < 2 + k % 2; ++axis) axes.push_back(draw(engine, false));
    const int groups = 1 + k % 3;
    const Tensor x = dense(dims_of(2, std::int64_t{4} * groups, axes, &Axis::extent));
    const Tensor w = dense(dims_of(std::int64_t{5} * groups, 4, axes, &Axis::taps));
    const auto desc = made(calls().create_convolution, calls().destroy_convolution);
    calls().set_convolution(desc.get(), static_cast<int>(axes.size()),
                            each(axes, &Axis::pad).data(), each(axes, &Axis::stride).data(),
                            each(axes, &Axis::dilation).data(), kCrossCorrelation, kFloat);
    calls().set_groups(desc.get(), groups);
    calls().set_math(desc.get(), k % 2 == 0 ? kFmaMath : kDefaultMath);
    std::vector<int> dims(x.rank());
    calls().convolution_dims(desc.get(), describe(x).get(), describe_filter(w).get(),
                             static_cast<int>(x.rank()), dims.data());
    EXPECT_EQ(std::vector<std::int64_t>(dims.begin(), dims.end()),
              dims_of(2, std::int64_t{5} * groups, axes, nullptr))
        << x.text() << ", " << w.text();
  }
}

TEST_F(CudnnLibrary, HasTheCataloguesExtentsOfPools) {
  std::mt19937 engine(2);
  for (int k = 0; k < 400; ++k) {
    std::vector<Axis> axes;
    for (int axis = 0; axis < 2 + k % 2; ++axis) axes.push_back(draw(engine, true));
    const Tensor x = dense(dims_of(2, 3, axes, &Axis::extent));
    const auto desc = made(calls().create_pooling, calls().destroy_pooling);
    const std::array<int, 3> modes = {kMax, kAverageWithPads, kAverage};
    calls().set_pooling(desc.get(), modes.at(static_cast<std::size_t>(k % 3)), kPropagateNan,
                        static_cast<int>(axes.size()), each(axes, &Axis::taps).data(),
                        each(axes, &Axis::pad).data(), each(axes, &Axis::stride).data());
    std::vector<int> dims(x.rank());
    calls().pooling_dims(desc.get(), describe(x).get(), static_cast<int>(x.rank()), dims.data());
    EXPECT_EQ(std::vector<std::int64_t>(dims.begin(), dims.end()), dims_of(2, 3, axes, nullptr))
        << x.text();
  }
}

TEST_F(CudnnLibrary, TakesOurDescriptors) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    Tensor strided = dense({2, 3, 4, 5}, dtype);
    EXPECT_NO_THROW(describe(strided));
    strided.strides = {1, 70, 2, 9};  // in any order, with gaps
    EXPECT_NO_THROW(describe(strided));
    EXPECT_NO_THROW(describe_filter(dense({2, 3, 4, 5, 6}, dtype)));
    Tensor last = dense({2, 3, 4, 5}, dtype);
    last.strides = {60, 1, 15, 3};
    EXPECT_NO_THROW(describe_filter(last));
  }
  for (const int mode : {kSigmoid, kRelu, kTanh, kElu, kSwish}) {
    const auto desc = made(calls().create_activation, calls().destroy_activation);
    EXPECT_NO_THROW(calls().set_activation(desc.get(), mode, kPropagateNan, 1));
    EXPECT_NO_THROW(calls().set_swish_beta(desc.get(), 1));
  }
  for (const int what : {kOfAdd, kOfMultiply, kOfMinimum, kOfMaximum, kOfSquareRoot}) {
    const auto desc = made(calls().create_operation, calls().destroy_operation);
    EXPECT_NO_THROW(calls().set_operation(desc.get(), what, kFloat, kPropagateNan));
  }
  for (const int what : {kReduceAdd, kReduceMultiply, kReduceMinimum, kReduceMaximum,
                         kReduceAverage, kReduceNorm1, kReduceNorm2}) {
    const auto desc = made(calls().create_reduction, calls().destroy_reduction);
    EXPECT_NO_THROW(calls().set_reduction(desc.get(), what, kFloat, kPropagateNan, kNoIndices,
                                          kIndicesOf32Bits));
  }
  const auto lrn = made(calls().create_lrn, calls().destroy_lrn);
  EXPECT_NO_THROW(calls().set_lrn(lrn.get(), kLrnMostSize, 1e-4, kLrnLeastBeta, kLrnLeastBias));
  EXPECT_THROW(calls().set_lrn(lrn.get(), kLrnMostSize + 1, 1e-4, 0.75, 1), cuda::LibraryError);
}

TEST_F(CudnnLibrary, TakesOurRecurrentLayers) {
  for (const char* op : {"lstm_cell", "gru_cell", "rnn_cell"})
    for (const DType dtype : {DType::f32, DType::f64})
      for (const int math : {kFmaMath, kDefaultMath}) {
        const Layer layer{.dtype = dtype, .math = math, .batch = 3, .inputs = 5, .states = 7};
        EXPECT_NO_THROW(describe(cell_of(op), layer)) << op;
        EXPECT_NO_THROW(describe_sequences(layer, 5)) << op;
        const auto states = describe_states(layer);
        int type = -1, rank = 0;
        std::array<int, 4> dims{}, strides{};
        calls().get_tensor(states.get(), 4, &type, &rank, dims.data(), strides.data());
        EXPECT_EQ(type, type_of(dtype));
        EXPECT_EQ(rank, 3);
        EXPECT_EQ(dims, (std::array{1, 3, 7, 0}));
        EXPECT_EQ(strides, (std::array{21, 7, 1, 0}));
      }
}

TEST_F(CudnnLibrary, TakesOurSequences) {
  for (const char* op : {"lstm_sequence", "gru_sequence.grad", "rnn_sequence"})
    for (const DType dtype : {DType::f32, DType::f64}) {
      Layer layer{.dtype = dtype, .batch = 3, .inputs = 5, .states = 7, .steps = 4};
      EXPECT_NO_THROW(describe(cell_of(op), layer)) << op;
      EXPECT_NO_THROW(describe_sequences(layer, 5)) << op;
      layer.has_lengths = true;
      EXPECT_NO_THROW(describe(cell_of(op), layer)) << op;
      EXPECT_NO_THROW(describe_sequences(layer, 5)) << op;
      EXPECT_NO_THROW(describe_sequences(layer, 7, {2, 0, 4})) << op;
      EXPECT_THROW(describe_sequences(layer, 7, {2, 0, 5}), cuda::LibraryError) << op;
    }
}

TEST_F(CudnnLibrary, ErrorsAreNamed) {
  const auto desc = made(calls().create_pooling, calls().destroy_pooling);
  const std::array<int, 2> negative = {-1, 1};
  try {
    calls().set_pooling(desc.get(), kMax, kPropagateNan, 2, negative.data(), negative.data(),
                        negative.data());
    FAIL() << "no error";
  } catch (const cuda::LibraryError& e) {
    EXPECT_EQ(std::string(e.what()).find("cudnnSetPoolingNdDescriptor: CUDNN_STATUS_BAD_PARAM"), 0U)
        << e.what();
    EXPECT_EQ(e.kind(), cuda::Failure::broken);
  }
}

}  // namespace
}  // namespace mote::cudnn
