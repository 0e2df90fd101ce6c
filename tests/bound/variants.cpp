#include "variants.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "mote/base/float16.h"

namespace mote::test {
namespace {

using Row = std::span<const float>;
using Sum = float (*)(Row);
constexpr float kEps = 1e-5F;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// ---- sums

float forward(Row x) {
  float s = 0;
  for (const float v : x) s += v;
  return s;
}
float backward(Row x) {
  float s = 0;
  for (std::size_t k = x.size(); k-- > 0;) s += x[k];
  return s;
}
float pairwise(Row x) {
  if (x.empty()) return 0;
  if (x.size() == 1) return x[0];
  const std::size_t half = x.size() / 2;
  return pairwise(x.first(half)) + pairwise(x.subspan(half));
}
float lanes(Row x) {
  float lane[8] = {};
  for (std::size_t k = 0; k < x.size(); ++k) lane[k % 8] += x[k];
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}
float blocked(Row x) {
  float s = 0;
  for (std::size_t k = 0; k < x.size(); k += 32)
    s += forward(x.subspan(k, std::min<std::size_t>(32, x.size() - k)));
  return s;
}
float kahan(Row x) {
  float s = 0, lost = 0;
  for (const float v : x) {
    const float y = v - lost, t = s + y;
    lost = (t - s) - y;
    s = t;
  }
  return s;
}
float in_double(Row x) {
  double s = 0;
  for (const float v : x) s += v;
  return static_cast<float>(s);
}
float but_the_last(Row x) { return x.empty() ? 0 : forward(x.first(x.size() - 1)); }
float f16_of(float v) { return static_cast<float>(from_f16(to_f16(v))); }
float bf16_of(float v) { return static_cast<float>(from_bf16(to_bf16(v))); }
/// 11 significant bits.
float tf32_of(float v) {
  return std::isfinite(v)
             ? static_cast<float>(
                   std::nearbyint(std::ldexp(v, 11 - (v == 0 ? 0 : std::ilogb(v) + 1))) *
                   std::ldexp(1.0, (v == 0 ? 0 : std::ilogb(v) + 1) - 11))
             : v;
}
float in_f16(Row x) {
  float s = 0;
  for (const float v : x) s = f16_of(s + f16_of(v));
  return s;
}
float tf32_terms(Row x) {
  float s = 0;
  for (const float v : x) s += tf32_of(v);
  return s;
}

struct NamedSum {
  const char* name;
  Sum sum;
};
constexpr NamedSum kSums[] = {{"forward", forward}, {"backward", backward}, {"pairwise", pairwise},
                              {"lanes", lanes},     {"blocked", blocked},   {"kahan", kahan},
                              {"double", in_double}};

// ---- rows

using RowOp = std::function<void(Row x, std::span<float> y)>;
Variant by_rows(std::string name, RowOp op, bool reduces = false) {
  return {std::move(name), [op, reduces](const Problem& p) {
            const auto n = static_cast<std::size_t>(p.columns), m = reduces ? 1 : n;
            Floats y(static_cast<std::size_t>(p.rows) * m);
            for (std::size_t r = 0; r < static_cast<std::size_t>(p.rows); ++r)
              op(Row(p.inputs[0]).subspan(r * n, n), std::span(y).subspan(r * m, m));
            return y;
          }};
}
Variant elementwise(std::string name, const std::function<float(float)>& f) {
  return by_rows(std::move(name), [f](Row x, std::span<float> y) {
    for (std::size_t k = 0; k < x.size(); ++k) y[k] = f(x[k]);
  });
}
float greatest(Row x) {
  float m = kLowest;
  for (const float v : x) m = std::max(m, v);
  return m;
}
Floats squares(Row x, float mean) {
  Floats s;
  for (const float v : x) s.push_back((v - mean) * (v - mean));
  return s;
}
Floats exps(Row x, float shift, float (*e)(float)) {
  Floats s;
  for (const float v : x) s.push_back(e(v - shift));
  return s;
}
float exp_libm(float v) { return std::exp(v); }
/// 2^(v log2 e) in float: the argument's error becomes one of the result. Not a correct exp alone,
/// but inside a softmax it stands for perturbed inputs only where these are small.
float exp_by_exp2(float v) {
  return static_cast<float>(std::exp2(static_cast<double>(v * 1.44269504F)));
}
float exp_bf16(float v) { return bf16_of(std::exp(v)); }
/// A polynomial on [-ln2/2, ln2/2] after reduction in two steps, within 4 ulp.
float exp_polynomial(float v) {
  if (std::isnan(v)) return v;
  if (v < -104) return 0;
  if (v > 89) return std::numeric_limits<float>::infinity();
  const float n = std::nearbyint(v * 1.44269504F);
  const float r = std::fma(n, -1.42860677e-6F, std::fma(n, -0.693145752F, v));
  float p = 1.0F / 5040;
  for (const float c : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F})
    p = std::fma(p, r, c);
  return static_cast<float>(std::ldexp(static_cast<double>(p), static_cast<int>(n)));
}

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

// ---- two inputs: x[R, N] and w[N, 5]

Variant matmul(std::string name, const std::function<float(Row, Row)>& dot) {
  return {std::move(name), [dot](const Problem& p) {
            const auto n = static_cast<std::size_t>(p.columns);
            const std::size_t m = p.inputs[1].size() / std::max<std::size_t>(n, 1);
            Floats y;
            for (std::size_t r = 0; r < static_cast<std::size_t>(p.rows); ++r)
              for (std::size_t c = 0; c < m; ++c) {
                Floats column;
                for (std::size_t k = 0; k < n; ++k) column.push_back(p.inputs[1][k * m + c]);
                y.push_back(dot(Row(p.inputs[0]).subspan(r * n, n), column));
              }
            return y;
          }};
}
Floats products(Row a, Row b, float (*as)(float)) {
  Floats t;
  for (std::size_t k = 0; k < a.size(); ++k) t.push_back(as(a[k]) * as(b[k]));
  return t;
}
float itself(float v) { return v; }
float dot_fma(Row a, Row b) {
  float s = 0;
  for (std::size_t k = 0; k < a.size(); ++k) s = std::fma(a[k], b[k], s);
  return s;
}

float sigmoid(float v) { return 1 / (1 + std::exp(-v)); }
float gelu(float v) { return 0.5F * v * (1 + std::erf(v * 0.70710678F)); }
float gelu_by_tanh(float v) {
  return 0.5F * v * (1 + std::tanh(0.79788456F * (v + 0.044715F * v * v * v)));
}

// ---- the lists

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

VariantsOfOp matmuls() {
  VariantsOfOp v{"matmul", {}, {}};
  for (const NamedSum& s : kSums)
    v.correct.push_back(
        matmul(s.name, [=](Row a, Row b) { return s.sum(products(a, b, itself)); }));
  v.correct.push_back(matmul("fma", dot_fma));
  v.defective = {
      matmul("drops the last term",
             [](Row a, Row b) { return but_the_last(products(a, b, itself)); }),
      matmul("operands in tf32", [](Row a, Row b) { return lanes(products(a, b, tf32_of)); }),
      matmul("operands in bf16", [](Row a, Row b) { return lanes(products(a, b, bf16_of)); }),
      matmul("sum in f16", [](Row a, Row b) { return in_f16(products(a, b, itself)); })};
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
    std::vector<VariantsOfOp> v = {softmaxes(),    log_softmaxes(), layer_norms(), rms_norms(),
                                   sums_of("sum"), sums_of("mean"), variances(),   matmuls()};
    for (VariantsOfOp& a : activations()) v.push_back(std::move(a));
    return v;
  }();
  return all;
}

}  // namespace mote::test
