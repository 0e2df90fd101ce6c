// SPDX-License-Identifier: Apache-2.0
// Lists variants of softmax, log_softmax, norms, variance and batch_norm.
#include <algorithm>
#include <cmath>

#include "variant_parts.h"

namespace mote::test {
namespace {

void softmax(Row x, std::span<float> y, Sum sum, float (*e)(float), bool reciprocal) {
  const Floats t = exps(x, greatest(x), e);
  const float s = sum(t);
  for (std::size_t k = 0; k < x.size(); ++k) y[k] = reciprocal ? t[k] * (1 / s) : t[k] / s;
}
void softmax_online(Row x, std::span<float> y) {
  float m = kLowest, s = 0;
  for (const float v : x) {
    const float next = std::max(m, v);
    s = s * (m == kLowest ? 0 : std::exp(m - next)) + std::exp(v - next);
    m = next;
  }
  for (std::size_t k = 0; k < x.size(); ++k) y[k] = std::exp(x[k] - m) / s;
}

struct Statistics {
  float mean, variance;
};
Statistics two_pass(Row x, Sum sum) {
  const auto n = static_cast<float>(x.size());
  const float mean = sum(x) / n;
  return {mean, sum(squares(x, mean)) / n};
}
Statistics welford(Row x) {
  float mean = 0, m2 = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const float d = x[k] - mean;
    mean += d / static_cast<float>(k + 1);
    m2 += d * (x[k] - mean);
  }
  return {mean, m2 / static_cast<float>(x.size())};
}
Statistics one_pass(Row x) {
  const auto n = static_cast<float>(x.size());
  Floats s;
  for (const float v : x) s.push_back(v * v);
  const float mean = forward(x) / n;
  return {mean, std::max(forward(s) / n - mean * mean, 0.0F)};
}
using Stats = std::function<Statistics(Row)>;
Variant layer_norm(std::string name, const Stats& stats, float eps = kEps, bool folded = false,
                   bool outside = false) {
  return by_rows(std::move(name), [=](Row x, std::span<float> y) {
    const auto [mean, variance] = stats(x);
    const float r = outside ? 1 / (std::sqrt(variance) + eps) : 1 / std::sqrt(variance + eps);
    for (std::size_t k = 0; k < x.size(); ++k)
      y[k] = folded ? std::fma(x[k], r, -(mean * r)) : (x[k] - mean) * r;
  });
}
Variant rms_norm(std::string name, Sum sum, float eps = kEps, bool divides = false) {
  return by_rows(std::move(name), [=](Row x, std::span<float> y) {
    const float v = sum(squares(x, 0)) / static_cast<float>(x.size()) + eps;
    for (std::size_t k = 0; k < x.size(); ++k)
      y[k] = divides ? x[k] / std::sqrt(v) : x[k] * (1 / std::sqrt(v));
  });
}

VariantsOfOp softmaxes() {
  VariantsOfOp v{"softmax", {}, {}};
  for (const NamedSum& s : kSums)
    for (const bool reciprocal : {false, true})
      v.correct.push_back(
          by_rows(std::string(s.name) + (reciprocal ? " reciprocal" : ""),
                  [=](Row x, auto y) { softmax(x, y, s.sum, exp_libm, reciprocal); }));
  v.correct.push_back(
      by_rows("exp polynomial", [](Row x, auto y) { softmax(x, y, lanes, exp_polynomial, true); }));
  v.correct.push_back(
      by_rows("exp2", [](Row x, auto y) { softmax(x, y, lanes, exp_by_exp2, true); }));
  v.correct.push_back(by_rows("online", softmax_online));
  v.correct.push_back(by_rows("logsumexp", [](Row x, auto y) {
    const float m = greatest(x), l = std::log(pairwise(exps(x, m, exp_libm)));
    for (std::size_t k = 0; k < x.size(); ++k) y[k] = std::exp(x[k] - m - l);
  }));
  v.defective = {
      by_rows("drops the last term",
              [](Row x, auto y) { softmax(x, y, but_the_last, exp_libm, false); }),
      by_rows("exp in bf16", [](Row x, auto y) { softmax(x, y, lanes, exp_bf16, false); }),
      by_rows("sum in f16", [](Row x, auto y) { softmax(x, y, in_f16, exp_libm, false); }),
      by_rows("no maximum", [](Row x, auto y) {
        const Floats t = exps(x, 0, exp_libm);
        for (std::size_t k = 0; k < x.size(); ++k) y[k] = t[k] / lanes(t);
      })};
  return v;
}

VariantsOfOp log_softmaxes() {
  VariantsOfOp v{"log_softmax", {}, {}};
  const auto variant = [](Sum sum, bool drops) {
    return [=](Row x, std::span<float> y) {
      const float m = greatest(x), l = std::log(sum(exps(x, m, exp_libm)));
      for (std::size_t k = 0; k < x.size(); ++k) y[k] = drops ? x[k] - (m + l) : x[k] - m - l;
    };
  };
  for (const NamedSum& s : kSums) {
    v.correct.push_back(by_rows(s.name, variant(s.sum, false)));
    v.correct.push_back(by_rows(std::string(s.name) + " of x - logsumexp", variant(s.sum, true)));
  }
  v.defective = {by_rows("drops the last term", variant(but_the_last, false)),
                 by_rows("log of softmax", [](Row x, auto y) {
                   softmax(x, y, lanes, exp_libm, false);
                   for (float& e : y) e = std::log(e);
                 })};
  return v;
}

VariantsOfOp layer_norms() {
  VariantsOfOp v{"layer_norm", {}, {}};
  for (const NamedSum& s : kSums)
    for (const bool folded : {false, true})
      v.correct.push_back(layer_norm(
          std::string(s.name) + (folded ? " folded" : ""),
          [=](Row x) { return two_pass(x, s.sum); }, kEps, folded));
  v.correct.push_back(layer_norm("welford", welford));
  const Stats plain = [](Row x) { return two_pass(x, lanes); };
  v.defective = {layer_norm("one pass", one_pass),
                 layer_norm("eps 1e-6", plain, 1e-6F),
                 layer_norm("no eps", plain, 0),
                 layer_norm("eps outside the root", plain, kEps, false, true),
                 layer_norm("drops the last square",
                            [](Row x) {
                              Statistics s = two_pass(x, lanes);
                              s.variance =
                                  but_the_last(squares(x, s.mean)) / static_cast<float>(x.size());
                              return s;
                            }),
                 layer_norm("unbiased", [](Row x) {
                   Statistics s = two_pass(x, lanes);
                   const auto n = static_cast<float>(x.size());
                   s.variance *= n / std::max(n - 1, 1.0F);
                   return s;
                 })};
  return v;
}

VariantsOfOp rms_norms() {
  VariantsOfOp v{"rms_norm", {}, {}};
  for (const NamedSum& s : kSums) {
    v.correct.push_back(rms_norm(s.name, s.sum));
    v.correct.push_back(rms_norm(std::string(s.name) + " divides", s.sum, kEps, true));
  }
  v.defective = {rms_norm("drops the last square", but_the_last),
                 rms_norm("eps 1e-6", lanes, 1e-6F), rms_norm("squares in tf32", tf32_terms)};
  return v;
}

VariantsOfOp variances() {
  VariantsOfOp v{"var", {}, {}};
  const auto variant = [](const Stats& stats) {
    return [=](Row x, std::span<float> y) { y[0] = stats(x).variance; };
  };
  for (const NamedSum& s : kSums)
    v.correct.push_back(by_rows(s.name, variant([=](Row x) { return two_pass(x, s.sum); }), true));
  v.correct.push_back(by_rows("welford", variant(welford), true));
  v.defective = {by_rows("one pass", variant(one_pass), true),
                 by_rows("unbiased", variant([](Row x) {
                           Statistics s = two_pass(x, lanes);
                           const auto n = static_cast<float>(x.size());
                           s.variance *= n / std::max(n - 1, 1.0F);
                           return s;
                         }),
                         true)};
  return v;
}

// ---- x[R, N] with a channel for each column; gamma, beta, mean and variance of each

struct Channel {
  float gamma, beta, mean, variance;
};
using Normalise = float (*)(float x, const Channel& c, float eps);

Variant batch_norm(std::string name, Normalise f, float eps = kEps, std::size_t shift = 0) {
  return {std::move(name), [=](const Problem& p) {
            const auto n = static_cast<std::size_t>(p.columns);
            Floats y;
            for (std::size_t k = 0; k < p.inputs[0].size(); ++k) {
              const std::size_t c = (k + shift) % n;
              y.push_back(f(p.inputs[0][k],
                            {p.inputs[1][c], p.inputs[2][c], p.inputs[3][c], p.inputs[4][c]}, eps));
            }
            return y;
          }};
}
float normalised(float x, const Channel& c, float eps) {
  return (x - c.mean) / std::sqrt(c.variance + eps) * c.gamma + c.beta;
}
float by_scale(float x, const Channel& c, float eps) {
  return (x - c.mean) * (c.gamma * (1 / std::sqrt(c.variance + eps))) + c.beta;
}
/// Folds the statistics into a scale and a shift, which leaves one multiply-add.
float folded(float x, const Channel& c, float eps) {
  const float scale = c.gamma / std::sqrt(c.variance + eps), shift = c.beta - c.mean * scale;
  return std::fma(x, scale, shift);
}
float folded_apart(float x, const Channel& c, float eps) {
  const float scale = c.gamma * (1 / std::sqrt(c.variance + eps));
  return x * scale + (c.beta - c.mean * scale);
}

VariantsOfOp batch_norms() {
  VariantsOfOp v{"batch_norm", {}, {}};
  v.correct = {batch_norm("plain", normalised), batch_norm("by scale", by_scale),
               batch_norm("folded", folded), batch_norm("folded, two roundings", folded_apart)};
  v.defective = {batch_norm("folded scale in bf16",
                            [](float x, const Channel& c, float eps) {
                              const float scale = bf16_of(c.gamma / std::sqrt(c.variance + eps));
                              return std::fma(x, scale, c.beta - c.mean * scale);
                            }),
                 batch_norm("folded shift without the mean",
                            [](float x, const Channel& c, float eps) {
                              return std::fma(x, c.gamma / std::sqrt(c.variance + eps), c.beta);
                            }),
                 batch_norm("eps 1e-6", normalised, 1e-6F), batch_norm("no eps", folded, 0),
                 batch_norm("the next channel's", folded, kEps, 1)};
  return v;
}

}  // namespace

std::vector<VariantsOfOp> normalise_variants() {
  return {softmaxes(), log_softmaxes(), layer_norms(), rms_norms(), variances(), batch_norms()};
}

}  // namespace mote::test
