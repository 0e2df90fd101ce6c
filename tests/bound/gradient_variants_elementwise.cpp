// SPDX-License-Identifier: Apache-2.0
// Lists gradients of roots and quotients, optimisers and losses.
#include <algorithm>
#include <cmath>

#include "gradient_variants.h"

namespace mote::test {

GradientVariant pointwise(std::string output, std::string name,
                          const std::function<float(Row inputs)>& f) {
  return {std::move(output), std::move(name), [f](const GradientProblem& p) {
            Floats y, in(p.inputs.size());
            for (std::size_t at = 0; at < p.inputs.back().size(); ++at) {
              // A scalar repeats for all elements.
              for (std::size_t k = 0; k < in.size(); ++k)
                in[k] = p.inputs[k].size() == 1 ? p.inputs[k][0] : p.inputs[k][at];
              y.push_back(f(in));
            }
            return y;
          }};
}

namespace {

GradientVariant unary_slope(std::string name, const std::function<float(float, float)>& f) {
  return pointwise("gx", std::move(name), [f](Row in) { return f(in[0], in[1]); });
}

std::vector<GradientVariants> roots() {
  const auto magnitudes = [](GradientProblem& p) {
    for (float& v : p.inputs[1]) v = std::fabs(v);
  };
  std::vector<GradientVariants> list = {
      {"rsqrt.grad",
       {unary_slope("-g/2*y*y*y", [](float g, float y) { return -g / 2 * y * y * y; }),
        unary_slope("-0.5*g*(y*y*y)", [](float g, float y) { return -0.5F * g * (y * y * y); }),
        unary_slope("(g*y)*(y*y)*-0.5", [](float g, float y) { return (g * y) * (y * y) * -0.5F; }),
        unary_slope("y*(y*(y*g))/-2", [](float g, float y) { return y * (y * (y * g)) / -2; }),
        unary_slope("-0.5*g*pow(y,3)",
                    [](float g, float y) { return -0.5F * g * std::pow(y, 3.0F); })}},
      {"sqrt.grad",
       {unary_slope("g/(2*y)", [](float g, float y) { return g / (2 * y); }),
        unary_slope("g*(0.5/y)", [](float g, float y) { return g * (0.5F / y); }),
        unary_slope("0.5*(g/y)", [](float g, float y) { return 0.5F * (g / y); })}},
      {"recip.grad",
       {unary_slope("-g/(x*x)", [](float g, float x) { return -g / (x * x); }),
        unary_slope("-(g/x)/x", [](float g, float x) { return -(g / x) / x; }),
        unary_slope("-g*r*r",
                    [](float g, float x) {
                      const float r = 1 / x;
                      return -g * r * r;
                    })}},
      {"asin.grad",
       {unary_slope("g*rsqrt(1-x*x)",
                    [](float g, float x) { return g * (1 / std::sqrt(1 - x * x)); }),
        unary_slope("g/sqrt((1-x)*(1+x))",
                    [](float g, float x) { return g / std::sqrt((1 - x) * (1 + x)); })}},
      {"atan.grad",
       {unary_slope("g/(1+x*x)", [](float g, float x) { return g / (1 + x * x); }),
        unary_slope("g*(1/(1+x*x))",
                    [](float g, float x) { return g * (1 / std::fma(x, x, 1.0F)); })}}};
  list[0].prepare = list[1].prepare = magnitudes;
  return list;
}

std::vector<GradientVariants> quotients() {
  const auto of = [](std::string output, std::string name,
                     const std::function<float(float, float, float)>& f) {
    return pointwise(std::move(output), std::move(name),
                     [f](Row in) { return f(in[0], in[1], in[2]); });
  };
  return {
      {"div.grad",
       {of("ga", "g*(1/b)", [](float g, float, float b) { return g * (1 / b); }),
        of("gb", "-(g*a)/(b*b)", [](float g, float a, float b) { return -(g * a) / (b * b); }),
        of("gb", "-g*(a/b)/b", [](float g, float a, float b) { return -g * (a / b) / b; }),
        of("gb", "-g*((a/b)/b)", [](float g, float a, float b) { return -g * ((a / b) / b); }),
        of("gb", "-(g/b)*(a/b)", [](float g, float a, float b) { return -(g / b) * (a / b); }),
        of("gb", "-ga*y",
           [](float g, float a, float b) {
             const float r = 1 / b;
             return -(g * r) * (a * r);
           })}},
      {"prelu.grad",
       {of("gslope", "min(x,0)*g", [](float g, float x, float) { return x < 0 ? x * g : 0; })}}};
}

// ---- losses: gy is a scalar

std::vector<GradientVariants> losses() {
  const auto mean_of = [](float (*f)(float g, float x, float t)) {
    return [f](const GradientProblem& p) {
      const float scaled = p.inputs[0][0] / static_cast<float>(p.inputs[1].size());
      Floats y;
      for (std::size_t k = 0; k < p.inputs[1].size(); ++k)
        y.push_back(f(scaled, p.inputs[1][k], p.inputs[2][k]));
      return y;
    };
  };
  const auto divided_last = [](float (*f)(float g, float x, float t)) {
    return [f](const GradientProblem& p) {
      const auto count = static_cast<float>(p.inputs[1].size());
      Floats y;
      for (std::size_t k = 0; k < p.inputs[1].size(); ++k)
        y.push_back(f(p.inputs[0][0], p.inputs[1][k], p.inputs[2][k]) / count);
      return y;
    };
  };
  const auto logits = [](float g, float x, float t) { return (1 / (1 + std::exp(-x)) - t) * g; };
  const auto parts = [](float g, float x, float t) {
    const float e = std::exp(-std::fabs(x));
    return g * ((x >= 0 ? 1 / (1 + e) : e / (1 + e)) - t);
  };
  const auto squared = [](float g, float x, float t) { return 2 * (x - t) * g; };
  std::vector<GradientVariants> list = {
      {"bce_with_logits.grad",
       {{"gx", "(s-t)*(g/n)", mean_of(logits)},
        {"gx", "(s-t)*g/n", divided_last(logits)},
        {"gx", "e/(1+e)", mean_of(parts)},
        {"gtarget", "-g*x/n", divided_last([](float g, float x, float) { return -g * x; })}}},
      {"mse.grad",
       {{"gx", "2*(x-t)*(g/n)", mean_of(squared)}, {"gx", "2*(x-t)*g/n", divided_last(squared)}}}};
  for (GradientVariants& v : list) v.params["mean"] = Number(std::int64_t{1});
  return list;
}

// ---- optimisers: w, g, m, v; the first step, no decay

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kLr = 1e-3, kAdamEps = 1e-8;

/// Adds a decay of 0, which makes NaN of an infinite w.
float decayed(Row in) { return in[1] + 0 * in[0]; }
float first_moment(Row in) {
  return in[2] * static_cast<float>(kBeta1) + static_cast<float>(1 - kBeta1) * decayed(in);
}
float second_moment(Row in) {
  const float g = decayed(in);
  return in[3] * static_cast<float>(kBeta2) + static_cast<float>(1 - kBeta2) * g * g;
}

std::vector<GradientVariants> optimisers() {
  const auto step = [](Row in) {
    const float root = std::sqrt(second_moment(in)) / static_cast<float>(std::sqrt(1 - kBeta2));
    return in[0] - static_cast<float>(kLr / (1 - kBeta1)) *
                       (first_moment(in) / (root + static_cast<float>(kAdamEps)));
  };
  GradientVariants adam = {
      "adam",
      {pointwise("m_next", "b1*m+(1-b1)*g", first_moment),
       pointwise(
           "m_next", "lerp",
           [](Row in) { return in[2] + static_cast<float>(1 - kBeta1) * (decayed(in) - in[2]); }),
       pointwise("v_next", "b2*v+((1-b2)*g)*g", second_moment),
       pointwise("v_next", "fused",
                 [](Row in) {
                   return std::fma(static_cast<float>(1 - kBeta2) * decayed(in), decayed(in),
                                   static_cast<float>(kBeta2) * in[3]);
                 }),
       pointwise("w_next", "as PyTorch", step)}};
  adam.correct[1].finite_only = true;  // -inf + (1-b1)*(g+inf)
  adam.params = {{"step", Number(std::int64_t{1})}};
  adam.prepare = [](GradientProblem& p) {
    for (float& v : p.inputs[3]) v = std::fabs(v);
  };
  return {adam};
}

}  // namespace

std::vector<GradientVariants> elementwise_gradients() {
  std::vector<GradientVariants> all;
  for (auto part : {roots, quotients, losses, optimisers})
    for (GradientVariants& v : part()) all.push_back(std::move(v));
  return all;
}

}  // namespace mote::test
