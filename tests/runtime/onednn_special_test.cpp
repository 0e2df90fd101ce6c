// SPDX-License-Identifier: Apache-2.0
// Tests NaN and infinities through oneDNN's kernels, which the oracle's fills do not have: they are
// at the same elements as with the generated kernels, as far as contracts promise. Tests in-place
// calls too.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>

#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"
#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "mote/runtime/command.h"
#include "mote/runtime/plugins.h"

namespace mote {
namespace {

struct Special {
  std::string op;
  std::vector<AxisList> inputs;
  AxisList output;
  std::vector<Setting> settings = {};
};

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

void fill_special(Tensor& x, std::mt19937& random, double share, bool with_nan) {
  std::normal_distribution<float> normal(0, 3);
  std::uniform_real_distribution<double> chance(0, 1);
  static constexpr float kSpecial[] = {-0.F, 1e-41F, kInf, -kInf, kNaN, -kNaN};
  const std::size_t kinds = with_nan ? 6 : 2;
  auto* at = static_cast<float*>(x.data());
  for (std::int64_t k = 0; k < x.element_count(); ++k)
    at[k] = chance(random) < share ? kSpecial[random() % kinds] : normal(random);
}

std::vector<Special> all_special() {
  std::vector<Special> all;
  const AxisList four = {2, 3, 5, 7};
  for (const char* op : {"abs", "elu", "exp", "gelu", "gelu_tanh", "leaky_relu", "mish", "relu",
                         "round", "sigmoid", "softplus", "sqrt", "tanh"})
    all.push_back({op, {four}, four});
  all.push_back({"leaky_relu", {four}, four, {{"alpha", 0.25}}});
  for (const char* op : {"add", "sub", "mul", "div", "max", "min"})
    all.push_back({op, {four, four}, four});
  for (const char* op :
       {"equal", "not_equal", "greater", "greater_or_equal", "less", "less_or_equal"})
    all.push_back({op, {four, four}, four});
  all.push_back({"rnn_cell", {{3, 5}, {3, 4}, {4, 5}, {4, 4}, {4}}, {3, 4}});
  all.push_back({"gru_cell", {{3, 5}, {3, 4}, {3, 4, 5}, {3, 4, 4}, {4, 4}}, {3, 4}});
  for (const char* op :
       {"resize_nearest2d", "resize_linear2d"})  // no position is the centre of a pixel
    all.push_back({op, {four}, {2, 3, 4, 8}, {{"output0", 4}, {"output1", 8}}});
  all.push_back({"concat", {{2, 3, 5}, {2, 4, 5}}, {2, 7, 5}});
  for (const char* op : {"softmax", "log_softmax"}) {
    all.push_back({op, {{31, 5, 2}}, {31, 5, 2}});
    all.push_back({op, {{31, 37, 1}}, {31, 37, 1}});
  }
  for (const char* op : {"sum", "mean", "reduce_max", "reduce_min", "norm1", "norm2", "sumsq"}) {
    all.push_back({op, {{31, 5, 2}}, {31, 2}});
    all.push_back({op, {{31, 37, 1}}, {31, 1}});
  }
  all.push_back({"layer_norm", {{31, 5}}, {31, 5}});
  all.push_back({"batch_norm", {{5, 3, 7}, {3}, {3}, {3}, {3}}, {5, 3, 7}});
  all.push_back({"lrn", {{5, 9, 7}}, {5, 9, 7}, {{"size", 3}}});
  for (const char* op : {"max_pool2d", "avg_pool2d"})
    all.push_back(
        {op,
         {{2, 3, 9, 9}},
         {2, 3, 9, 9},
         {{"kernel0", 3}, {"kernel1", 3}, {"pads0", 1}, {"pads1", 1}, {"pads2", 1}, {"pads3", 1}}});
  all.push_back({"matmul", {{1, 1, 9, 3}, {1, 1, 3, 9}}, {1, 1, 9, 9}});
  all.push_back({"conv2d", {{2, 3, 6, 6}, {5, 3, 3, 3}}, {2, 5, 4, 4}});
  all.push_back({"conv2d_relu", {{2, 3, 6, 6}, {5, 3, 3, 3}}, {2, 5, 4, 4}});
  all.push_back({"conv_transpose2d", {{2, 3, 6, 6}, {3, 5, 3, 3}}, {2, 5, 8, 8}});
  return all;
}

std::string kind(double x) {
  return std::isnan(x) ? "NaN" : std::isinf(x) ? (x > 0 ? "inf" : "-inf") : "a number";
}

const mote_contract& contract_of(const mote_backend& backend, const std::string& op) {
  for (std::int32_t k = 0; k < backend.kernel_count; ++k)
    if (op == kernel_at(backend, k).op) return *kernel_at(backend, k).contract;
  throw std::runtime_error("no kernel for " + op);
}

/// Returns the first element that is of another kind, or "".
std::string difference(const Tensor& expected, const Tensor& got) {
  const Tensor e = expected.reshape({expected.element_count()});
  const Tensor g = got.reshape({expected.element_count()});
  for (std::int64_t k = 0; k < e.element_count(); ++k) {
    const double a = e.real_at({k}), b = g.real_at({k});
    if (kind(a) != kind(b) || (e.dtype() == DType::boolean && a != b))
      return std::to_string(a) + " became " + std::to_string(b);
  }
  return "";
}

TEST(OneDnn, SpecialValuesAreWhereTheDefinitionHasThem) {
  const std::vector<const mote_backend*> onednn = load_backends(MOTE_ONEDNN_PLUGIN);
  std::mt19937 random(7);
  for (const Special& s : all_special()) {
    const bool with_nan = !ignores_nan(contract_of(*onednn.front(), s.op));
    const Command command(s.op, s.settings);
    const bool gives_bool = std::string(command.definition().outputs[0].dtype) == "bool";
    for (int round = 0; round < 20; ++round) {
      std::vector<Tensor> inputs;
      std::vector<const Tensor*> in;
      inputs.reserve(s.inputs.size());
      for (const AxisList& shape : s.inputs) {
        fill_special(inputs.emplace_back(DType::f32, shape), random, round < 10 ? 0.05 : 0.9,
                     with_nan);
        in.push_back(&inputs.back());
      }
      Tensor expected(gives_bool ? DType::boolean : DType::f32, s.output);
      Tensor got(expected.dtype(), s.output);
      Tensor* const outputs[] = {&expected, &got};
      const mote_generated_kernel* reference =
          find_generated(s.op, kReference, DType::f32, (TensorMask{1} << s.inputs.size()) - 1);
      ASSERT_NE(reference, nullptr) << s.op;
      const mote_backend definition = {sizeof(mote_backend), "reference", "", 1, 0,
                                       &reference->kernel};
      const mote_backend* const first[] = {&definition};
      run(command, in, std::span(outputs, 1), {.backends = first});
      run(command, in, std::span(outputs + 1, 1), {.backends = onednn, .without_nan = true});
      EXPECT_EQ(difference(expected, got), "") << s.op << ", round " << round;
    }
  }
}

TEST(OneDnn, InPlaceIsAsOutOfPlace) {
  const std::vector<const mote_backend*> onednn = load_backends(MOTE_ONEDNN_PLUGIN);
  const RunOptions options{.backends = onednn, .without_nan = true};
  std::mt19937 random(9);
  for (const Special& s : all_special()) {
    const mote_contract& contract = contract_of(*onednn.front(), s.op);
    if (!promises_in_place(contract, 0, 0)) continue;
    std::vector<Tensor> inputs;
    std::vector<const Tensor*> in;
    inputs.reserve(s.inputs.size());
    for (const AxisList& shape : s.inputs) {
      fill_special(inputs.emplace_back(DType::f32, shape), random, 0, false);
      in.push_back(&inputs.back());
    }
    Tensor y(DType::f32, s.output);
    Tensor* const apart[] = {&y};
    Tensor* const over_x[] = {&inputs.front()};
    const Command command(s.op, s.settings);
    run(command, in, apart, options);
    run(command, in, over_x, options);
    EXPECT_EQ(std::memcmp(y.data(), inputs.front().data(),
                          static_cast<std::size_t>(y.element_count()) * sizeof(float)),
              0)
        << s.op;
  }
}

}  // namespace
}  // namespace mote
