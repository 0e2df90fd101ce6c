// SPDX-License-Identifier: Apache-2.0
// Lists gradients of layer_norm, rms_norm and batch_norm_training: gy, x and gamma of each column.
#include <algorithm>
#include <cmath>

#include "gradient_variants.h"

namespace mote::test {
namespace {

struct NormRow {
  Row g, x, gamma;
  Floats weighted;  ///< g*gamma
};
using NormGradient = std::function<void(const NormRow& r, std::span<float> gx)>;

GradientVariant normed(std::string name, const NormGradient& f) {
  return {
      "gx", std::move(name), [f](const GradientProblem& p) {
        const auto n = static_cast<std::size_t>(p.columns);
        Floats y(p.inputs[1].size());
        for (std::size_t at = 0; at < y.size(); at += n) {
          NormRow r{
              Row(p.inputs[0]).subspan(at, n), Row(p.inputs[1]).subspan(at, n), p.inputs[2], {}};
          for (std::size_t k = 0; k < n; ++k) r.weighted.push_back(r.g[k] * r.gamma[k]);
          f(r, std::span(y).subspan(at, n));
        }
        return y;
      }};
}
Floats times(Row a, Row b) {
  Floats t;
  for (std::size_t k = 0; k < a.size(); ++k) t.push_back(a[k] * b[k]);
  return t;
}
struct Moments {
  float mean, slope;
};
/// Computes the moments in two passes.
Moments moments(Row x, Sum sum) {
  const auto n = static_cast<float>(x.size());
  const float mean = sum(x) / n;
  return {mean, 1 / std::sqrt(sum(squares(x, mean)) / n + kEps)};
}

/// Computes gx = r/n (n w - Σw - x̂ Σ(w x̂)), as on GPUs.
NormGradient by_normalised(Sum sum) {
  return [=](const NormRow& r, std::span<float> gx) {
    const auto n = static_cast<float>(r.x.size());
    const auto [mean, slope] = moments(r.x, sum);
    Floats normal;
    for (const float v : r.x) normal.push_back((v - mean) * slope);
    const float s1 = sum(r.weighted), s2 = sum(times(r.weighted, normal));
    for (std::size_t k = 0; k < gx.size(); ++k)
      gx[k] = slope / n * (n * r.weighted[k] - s1 - normal[k] * s2);
  };
}
/// Subtracts the two means one after the other.
NormGradient by_means(Sum sum) {
  return [=](const NormRow& r, std::span<float> gx) {
    const auto n = static_cast<float>(r.x.size());
    const auto [mean, slope] = moments(r.x, sum);
    Floats normal;
    for (const float v : r.x) normal.push_back((v - mean) * slope);
    const float c1 = sum(r.weighted) / n, c2 = sum(times(r.weighted, normal)) / n;
    for (std::size_t k = 0; k < gx.size(); ++k)
      gx[k] = (r.weighted[k] - (normal[k] * c2 + c1)) * slope;
  };
}
/// Computes sums over x itself, folded to a x + b w + c, as PyTorch on CPUs.
NormGradient by_three_sums(Sum sum) {
  return [=](const NormRow& r, std::span<float> gx) {
    const auto n = static_cast<float>(r.x.size());
    const auto [mean, slope] = moments(r.x, sum);
    const float ds = sum(times(r.weighted, r.x)), db = sum(r.weighted);
    const float b = (db * mean - ds) * slope * slope * slope / n;
    const float c = -b * mean - db * slope / n;
    for (std::size_t k = 0; k < gx.size(); ++k) gx[k] = slope * r.weighted[k] + b * r.x[k] + c;
  };
}

/// Computes sums over rows of f(g, x̂) for each column.
GradientVariant of_columns(std::string output, std::string name, Sum sum, bool normalises) {
  return {std::move(output), std::move(name), [=](const GradientProblem& p) {
            const auto n = static_cast<std::size_t>(p.columns);
            std::vector<Floats> terms(n);
            for (std::size_t at = 0; at < p.inputs[1].size(); ++at) {
              const auto [mean, slope] = moments(Row(p.inputs[1]).subspan(at / n * n, n), sum);
              const float normal = (p.inputs[1][at] - mean) * slope;
              terms[at % n].push_back(p.inputs[0][at] * (normalises ? normal : 1));
            }
            Floats y;
            for (const Floats& t : terms) y.push_back(sum(t));
            return y;
          }};
}

GradientVariants of_layer_norm() {
  GradientVariants v{"layer_norm.grad", {}};
  for (const NamedSum& s : kSums) {
    v.correct.push_back(normed(std::string("normalised ") + s.name, by_normalised(s.sum)));
    v.correct.push_back(normed(std::string("means ") + s.name, by_means(s.sum)));
    v.correct.push_back(normed(std::string("three sums ") + s.name, by_three_sums(s.sum)));
    v.correct.push_back(of_columns("ggamma", s.name, s.sum, true));
    v.correct.push_back(of_columns("gbeta", s.name, s.sum, false));
  }
  return v;
}

float rms_slope(Row x, Sum sum) {
  return 1 / std::sqrt(sum(times(x, x)) / static_cast<float>(x.size()) + kEps);
}

GradientVariants of_rms_norm() {
  GradientVariants v{"rms_norm.grad", {}};
  for (const NamedSum& s : kSums) {
    v.correct.push_back(
        normed(std::string("r*w-x*r^3*mean ") + s.name, [=](const NormRow& r, std::span<float> gx) {
          const float slope = rms_slope(r.x, s.sum);
          const float c = s.sum(times(r.weighted, r.x)) / static_cast<float>(r.x.size()) *
                          (slope * slope * slope);
          for (std::size_t k = 0; k < gx.size(); ++k) gx[k] = r.weighted[k] * slope - r.x[k] * c;
        }));
    v.correct.push_back(
        normed(std::string("r*(w-y*mean) ") + s.name, [=](const NormRow& r, std::span<float> gx) {
          const float slope = rms_slope(r.x, s.sum);
          Floats y;
          for (const float e : r.x) y.push_back(e * slope);
          const float c = s.sum(times(r.weighted, y)) / static_cast<float>(y.size());
          for (std::size_t k = 0; k < gx.size(); ++k) gx[k] = slope * (r.weighted[k] - y[k] * c);
        }));
  }
  return v;
}

// ---- batch_norm_training: x[N, C, 1], one channel for each column; the inputs are gy, the
// gradients of four statistics, x, gamma, and the saved mean and 1/sigma

Floats column(const Floats& a, std::size_t c, std::size_t n) {
  Floats t;
  for (std::size_t at = c; at < a.size(); at += n) t.push_back(a[at]);
  return t;
}

/// Assumes that the gradients of the statistics are 0.
GradientVariants of_batch_norm() {
  GradientVariants v{"batch_norm_training.grad", {}, {{"N", kRows}, {"C", kColumns}}};
  enum { kGy, kX = 5, kGamma, kMean, kSlope };
  for (const NamedSum& s : kSums)
    for (const bool early : {false, true})
      v.correct.push_back({"gx", std::string(early ? "projected " : "as PyTorch ") + s.name,
                           [=](const GradientProblem& p) {
                             const auto n = static_cast<std::size_t>(p.columns);
                             Floats gx(p.inputs[kX].size());
                             for (std::size_t c = 0; c < n; ++c) {
                               const Floats x = column(p.inputs[kX], c, n),
                                            g = column(p.inputs[kGy], c, n);
                               const float mean = p.inputs[kMean][c], slope = p.inputs[kSlope][c];
                               const auto count = static_cast<float>(x.size());
                               Floats centred;
                               for (const float e : x) centred.push_back(e - mean);
                               const float dot = s.sum(times(centred, g)), total = s.sum(g) / count;
                               const float k = dot * slope * slope / count, w = p.inputs[kGamma][c];
                               for (std::size_t r = 0; r < x.size(); ++r)
                                 gx[r * n + c] =
                                     early ? (g[r] - centred[r] * k - total) * slope * w
                                           : (g[r] - total - centred[r] * k) * (slope * w);
                             }
                             return gx;
                           }});
  v.prepare = [](GradientProblem& p) {
    for (std::size_t k = 1; k < kX; ++k) std::ranges::fill(p.inputs[k], 0.0F);
    const auto n = static_cast<std::size_t>(p.columns);
    for (std::size_t c = 0; c < n; ++c) {
      const auto [mean, slope] = moments(column(p.inputs[kX], c, n), in_double);
      p.inputs[kMean][c] = mean;
      p.inputs[kSlope][c] = slope;
    }
  };
  return v;
}

}  // namespace

std::vector<GradientVariants> norm_gradients() {
  return {of_layer_norm(), of_rms_norm(), of_batch_norm()};
}

}  // namespace mote::test
