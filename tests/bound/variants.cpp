// SPDX-License-Identifier: Apache-2.0
// Lists variants of sums and activations, and collects all lists.
#include "variants.h"

#include <algorithm>
#include <cmath>

#include "variant_parts.h"

namespace mote::test {
namespace {

float sigmoid(float v) { return 1 / (1 + std::exp(-v)); }
float gelu(float v) { return 0.5F * v * (1 + std::erf(v * 0.70710678F)); }
float gelu_by_tanh(float v) {
  return 0.5F * v * (1 + std::tanh(0.79788456F * (v + 0.044715F * v * v * v)));
}

VariantsOfOp sums_of(const std::string& op) {
  VariantsOfOp v{op, {}, {}};
  const bool mean = op == "mean";
  const auto variant = [mean](Sum sum) {
    return [=](Row x, std::span<float> y) {
      y[0] = mean ? sum(x) / static_cast<float>(x.size()) : sum(x);
    };
  };
  for (const NamedSum& s : kSums) v.correct.push_back(by_rows(s.name, variant(s.sum), true));
  v.defective = {by_rows("drops the last term", variant(but_the_last), true),
                 by_rows("terms in tf32", variant(tf32_terms), true),
                 by_rows("sum in f16", variant(in_f16), true),
                 by_rows(
                     "the last term twice",
                     [variant](Row x, auto y) {
                       variant(forward)(x, y);
                       y[0] += x.back();
                     },
                     true)};
  return v;
}

// 0.5 + 0.5*tanh(x/2) is not among the correct forms of sigmoid: for x << 0 it subtracts nearly
// equal numbers, so that its error is a unit of 0.5, not of the result. It is a form of its own
// (variants_test.cpp).
std::vector<VariantsOfOp> activations() {
  return {{"sigmoid",
           {elementwise("plain", sigmoid),
            elementwise("exp polynomial", [](float v) { return 1 / (1 + exp_polynomial(-v)); })},
           {elementwise("in bf16", [](float v) { return bf16_of(sigmoid(v)); }),
            elementwise("hard", [](float v) { return std::clamp(v / 6 + 0.5F, 0.0F, 1.0F); })}},
          {"silu",
           {elementwise("product", [](float v) { return v * sigmoid(v); }),
            elementwise("quotient", [](float v) { return v / (1 + std::exp(-v)); })},
           {elementwise("sigmoid in bf16", [](float v) { return v * bf16_of(sigmoid(v)); })}},
          {"gelu",
           {elementwise("plain", gelu),
            elementwise("x first",
                        [](float v) { return v * (0.5F * (1 + std::erf(v / std::sqrt(2.0F)))); })},
           {elementwise("tanh form", gelu_by_tanh),
            elementwise("three digits",
                        [](float v) { return 0.5F * v * (1 + std::erf(v * 0.7071F)); })}},
          {"gelu_tanh",
           {elementwise("plain", gelu_by_tanh), elementwise("horner",
                                                            [](float v) {
                                                              const float t =
                                                                  0.79788456F * v *
                                                                  std::fma(0.044715F * v, v, 1.0F);
                                                              return 0.5F * v * (1 + std::tanh(t));
                                                            })},
           {elementwise("erf form", gelu),
            elementwise("short constant",
                        [](float v) {
                          return 0.5F * v * (1 + std::tanh(0.79788F * (v + 0.044715F * v * v * v)));
                        })}},
          {"exp",
           {elementwise("libm", exp_libm), elementwise("polynomial", exp_polynomial)},
           {elementwise("in bf16", exp_bf16),
            elementwise("of a tf32 argument", [](float v) { return std::exp(tf32_of(v)); })}}};
}

}  // namespace

const std::vector<VariantsOfOp>& variants() {
  static const std::vector<VariantsOfOp> all = [] {
    std::vector<VariantsOfOp> v = normalise_variants();
    v.push_back(sums_of("sum"));
    v.push_back(sums_of("mean"));
    for (auto list : {linear_variants, activations})
      for (VariantsOfOp& a : list()) v.push_back(std::move(a));
    return v;
  }();
  return all;
}

}  // namespace mote::test
