// SPDX-License-Identifier: Apache-2.0
// Lists gradients of matrix products and of a convolution, with sums in several orders.
#include <cmath>

#include "gradient_variants.h"

namespace mote::test {
namespace {

/// The two factors of each term of an element's sum.
using Factors = std::vector<std::pair<float, float>>;
using Dot = std::function<float(const Factors&)>;

struct NamedDot {
  std::string name;
  Dot dot;
};
std::vector<NamedDot> dots() {
  std::vector<NamedDot> all;
  for (const NamedSum& s : kSums)
    all.push_back({s.name, [=](const Factors& f) {
                     Floats terms;
                     for (const auto& [a, b] : f) terms.push_back(a * b);
                     return s.sum(terms);
                   }});
  all.push_back({"fma", [](const Factors& f) {
                   float y = 0;
                   for (const auto& [a, b] : f) y = std::fma(a, b, y);
                   return y;
                 }});
  all.push_back({"fma, backward in two halves", [](const Factors& f) {
                   float y[2] = {};
                   for (std::size_t k = f.size(); k-- > 0;)
                     y[k % 2] = std::fma(f[k].first, f[k].second, y[k % 2]);
                   return y[0] + y[1];
                 }});
  return all;
}

/// Returns the factors of each element of an output.
using Terms = std::function<std::vector<Factors>(const GradientProblem&)>;
void add_orders(GradientVariants& v, const std::string& output, const Terms& terms,
                float scale = 1) {
  for (const NamedDot& d : dots())
    v.correct.push_back({output, d.name, [=](const GradientProblem& p) {
                           Floats y;
                           for (const Factors& f : terms(p)) y.push_back(scale * d.dot(f));
                           return y;
                         }});
}

// ---- gy[M, N], a[M, K], b[K, N]; M = N

constexpr std::size_t kInner = 3;

std::vector<Factors> terms_of_a(const GradientProblem& p) {
  const auto n = static_cast<std::size_t>(p.columns);
  std::vector<Factors> all(n * kInner);
  for (std::size_t m = 0; m < n; ++m)
    for (std::size_t k = 0; k < kInner; ++k)
      for (std::size_t c = 0; c < n; ++c)
        all[m * kInner + k].emplace_back(p.inputs[0][m * n + c], p.inputs[2][k * n + c]);
  return all;
}
std::vector<Factors> terms_of_b(const GradientProblem& p) {
  const auto n = static_cast<std::size_t>(p.columns);
  std::vector<Factors> all(kInner * n);
  for (std::size_t k = 0; k < kInner; ++k)
    for (std::size_t c = 0; c < n; ++c)
      for (std::size_t m = 0; m < n; ++m)
        all[k * n + c].emplace_back(p.inputs[0][m * n + c], p.inputs[1][m * kInner + k]);
  return all;
}

GradientVariants of_products(const std::string& op) {
  GradientVariants v{op, {}, {{"M", kColumns}, {"N", kColumns}, {"K", std::int64_t{kInner}}}};
  float scale = 1;
  if (op == "gemm.grad") {
    v.params = {{"alpha", Number(kGemmAlpha)}, {"beta", Number(kGemmBeta)}};
    scale = static_cast<float>(kGemmAlpha);
  }
  v.most_columns = 16;
  add_orders(v, "ga", terms_of_a, scale);
  add_orders(v, "gb", terms_of_b, scale);
  return v;
}

// ---- a convolution of 3 x 3 taps with a stride of two columns, padded by one

struct Convolution {
  std::size_t width, out_width;
  static constexpr std::size_t kIn = 2, kOut = 3, kHeight = 4, kTaps = 3;
};
Convolution convolution(const GradientProblem& p) {
  const auto w = static_cast<std::size_t>(p.columns);
  return {w, (w + 2 - 3) / 2 + 1};
}
struct Tap {
  std::size_t co, ci, oh, ow, kh, kw, h, w;
};
/// Calls f for all taps that lie within x.
void for_taps(const Convolution& c, const std::function<void(const Tap&)>& f) {
  using C = Convolution;
  for (std::size_t co = 0; co < C::kOut; ++co)
    for (std::size_t ci = 0; ci < C::kIn; ++ci)
      for (std::size_t oh = 0; oh < C::kHeight; ++oh)
        for (std::size_t ow = 0; ow < c.out_width; ++ow)
          for (std::size_t kh = 0; kh < C::kTaps; ++kh)
            for (std::size_t kw = 0; kw < C::kTaps; ++kw) {
              // A negative index wraps around to a value beyond the end.
              const std::size_t h = oh + kh - 1, w = 2 * ow + kw - 1;
              if (h < C::kHeight && w < c.width) f({co, ci, oh, ow, kh, kw, h, w});
            }
}
std::size_t at_gy(const Convolution& c, const Tap& t) {
  return (t.co * Convolution::kHeight + t.oh) * c.out_width + t.ow;
}
std::size_t at_x(const Convolution& c, const Tap& t) {
  return (t.ci * Convolution::kHeight + t.h) * c.width + t.w;
}
std::size_t at_w(const Tap& t) {
  return ((t.co * Convolution::kIn + t.ci) * Convolution::kTaps + t.kh) * Convolution::kTaps + t.kw;
}

std::vector<Factors> terms_of_x(const GradientProblem& p) {
  const Convolution c = convolution(p);
  std::vector<Factors> all(p.inputs[1].size());
  for_taps(c, [&](const Tap& t) {
    all[at_x(c, t)].emplace_back(p.inputs[0][at_gy(c, t)], p.inputs[2][at_w(t)]);
  });
  return all;
}
std::vector<Factors> terms_of_w(const GradientProblem& p) {
  const Convolution c = convolution(p);
  std::vector<Factors> all(p.inputs[2].size());
  for_taps(c, [&](const Tap& t) {
    all[at_w(t)].emplace_back(p.inputs[0][at_gy(c, t)], p.inputs[1][at_x(c, t)]);
  });
  return all;
}
/// Computes a matrix product first, with a row for each tap of an output; then adds rows up.
Floats by_columns(const GradientProblem& p) {
  const Convolution c = convolution(p);
  std::map<std::size_t, std::map<std::size_t, float>> sums;
  for_taps(c, [&](const Tap& t) {
    const std::size_t tap = (t.oh * 4096 + t.ow) * 16 + t.kh * 4 + t.kw;
    float& s = sums[at_x(c, t)][tap];
    s = std::fma(p.inputs[0][at_gy(c, t)], p.inputs[2][at_w(t)], s);
  });
  Floats y(p.inputs[1].size());
  for (const auto& [at, rows] : sums)
    for (const auto& [tap, s] : rows) y[at] += s;
  return y;
}

GradientVariants of_convolution() {
  using C = Convolution;
  GradientVariants v{"conv2d.grad",
                     {},
                     {{"CO", std::int64_t{C::kOut}},
                      {"CG", std::int64_t{C::kIn}},
                      {"N", 1},
                      {"H", std::int64_t{C::kHeight}},
                      {"W", kColumns},
                      {"OH", std::int64_t{C::kHeight}},
                      {"OW", kHalfColumns},
                      {"KH", std::int64_t{C::kTaps}},
                      {"KW", std::int64_t{C::kTaps}}}};
  v.params["stride1"] = Number(std::int64_t{2});
  for (const char* pad : {"pads0", "pads1", "pads2", "pads3"})
    v.params[pad] = Number(std::int64_t{1});
  v.most_columns = 16;
  add_orders(v, "gx", terms_of_x);
  add_orders(v, "gw", terms_of_w);
  v.correct.push_back({"gx", "columns, then taps", by_columns});
  return v;
}

}  // namespace

std::vector<GradientVariants> linear_gradients() {
  return {of_products("matmul.grad"), of_products("gemm.grad"), of_convolution()};
}

}  // namespace mote::test
