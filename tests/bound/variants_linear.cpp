// SPDX-License-Identifier: Apache-2.0
// Lists variants of matrix products and attention.
#include <algorithm>
#include <cmath>

#include "variant_parts.h"

namespace mote::test {
namespace {

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

// ---- gemm: a[R, K], b[K, 4], c[R, 4]; alpha and beta are no floats

/// Computes an element from a row of a, a column of b and an element of c.
using Element = std::function<float(Row a, Row b, float c)>;
Variant gemm(std::string name, const Element& element) {
  return {std::move(name), [element](const Problem& p) {
            const auto n = static_cast<std::size_t>(p.columns);
            Floats y;
            for (std::size_t at = 0; at < p.inputs[2].size(); ++at) {
              constexpr std::size_t kColumns = 4;
              Floats column;
              for (std::size_t k = 0; k < n; ++k)
                column.push_back(p.inputs[1][k * kColumns + at % kColumns]);
              y.push_back(
                  element(Row(p.inputs[0]).subspan(at / kColumns * n, n), column, p.inputs[2][at]));
            }
            return y;
          }};
}
constexpr auto kAlpha = static_cast<float>(kGemmAlpha);
constexpr auto kBeta = static_cast<float>(kGemmBeta);

/// Adds one product after the other to beta c, as the reference BLAS does.
float products_into_c(Row a, Row b, float c) {
  float y = kBeta * c;
  for (std::size_t k = 0; k < a.size(); ++k) y += kAlpha * b[k] * a[k];
  return y;
}
/// Adds blocks of K that fit the cache, as fast libraries do.
float blocks_into_c(Row a, Row b, float c) {
  float y = kBeta * c;
  constexpr std::size_t kBlock = 3;
  for (std::size_t k = 0; k < a.size(); k += kBlock) {
    const std::size_t size = std::min(kBlock, a.size() - k);
    y = std::fma(kAlpha, dot_fma(a.subspan(k, size), b.subspan(k, size)), y);
  }
  return y;
}

VariantsOfOp gemms() {
  VariantsOfOp v{"gemm", {}, {}};
  for (const NamedSum& s : kSums)
    v.correct.push_back(gemm(s.name, [=](Row a, Row b, float c) {
      return kAlpha * s.sum(products(a, b, itself)) + kBeta * c;
    }));
  v.correct.push_back(gemm("products into c", products_into_c));
  v.correct.push_back(gemm("blocks into c", blocks_into_c));
  v.defective = {
      gemm("alpha multiplies c too",
           [](Row a, Row b, float c) { return kAlpha * (dot_fma(a, b) + kBeta * c); }),
      gemm("without beta", [](Row a, Row b, float c) { return kAlpha * dot_fma(a, b) + c; }),
      gemm("drops the last term",
           [](Row a, Row b, float c) {
             return kAlpha * but_the_last(products(a, b, itself)) + kBeta * c;
           }),
      gemm("operands in tf32", [](Row a, Row b, float c) {
        return kAlpha * lanes(products(a, b, tf32_of)) + kBeta * c;
      })};
  return v;
}

// ---- attention: q[T, D] = inputs 0 with T = rows, k[S, D], v[S, E] with S = columns

constexpr std::size_t kDepth = 4;   ///< D
constexpr std::size_t kValues = 3;  ///< E

struct Scores {
  float scale = 0.5F;                ///< 1/sqrt(D)
  float (*product)(float) = itself;  ///< rounds the operands of q k
};
float score(const Problem& p, std::size_t t, std::size_t s, const Scores& how) {
  float sum = 0;
  for (std::size_t d = 0; d < kDepth; ++d)
    sum = std::fma(how.product(p.inputs[0][t * kDepth + d]),
                   how.product(p.inputs[1][s * kDepth + d]), sum);
  return sum * how.scale;
}
float value(const Problem& p, std::size_t s, std::size_t e) { return p.inputs[2][s * kValues + e]; }

using Attend = std::function<void(const Problem& p, std::size_t t, std::span<float> y)>;
Variant attention(std::string name, const Attend& attend) {
  return {std::move(name), [attend](const Problem& p) {
            Floats y(static_cast<std::size_t>(p.rows) * kValues);
            for (std::size_t t = 0; t < static_cast<std::size_t>(p.rows); ++t)
              attend(p, t, std::span(y).subspan(t * kValues, kValues));
            return y;
          }};
}

/// Keeps a whole row for scores, softmax and product.
Attend whole_rows(const Scores& how, Sum sum) {
  return [=](const Problem& p, std::size_t t, std::span<float> y) {
    Floats scores;
    for (std::size_t s = 0; s < static_cast<std::size_t>(p.columns); ++s)
      scores.push_back(score(p, t, s, how));
    const Floats weights = exps(scores, greatest(scores), exp_libm);
    const float all = sum(weights);
    for (std::size_t e = 0; e < kValues; ++e) {
      Floats terms;
      for (std::size_t s = 0; s < weights.size(); ++s)
        terms.push_back(weights[s] / all * value(p, s, e));
      y[e] = sum(terms);
    }
  };
}

/// Flash attention, forward: keys by tiles, a running maximum; earlier sums are rescaled when the
/// maximum rises.
struct Flash {
  std::size_t tile = 4;
  bool scales = true;      ///< false is a defect: the values keep the old maximum
  bool scales_sum = true;  ///< false is a defect: the sum keeps the old maximum
  bool bf16_weights = false;
  bool last_tile = true;  ///< false is a defect: a partial tile is left out
};
Attend flash(const Flash& f) {
  return [=](const Problem& p, std::size_t t, std::span<float> y) {
    const auto keys = static_cast<std::size_t>(p.columns);
    float m = kLowest, sum = 0;
    for (std::size_t begin = 0; begin < keys; begin += f.tile) {
      if (!f.last_tile && begin > 0 && begin + f.tile > keys) break;
      Floats scores;
      for (std::size_t s = begin; s < std::min(begin + f.tile, keys); ++s)
        scores.push_back(score(p, t, s, {}));
      const float next = std::max(m, greatest(scores));
      const float correction = m == kLowest ? 0 : std::exp(m - next);
      m = next;
      const Floats weights = exps(scores, m, f.bf16_weights ? exp_bf16 : exp_libm);
      sum = (f.scales_sum ? sum * correction : sum) + forward(weights);
      for (std::size_t e = 0; e < kValues; ++e) {
        float tile = 0;
        for (std::size_t s = 0; s < weights.size(); ++s)
          tile = std::fma(weights[s], value(p, begin + s, e), tile);
        y[e] = (f.scales ? y[e] * correction : y[e]) + tile;
      }
    }
    for (float& v : y) v /= sum;
  };
}

VariantsOfOp attentions() {
  VariantsOfOp v{"attention", {}, {}};
  for (const NamedSum& s : kSums) v.correct.push_back(attention(s.name, whole_rows({}, s.sum)));
  for (const std::size_t tile : {1U, 4U, 16U, 64U})
    v.correct.push_back(attention("flash " + std::to_string(tile), flash({.tile = tile})));
  v.defective = {attention("scores of tf32", whole_rows({.product = tf32_of}, lanes)),
                 attention("scale of three digits", whole_rows({.scale = 0.501F}, lanes)),
                 attention("flash without correction", flash({.scales = false})),
                 attention("flash, sum without correction", flash({.scales_sum = false})),
                 attention("flash without the last tile", flash({.last_tile = false})),
                 attention("flash, exp in bf16", flash({.bf16_weights = true}))};
  return v;
}

}  // namespace

std::vector<VariantsOfOp> linear_variants() { return {matmuls(), gemms(), attentions()}; }

}  // namespace mote::test
