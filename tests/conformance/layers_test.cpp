// SPDX-License-Identifier: Apache-2.0
// Tests adapters of layers whose operators are later than Debian's ONNX tests, or have more forms
// than those reach: values worked out by hand, or by an equivalent node.
#include <gtest/gtest.h>

#include "one_node.h"

namespace mote::onnx {
namespace {

using Attributes = std::map<std::string, Attribute>;

/// With queries of 0 all keys that are seen have the same weight: y is the mean of their values.
struct Seen {
  const char* what;
  std::int64_t queries, keys, past;
  Attributes attributes;
  TensorData mask, lengths;
  std::vector<double> means;  ///< the means of the values 0, 1, 2, …
};

TensorData zeros(std::int64_t count) {
  return tensor_data({1, 1, count, 1}, std::vector<float>(static_cast<std::size_t>(count)));
}
/// Returns from, from + 1, …
TensorData ramp(std::int64_t from, std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t k = 0; k < count; ++k) values.push_back(static_cast<float>(from + k));
  return tensor_data({1, 1, count, 1}, values);
}

Array attended(const Seen& c) {
  const TensorData past_key = c.past > 0 ? zeros(c.past) : TensorData{};
  const TensorData past_value = c.past > 0 ? ramp(0, c.past) : TensorData{};
  return run_node("Attention",
                  {zeros(c.queries), zeros(c.keys), ramp(c.past, c.keys), c.mask, past_key,
                   past_value, c.lengths},
                  c.attributes);
}

TEST(Attention, SeesTheKeysThatTheNodeSays) {
  const TensorData none;
  const Attributes causal = {{"is_causal", whole(1)}};
  const Attributes window = {{"left_window_size", whole(1)}, {"right_window_size", whole(0)}};
  const std::vector<Seen> cases = {
      {"all", 2, 3, 0, {}, none, none, {1, 1}},
      {"causal, from the top left", 2, 3, 0, causal, none, none, {0, 0.5}},
      {"causal after the past", 2, 2, 2, causal, none, none, {1, 1.5}},
      {"causal, fewer keys than queries after the past", 2, 1, 2, causal, none, none, {1, 1}},
      {"window", 3, 3, 0, window, none, none, {0, 0.5, 1.5}},
      {"flags", 1, 3, 0, {}, flags_data({1, 3}, {true, false, true}), none, {1}},
      {"flags that end early", 1, 3, 0, {}, flags_data({1, 2}, {true, true}), none, {0.5}},
      {"causal and lengths", 2, 4, 0, causal, none, index_data({1}, {3}), {0.5, 1}},
      {"window and lengths", 1, 4, 0, window, none, index_data({1}, {3}), {1.5}}};
  for (const Seen& c : cases) {
    EXPECT_EQ(attended(c), reals({1, 1, c.queries, 1}, c.means)) << c.what;
  }
}

TEST(Attention, NeighbouringQueriesShareAHead) {
  const TensorData q = tensor_data({1, 1, 4}, {0, 0, 0, 0}), k = tensor_data({1, 1, 2}, {0, 0});
  const Attributes heads = {{"q_num_heads", whole(4)}, {"kv_num_heads", whole(2)}};
  EXPECT_EQ(run_node("Attention", {q, k, tensor_data({1, 1, 2}, {5, 6})}, heads),
            reals({1, 1, 4}, {5, 5, 6, 6}));
}

/// Returns y[T, …] from the last step to the first.
Array backwards(const Array& y) {
  Array z = y;
  const auto steps = static_cast<std::size_t>(y.shape[0]), each = y.values.size() / steps;
  for (std::size_t k = 0; k < y.values.size(); ++k) {
    z.values[k] = y.values[(steps - 1 - k / each) * each + k % each];
  }
  return z;
}

/// Returns x, w, r and b of a layer with one input and one hidden unit.
std::vector<TensorData> layer(std::int64_t gates, const std::vector<float>& x, float from) {
  const auto weights = [&](Dims shape) {
    std::vector<float> values;
    for (std::int64_t k = 0; k < element_count(shape); ++k) {
      values.push_back(from + 0.25F * static_cast<float>(k));
    }
    return tensor_data(std::move(shape), values);
  };
  return {tensor_data({std::ssize(x), 1, 1}, x), weights({1, gates, 1}), weights({1, gates, 1}),
          weights({1, 2 * gates})};
}

TensorData joined(const TensorData& a, const TensorData& b) {
  TensorData both = a;
  both.shape[0] += b.shape[0];
  both.bytes += b.bytes;
  return both;
}

TEST(Recurrent, EitherDirectionAndBoth) {
  const std::vector<float> x = {1, -2, 3}, x_back = {3, -2, 1};
  const Attributes reverse = {{"direction", text("reverse")}};
  const Attributes both = {{"direction", text("bidirectional")}};
  const std::map<std::string, std::int64_t> gates_of = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  for (const auto& [op, gates] : gates_of) {
    const auto forth = layer(gates, x, -0.5F), back = layer(gates, x, 0.125F);
    const Array y_forth = run_node(op, forth), y_back = run_node(op, back, reverse);
    EXPECT_EQ(backwards(y_back), run_node(op, layer(gates, x_back, 0.125F))) << op;
    std::vector<TensorData> inputs = {forth[0]};
    for (std::size_t k = 1; k < 4; ++k) inputs.push_back(joined(forth[k], back[k]));
    const Array y = run_node(op, inputs, both);
    ASSERT_EQ(y.shape, (Dims{3, 2, 1, 1})) << op;
    for (std::size_t t = 0; t < 3; ++t) {
      EXPECT_TRUE(same(y.values[2 * t], y_forth.values[t])) << op;
      EXPECT_TRUE(same(y.values[2 * t + 1], y_back.values[t])) << op;
    }
  }
}

TEST(Norms, OfRowsGroupsAndVectors) {
  const Attribute nothing = real(0.0F);
  const TensorData ones = tensor_data({1, 2, 2}, {1, 1, 1, 1}), scale = tensor_data({2}, {2, 3});
  EXPECT_EQ(run_node("RMSNormalization", {ones, scale}, {{"axis", whole(1)}, {"epsilon", nothing}}),
            reals({1, 2, 2}, {2, 3, 2, 3}));
  const TensorData x =
      tensor_data({1, 4, 1}, {1, 3, 10, 30});  // two groups with deviations 1 and 10
  EXPECT_EQ(run_node("GroupNormalization", {x, tensor_data({2}, {1, 2}), tensor_data({2}, {0, 5})},
                     {{"num_groups", whole(2)}, {"epsilon", nothing}}),
            reals({1, 4, 1}, {-1, 1, 3, 7}));
  const TensorData v = tensor_data({2, 2}, {3, 0, -4, 0});
  const auto normalised = [&](std::int64_t p) {
    return run_node("LpNormalization", {v}, {{"axis", whole(0)}, {"p", whole(p)}});
  };
  EXPECT_EQ(normalised(2), reals({2, 2}, {0.6, 0, -0.8, 0}));
  EXPECT_EQ(normalised(1), reals({2, 2}, {3 / 7.0, 0, -4 / 7.0, 0}));
  EXPECT_EQ(run_node("LpPool", {tensor_data({1, 1, 3}, {3, -4, 0})},
                     {{"kernel_shape", list({2})}, {"p", whole(2)}}),
            reals({1, 1, 2}, {5, 4}));
}

TEST(Gates, SwishAndWhatItOpens) {
  const TensorData x = tensor_data({2}, {0, 100}), up = tensor_data({2}, {7, 3});
  EXPECT_EQ(run_node("Swish", {x}), reals({2}, {0, 100}));
  EXPECT_EQ(run_node("SwiGLU", {x, up}), reals({2}, {0, 300}));
  EXPECT_EQ(run_node("Swish", {x}, {{"alpha", real(0.0F)}}), reals({2}, {0, 50}));
  EXPECT_EQ(run_node("SwiGLU", {x, up}, {{"alpha", real(0.0F)}}), reals({2}, {0, 150}));
}

}  // namespace
}  // namespace mote::onnx
