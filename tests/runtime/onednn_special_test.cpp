// NaN and infinities through oneDNN's kernels: they are where the generated kernels have them. The
// oracle's fills have none.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

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

void fill_special(Tensor& x, std::mt19937& random, double share) {
  std::normal_distribution<float> normal(0, 3);
  std::uniform_real_distribution<double> chance(0, 1);
  static constexpr float kSpecial[] = {kNaN, -kNaN, kInf, -kInf, -0.F, 1e-41F};
  auto* at = static_cast<float*>(x.data());
  for (std::int64_t k = 0; k < x.element_count(); ++k)
    at[k] = chance(random) < share ? kSpecial[random() % 6] : normal(random);
}

std::vector<Special> all_special() {
  std::vector<Special> all;
  const AxisList four = {2, 3, 5, 7};
  for (const char* op : {"abs", "elu", "exp", "gelu", "gelu_tanh", "leaky_relu", "log", "mish",
                         "relu", "round", "sigmoid", "silu", "softplus", "sqrt", "tanh"})
    all.push_back({op, {four}, four});
  all.push_back({"leaky_relu", {four}, four, {{"alpha", 0.25}}});
  for (const char* op : {"add", "sub", "mul", "div", "max", "min"})
    all.push_back({op, {four, four}, four});
  for (const char* op :
       {"equal", "not_equal", "greater", "greater_or_equal", "less", "less_or_equal"})
    all.push_back({op, {four, four}, four});
  all.push_back({"prelu", {four, {1, 3, 1, 1}}, four});
  all.push_back({"concat", {{2, 3, 5}, {2, 4, 5}}, {2, 7, 5}});
  for (const char* op : {"softmax", "log_softmax"}) {
    all.push_back({op, {{31, 5, 2}}, {31, 5, 2}});
    all.push_back({op, {{31, 37, 1}}, {31, 37, 1}});
  }
  for (const char* op :
       {"sum", "mean", "prod", "reduce_max", "reduce_min", "norm1", "norm2", "sumsq"}) {
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
  all.push_back({"conv_transpose2d", {{2, 3, 6, 6}, {3, 5, 3, 3}}, {2, 5, 8, 8}});
  return all;
}

std::string kind(double x) {
  return std::isnan(x) ? "NaN" : std::isinf(x) ? (x > 0 ? "inf" : "-inf") : "a number";
}

TEST(OneDnn, SpecialValuesAreWhereTheDefinitionHasThem) {
  const std::vector<const mote_backend*> onednn = load_backends(MOTE_ONEDNN_PLUGIN);
  std::mt19937 random(7);
  for (const Special& s : all_special()) {
    std::string wrong;
    for (int round = 0; round < 20 && wrong.empty(); ++round) {
      std::vector<Tensor> inputs;
      std::vector<const Tensor*> in;
      inputs.reserve(8);
      for (const AxisList& shape : s.inputs) {
        fill_special(inputs.emplace_back(DType::f32, shape), random, round < 10 ? 0.05 : 0.9);
        in.push_back(&inputs.back());
      }
      const Command command(s.op, s.settings);
      const DType dtype = std::string(command.definition().outputs[0].dtype) == "bool"
                              ? DType::boolean
                              : DType::f32;
      Tensor y(dtype, s.output), z(dtype, s.output);
      Tensor* out[] = {&y};
      Tensor* out2[] = {&z};
      run(command, in, out);
      run(command, in, out2, {.backends = onednn, .stream = nullptr, .without_nan = true});
      Tensor flat_y = y.reshape({y.element_count()}), flat_z = z.reshape({y.element_count()});
      for (std::int64_t k = 0; k < y.element_count() && wrong.empty(); ++k) {
        const double a = flat_y.real_at({k}), b = flat_z.real_at({k});
        if (kind(a) != kind(b) || (dtype == DType::boolean && a != b))
          wrong =
              kind(a) + " (" + std::to_string(a) + ") became " + std::to_string(b) + " in round " +
              std::to_string(round) +
              (s.inputs[0] == s.output
                   ? ", x " + std::to_string(inputs[0].reshape({y.element_count()}).real_at({k}))
                   : "");
      }
    }
    EXPECT_EQ(wrong, "") << s.op;
  }
}

}  // namespace
}  // namespace mote
