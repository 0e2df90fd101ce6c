// SPDX-License-Identifier: Apache-2.0
// Lists gradients of attention, cross entropy and powers.
#include <cmath>

#include "gradient_variants.h"

namespace mote::test {
namespace {

// ---- attention: gy[T, E], q[T, D], k[S, D], v[S, E], mask[T, S], y[T, E]; T = rows, S = columns

constexpr std::size_t kHead = 4, kValue = 3;
enum AttentionInput { kGrad, kQuery, kKey, kOfValues, kMask, kOutput };
constexpr float kHeadScale = 0.5F;  ///< 1/sqrt(kHead)

/// The values of one query row from which every gradient is computed.
struct AttentionRow {
  Floats share;  ///< the weight of each key
  Floats slope;  ///< the gradient of each score
};

/// The choices of a kernel: its sums, weights by the logarithm of their sum (as flash attention
/// keeps it), the scale applied to q, sum(gy*y) computed from the weights instead of y.
struct AttentionStyle {
  Sum sum;
  bool by_logarithm, scales_query, from_shares;
};

Floats product_terms(Row a, Row b, float scale) {
  Floats t;
  for (std::size_t k = 0; k < a.size(); ++k) t.push_back(a[k] * scale * b[k]);
  return t;
}

Row row_of(const GradientProblem& p, AttentionInput input, std::size_t at, std::size_t size) {
  return Row(p.inputs[input]).subspan(at * size, size);
}

Floats shares(const GradientProblem& p, std::size_t t, const AttentionStyle& style) {
  const auto keys = static_cast<std::size_t>(p.columns);
  Floats score;
  for (std::size_t s = 0; s < keys; ++s) {
    const Floats terms = product_terms(row_of(p, kQuery, t, kHead), row_of(p, kKey, s, kHead),
                                       style.scales_query ? kHeadScale : 1);
    const float dot = style.sum(terms) * (style.scales_query ? 1 : kHeadScale);
    score.push_back(dot + p.inputs[kMask][t * keys + s]);
  }
  const float most = greatest(score), total = style.sum(exps(score, most, exp_libm));
  const float log_sum = most + std::log(total);
  for (float& e : score)
    e = style.by_logarithm ? std::exp(e - log_sum) : std::exp(e - most) / total;
  return score;
}

AttentionRow attention_row(const GradientProblem& p, std::size_t t, const AttentionStyle& style) {
  AttentionRow r{shares(p, t, style), {}};
  const Row g = row_of(p, kGrad, t, kValue);
  for (std::size_t s = 0; s < r.share.size(); ++s)
    r.slope.push_back(style.sum(product_terms(g, row_of(p, kOfValues, s, kValue), 1)));
  const float mean = style.from_shares
                         ? style.sum(product_terms(r.share, r.slope, 1))
                         : style.sum(product_terms(g, row_of(p, kOutput, t, kValue), 1));
  for (std::size_t s = 0; s < r.share.size(); ++s) r.slope[s] = r.share[s] * (r.slope[s] - mean);
  return r;
}

/// Computes sums over keys, or over rows, of weight(t, s) times the row of `other`.
Floats weighted(const GradientProblem& p, const AttentionStyle& style, const std::string& output) {
  const auto rows = static_cast<std::size_t>(p.rows), keys = static_cast<std::size_t>(p.columns);
  std::vector<AttentionRow> all;
  for (std::size_t t = 0; t < rows; ++t) all.push_back(attention_row(p, t, style));
  if (output == "gmask") {
    Floats y;
    for (const AttentionRow& r : all) y.insert(y.end(), r.slope.begin(), r.slope.end());
    return y;
  }
  const bool of_query = output == "gq", of_value = output == "gv";
  const std::size_t size = of_value ? kValue : kHead;
  const AttentionInput other = of_query ? kKey : of_value ? kGrad : kQuery;
  Floats y;
  for (std::size_t to = 0; to < (of_query ? rows : keys); ++to)
    for (std::size_t d = 0; d < size; ++d) {
      Floats terms;
      for (std::size_t from = 0; from < (of_query ? keys : rows); ++from) {
        const AttentionRow& r = all[of_query ? to : from];
        const std::size_t s = of_query ? from : to;
        const float x = row_of(p, other, from, size)[d];
        terms.push_back(of_value ? r.share[s] * x : r.slope[s] * x);
      }
      y.push_back(style.sum(terms) * (of_value ? 1 : kHeadScale));
    }
  return y;
}

/// Sets y to the op's output, rounded.
void attend(GradientProblem& p) {
  p.inputs[kOutput].clear();
  for (std::size_t t = 0; t < static_cast<std::size_t>(p.rows); ++t) {
    const Floats share = shares(p, t, {in_double, false, false, false});
    for (std::size_t e = 0; e < kValue; ++e) {
      double y = 0;
      for (std::size_t s = 0; s < share.size(); ++s)
        y += double{share[s]} * p.inputs[kOfValues][s * kValue + e];
      p.inputs[kOutput].push_back(static_cast<float>(y));
    }
  }
}

GradientVariants of_attention() {
  GradientVariants v{"attention.grad",
                     {},
                     {{"T", kRows},
                      {"S", kColumns},
                      {"K", 1},
                      {"D", std::int64_t{kHead}},
                      {"E", std::int64_t{kValue}}}};
  for (const char* output : {"gq", "gk", "gv", "gmask"})
    for (const NamedSum& s : {kSums[0], kSums[3], kSums[6]})
      // By the logarithm the weights do not sum to exactly 1; the error grows with the scores. With
      // sum(p*dp) of those weights, the difference p*(dp - sum) of a weight near 1 would contain
      // that error, so this combination is left out.
      for (const int bits : {0, 1, 2, 3, 4, 6}) {
        const AttentionStyle style{s.sum, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
        GradientVariant variant{
            output, "", [=](const GradientProblem& p) { return weighted(p, style, output); }};
        variant.name = std::string(style.by_logarithm ? "exp(s-lse)" : "exp(s-max)/sum") +
                       (style.scales_query ? ", q scaled" : "") +
                       (style.from_shares ? ", sum(p*dp) " : ", sum(gy*y) ") + s.name;
        v.correct.push_back(std::move(variant));
      }
  v.most_columns = 16;
  v.prepare = attend;
  return v;
}

// ---- cross_entropy: gy, x[R, K], target[R], weight[K], y; K = columns

GradientVariants of_cross_entropy() {
  GradientVariants v{"cross_entropy.grad", {}, {{"K", kColumns}}};
  for (const NamedSum& s : kSums)
    v.correct.push_back(
        {"gx", std::string("(softmax-onehot)*w*(g/sum(w)) ") + s.name,
         [=](const GradientProblem& p) {
           const auto n = static_cast<std::size_t>(p.columns);
           Floats weights, gx;
           for (const float t : p.inputs[2])
             weights.push_back(p.inputs[3][static_cast<std::size_t>(t)]);
           const float scaled = p.inputs[0][0] / s.sum(weights);
           for (std::size_t r = 0; r < weights.size(); ++r) {
             const Row x = Row(p.inputs[1]).subspan(r * n, n);
             const float most = greatest(x), total = s.sum(exps(x, most, exp_libm));
             for (std::size_t k = 0; k < n; ++k) {
               const float hot = static_cast<std::size_t>(p.inputs[2][r]) == k ? 1 : 0;
               gx.push_back((std::exp(x[k] - most) / total - hot) * (weights[r] * scaled));
             }
           }
           return gx;
         }});
  v.params["mean"] = Number(std::int64_t{1});
  v.prepare = [](GradientProblem& p) {
    for (float& w : p.inputs[3]) w = std::fabs(w);
  };
  return v;
}

// ---- pow: gy, a, b, y

GradientVariants of_pow() {
  const auto of = [](std::string output, std::string name,
                     const std::function<float(float, float, float, float)>& f) {
    return pointwise(std::move(output), std::move(name),
                     [f](Row in) { return f(in[0], in[1], in[2], in[3]); });
  };
  GradientVariants v{"pow.grad",
                     {of("ga", "g*(b*pow(a,b-1))",
                         [](float g, float a, float b, float) {
                           return b == 0 ? 0 : g * (b * std::pow(a, b - 1));
                         }),
                      of("gb", "g*(y*log(a))",
                         [](float g, float a, float b, float y) {
                           return a == 0 && b >= 0 ? 0 : g * (y * std::log(a));
                         }),
                      of("gb", "log(a)*pow(a,b)*g", [](float g, float a, float b, float) {
                        return a == 0 && b >= 0 ? 0 : std::log(a) * std::pow(a, b) * g;
                      })}};
  v.prepare = [](GradientProblem& p) {
    for (std::size_t k = 0; k < p.inputs[1].size(); ++k) {
      p.inputs[1][k] = std::fabs(p.inputs[1][k]);
      p.inputs[3][k] = static_cast<float>(std::pow(double{p.inputs[1][k]}, double{p.inputs[2][k]}));
    }
  };
  return v;
}

}  // namespace

std::vector<GradientVariants> attention_gradients() {
  return {of_attention(), of_cross_entropy(), of_pow()};
}

}  // namespace mote::test
