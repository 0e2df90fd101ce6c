// SPDX-License-Identifier: Apache-2.0
// Lists gradients of softmax, logarithms of sums, variances and norms; rows are those of inputs 0
// and 1.
#include <algorithm>
#include <cmath>

#include "gradient_variants.h"

namespace mote::test {
namespace {

/// Computes gx of a row; g has one element if the op reduces.
using RowGradient = std::function<void(Row g, Row x, std::span<float> gx)>;
GradientVariant rows_of(std::string name, const RowGradient& f) {
  return {"gx", std::move(name), [f](const GradientProblem& p) {
            const auto n = static_cast<std::size_t>(p.columns);
            const auto rows = static_cast<std::size_t>(p.rows);
            const std::size_t m = p.inputs[0].size() / rows;
            Floats y(rows * n);
            for (std::size_t r = 0; r < rows; ++r)
              f(Row(p.inputs[0]).subspan(r * m, m), Row(p.inputs[1]).subspan(r * n, n),
                std::span(y).subspan(r * n, n));
            return y;
          }};
}

Floats products_of(Row a, Row b) {
  Floats t;
  for (std::size_t k = 0; k < a.size(); ++k) t.push_back(a[k] * b[k]);
  return t;
}
Floats softmax_of(Row x) {
  Floats t = exps(x, greatest(x), exp_libm);
  const float s = lanes(t);
  for (float& v : t) v /= s;
  return t;
}

GradientVariants of_softmax() {
  GradientVariants v{"softmax.grad", {}};
  for (const NamedSum& s : kSums) {
    v.correct.push_back(
        rows_of(std::string("y*(g-sum) ") + s.name, [=](Row g, Row y, std::span<float> gx) {
          const float dot = s.sum(products_of(g, y));
          for (std::size_t k = 0; k < y.size(); ++k) gx[k] = y[k] * (g[k] - dot);
        }));
    v.correct.push_back(
        rows_of(std::string("g*y-y*sum ") + s.name, [=](Row g, Row y, std::span<float> gx) {
          const float dot = s.sum(products_of(g, y));
          for (std::size_t k = 0; k < y.size(); ++k) gx[k] = g[k] * y[k] - y[k] * dot;
        }));
  }
  v.correct.push_back(rows_of("fused", [](Row g, Row y, std::span<float> gx) {
    const Floats t = products_of(g, y);
    const float dot = lanes(t);
    for (std::size_t k = 0; k < y.size(); ++k) gx[k] = std::fma(-y[k], dot, t[k]);
  }));
  v.prepare = [](GradientProblem& p) {
    const auto n = static_cast<std::size_t>(p.columns);
    if (n % 2 != 0) return;
    for (std::size_t at = 0; at < p.inputs[1].size(); at += n)
      std::ranges::copy(softmax_of(Row(p.inputs[1]).subspan(at, n)),
                        p.inputs[1].begin() + static_cast<std::ptrdiff_t>(at));
  };
  return v;
}

GradientVariants of_log_softmax() {
  GradientVariants v{"log_softmax.grad", {}};
  for (const NamedSum& s : kSums) {
    v.correct.push_back(
        rows_of(std::string("of exp(y) ") + s.name, [=](Row g, Row x, std::span<float> gx) {
          const float m = greatest(x), l = std::log(s.sum(exps(x, m, exp_libm))), total = s.sum(g);
          for (std::size_t k = 0; k < x.size(); ++k) gx[k] = g[k] - std::exp(x[k] - m - l) * total;
        }));
    v.correct.push_back(
        rows_of(std::string("of softmax ") + s.name, [=](Row g, Row x, std::span<float> gx) {
          const Floats y = softmax_of(x);
          const float total = s.sum(g);
          for (std::size_t k = 0; k < x.size(); ++k) gx[k] = g[k] - y[k] * total;
        }));
  }
  return v;
}

GradientVariants of_logsumexp() {
  GradientVariants v{"logsumexp.grad", {}};
  for (const NamedSum& s : kSums)
    v.correct.push_back(
        rows_of(std::string("g*exp(x-y) ") + s.name, [=](Row g, Row x, std::span<float> gx) {
          const float most = greatest(x), m = std::isinf(most) ? 0 : most;
          const float y = m + std::log(s.sum(exps(x, m, exp_libm)));
          for (std::size_t k = 0; k < x.size(); ++k) gx[k] = g[0] * std::exp(x[k] - y);
        }));
  v.correct.push_back(rows_of("g*(e/sum)", [](Row g, Row x, std::span<float> gx) {
    const float most = greatest(x);
    const Floats e = exps(x, std::isinf(most) ? 0 : most, exp_libm);
    const float s = lanes(e);
    for (std::size_t k = 0; k < x.size(); ++k) gx[k] = g[0] * (e[k] / s);
  }));
  return v;
}

GradientVariants of_var(std::int64_t correction) {
  GradientVariants v{"var.grad", {}};
  const auto c = static_cast<float>(correction);
  for (const NamedSum& s : kSums) {
    v.correct.push_back(
        rows_of(std::string("2*g*(x-mean)/n ") + s.name, [=](Row g, Row x, std::span<float> gx) {
          const auto n = static_cast<float>(x.size());
          const float mean = s.sum(x) / n;
          for (std::size_t k = 0; k < x.size(); ++k) gx[k] = 2 * g[0] * (x[k] - mean) / (n - c);
        }));
    v.correct.push_back(
        rows_of(std::string("2/n*g*(x-mean) ") + s.name, [=](Row g, Row x, std::span<float> gx) {
          const auto n = static_cast<float>(x.size());
          const float mean = s.sum(x) / n;
          for (std::size_t k = 0; k < x.size(); ++k) gx[k] = (2 / (n - c)) * g[0] * (x[k] - mean);
        }));
  }
  v.params["correction"] = Number(correction);
  return v;
}

/// Input 2 is y, which is not negative.
GradientVariants of_std() {
  GradientVariants v{"std.grad", {}};
  for (const NamedSum& s : kSums)
    for (const bool scaled : {false, true})
      v.correct.push_back(
          {"gx", std::string(scaled ? "g/(n*y)*(x-mean) " : "g*(x-mean)/n/y ") + s.name,
           [=](const GradientProblem& p) {
             const auto n = static_cast<std::size_t>(p.columns);
             const auto count = static_cast<float>(n);
             Floats gx;
             for (std::size_t at = 0; at < p.inputs[1].size(); ++at) {
               const std::size_t r = at / n;
               const float g = p.inputs[0][r], y = p.inputs[2][r];
               const float d = p.inputs[1][at] - s.sum(Row(p.inputs[1]).subspan(r * n, n)) / count;
               gx.push_back(scaled ? g / (count * y) * d : g * d / count / y);
             }
             return gx;
           }});
  v.params["correction"] = Number(std::int64_t{0});
  v.prepare = [](GradientProblem& p) {
    for (float& y : p.inputs[2]) y = std::fabs(y);
  };
  return v;
}

// ---- norms without weights

constexpr float kLeastNorm = 1e-12F;

GradientVariants of_l2_normalise() {
  GradientVariants v{"l2_normalise.grad", {}};
  for (const NamedSum& s : kSums) {
    const auto norm = [=](Row x) { return std::sqrt(s.sum(products_of(x, x))); };
    v.correct.push_back(rows_of(std::string("(g-y*sum(g*y))/norm ") + s.name,
                                [=](Row g, Row x, std::span<float> gx) {
                                  const float r = norm(x), d = std::max(r, kLeastNorm);
                                  Floats y(x.begin(), x.end());
                                  for (float& e : y) e /= d;
                                  const float dot = r < kLeastNorm ? 0 : s.sum(products_of(g, y));
                                  for (std::size_t k = 0; k < x.size(); ++k)
                                    gx[k] = (g[k] - y[k] * dot) / d;
                                }));
    v.correct.push_back(rows_of(
        std::string("g*r-x*(sum(g*x)*r*r*r) ") + s.name, [=](Row g, Row x, std::span<float> gx) {
          const float d = std::max(norm(x), kLeastNorm), r = 1 / d;
          const float dot = d > kLeastNorm ? s.sum(products_of(g, x)) * r * r * r : 0;
          for (std::size_t k = 0; k < x.size(); ++k) gx[k] = g[k] * r - x[k] * dot;
        }));
  }
  return v;
}

/// Input 2 is y.
GradientVariants of_norm2() {
  const auto variant = [](std::string name, float (*f)(float g, float x, float y)) {
    return GradientVariant{
        "gx", std::move(name), [f](const GradientProblem& p) {
          const auto n = static_cast<std::size_t>(p.columns);
          Floats gx;
          for (std::size_t at = 0; at < p.inputs[1].size(); ++at)
            gx.push_back(f(p.inputs[0][at / n], p.inputs[1][at], p.inputs[2][at / n]));
          return gx;
        }};
  };
  GradientVariants v{"norm2.grad",
                     {variant("x*(g/y)", [](float g, float x, float y) { return x * (g / y); }),
                      variant("g*(x/y)", [](float g, float x, float y) { return g * (x / y); }),
                      variant("g*x/y", [](float g, float x, float y) { return g * x / y; })}};
  v.prepare = [](GradientProblem& p) {
    for (float& y : p.inputs[2]) y = std::fabs(y);
  };
  return v;
}

}  // namespace

std::vector<GradientVariants> row_gradients() {
  return {of_softmax(), of_log_softmax(), of_logsumexp(),    of_var(0),
          of_var(1),    of_std(),         of_l2_normalise(), of_norm2()};
}

}  // namespace mote::test
