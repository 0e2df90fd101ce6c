// SPDX-License-Identifier: Apache-2.0
// Loops and branches of more tensors than a TensorMask holds have gradients.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "graphs/symbolic/error_of.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using namespace test;

/// ", w0 f32[2], w1 f32[2], …", with or without forms.
std::string weights(int count, const char* form = "") {
  std::string text;
  for (int k = 0; k < count; ++k) text += ", w" + std::to_string(k) + form;
  return text;
}

/// s<count> = s0 times all weights.
std::string products(int count) {
  std::string text;
  for (int k = 0; k < count; ++k) {
    const std::string n = std::to_string(k);
    text += "      s" + std::to_string(k + 1) + " = mul(s" + n + ", w" + n + ")\n";
  }
  return text;
}

std::string loop_with(int count) {
  return "graph g(x f32[2]" + weights(count, " f32[2]") + ") -> (y)\n  y = while (x" +
         weights(count) + ") counter {\n    graph step(s0 f32[2]" + weights(count, " f32[2]") +
         ", c i64[]) -> (s" + std::to_string(count) +
         ", left)\n      n = constant i64[] [2]\n      left = sub(n, c)\n" + products(count) +
         "  }\n";
}

std::string case_with(int count) {
  return "graph g(x f32[2], k i64[]" + weights(count, " f32[2]") +
         ") -> (y)\n  y = case (k) else (x) of (x" + weights(count) +
         ") {\n    graph branch(s0 f32[2]" + weights(count, " f32[2]") + ") -> (s" +
         std::to_string(count) + ")\n" + products(count) + "  }\n";
}

/// Returns the gradient of y with respect to a weight, where x is 3 and all weights are 1.
double gradient_at(const std::string& text, int count, int at) {
  SymbolicGraph g = parse_graph(text);
  g.set_outputs(gradient(g, {g.find("y")}, {g.find("w" + std::to_string(at))}));
  const Tensor three(DType::f32, {2}), one(DType::f32, {2});
  fill(three, 3);
  fill(one, 1);
  Inputs inputs = {{"x", three}};
  if (g.has("k")) inputs.emplace_back("k", integer(0));
  for (int k = 0; k < count; ++k) inputs.emplace_back("w" + std::to_string(k), one);
  return values_of(g, inputs).front();
}

TEST(ManyValues, ALoopWithMoreThanAMaskHolds) {
  for (const int count : {3, 62, 63, 64, 65, 150})
    for (const int at : {0, count / 2, count - 1})
      EXPECT_EQ(gradient_at(loop_with(count), count, at), 6) << count << " weights, weight " << at;
}

TEST(ManyValues, ACaseOfWithMoreThanAMaskHolds) {
  for (const int count : {3, 60, 61, 62, 64, 150})
    for (const int at : {0, count / 2, count - 1})
      EXPECT_EQ(gradient_at(case_with(count), count, at), 3) << count << " weights, weight " << at;
}

/// Each value is carried: a'[k] = a[k] * a[k + 1].
TEST(ManyValues, ALoopThatCarriesMoreThanAMaskHolds) {
  constexpr int kCount = 70;
  std::string inputs, forms, results, body, outputs;
  for (int k = 0; k < kCount; ++k) {
    const std::string n = std::to_string(k), comma = k > 0 ? ", " : "";
    inputs += comma + "a" + n;
    forms += comma + "a" + n + " f32[2]";
    results += comma + "y" + n;
    outputs += comma + "o" + n;
    body += "      o" + n + " = mul(a" + n + ", a" + std::to_string((k + 1) % kCount) + ")\n";
  }
  SymbolicGraph g = parse_graph(
      "graph g(" + forms + ") -> (" + results + ")\n  " + results + " = while (" + inputs +
      ") counter {\n    graph step(" + forms + ", c i64[]) -> (" + outputs +
      ", left)\n      n = constant i64[] [2]\n      left = sub(n, c)\n" + body + "  }\n");
  // After two iterations value 68 is a68 * a69^2 * a0.
  std::vector<TensorSymbol> wrt;
  for (const char* name : {"a68", "a69", "a0", "a1"}) wrt.push_back(g.find(name));
  g.set_outputs(gradient(g, std::vector{g.find("y68")}, wrt));
  Inputs values;
  const Tensor two(DType::f32, {2});
  fill(two, 2);
  for (int k = 0; k < kCount; ++k) values.emplace_back("a" + std::to_string(k), two);
  EXPECT_EQ(values_of(g, values), (Numbers{8, 8, 16, 16, 8, 8, 0, 0}));
}

/// A function's mask is one that its code sees.
TEST(ManyValues, AFunctionWithMoreThanAMaskHoldsIsRefused) {
  SymbolicGraph g("wide");
  std::vector<TensorSymbol> inputs;
  for (int k = 0; k < 65; ++k)
    inputs.push_back(g.input("x" + std::to_string(k), {DType::f32, {2}}));
  const TensorSymbol y = g.tensor({DType::f32, {2}});
  g.call({.name = "wide", .run = [](auto, auto) {}}, inputs, std::vector{y});
  const std::string error = error_of([&] { gradient(g, {y}, {inputs.back()}); });
  EXPECT_NE(error.find("the function wide has 65 inputs or outputs, expected at most 64"),
            std::string::npos)
      << error;
}

}  // namespace
}  // namespace mote
