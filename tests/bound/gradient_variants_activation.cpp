// SPDX-License-Identifier: Apache-2.0
// Lists activations and gates, and their gradients.
#include <algorithm>
#include <cmath>

#include "gradient_variants.h"

namespace mote::test {
namespace {

float logistic(float v) { return 1 / (1 + std::exp(-v)); }

/// Makes a variant f(gy, x).
GradientVariant of_two(std::string name, const std::function<float(float, float)>& f) {
  return pointwise("gx", std::move(name), [f](Row in) { return f(in[0], in[1]); });
}
/// Makes a variant f(gy, gate, x).
GradientVariant of_gate(std::string output, std::string name,
                        const std::function<float(float, float, float)>& f) {
  return pointwise(std::move(output), std::move(name),
                   [f](Row in) { return f(in[0], in[1], in[2]); });
}
/// Replaces input y by the op's own output, except for the finite data of even sizes.
std::function<void(GradientProblem&)> output_is(float (*f)(float)) {
  return [f](GradientProblem& p) {
    for (float& y : p.inputs[1]) y = p.columns % 2 == 0 || !std::isfinite(y) ? f(y) : y;
  };
}

// ---- functions of y

std::vector<GradientVariants> of_outputs() {
  std::vector<GradientVariants> list;
  list.push_back({"sigmoid.grad",
                  {of_two("g*(1-y)*y", [](float g, float y) { return g * (1 - y) * y; }),
                   of_two("g*y*(1-y)", [](float g, float y) { return g * y * (1 - y); }),
                   of_two("(1-y)*y*g", [](float g, float y) { return (1 - y) * y * g; }),
                   of_two("g*(y-y*y)", [](float g, float y) { return g * std::fma(-y, y, y); })}});
  list.back().prepare = output_is(logistic);
  list.push_back(
      {"tanh.grad",
       {of_two("g*(1-y)*(1+y)", [](float g, float y) { return g * (1 - y) * (1 + y); }),
        of_two("g*((1-y)*(1+y))", [](float g, float y) { return g * ((1 - y) * (1 + y)); }),
        of_two("g*(1-y*y)", [](float g, float y) { return g * (1 - y * y); }),
        of_two("fused", [](float g, float y) { return g * std::fma(-y, y, 1.0F); }),
        of_two("g-g*y*y", [](float g, float y) { return g - g * (y * y); })}});
  list.back().correct.back().finite_only = true;  // inf - inf*0
  list.back().prepare = output_is([](float v) { return std::tanh(v); });
  return list;
}

// ---- functions of x

constexpr float kRoot1_2 = 0.70710678F, kPdf = 0.39894228F;

std::vector<GradientVariant> gelus() {
  const auto torch = [](float g, float x) {
    const float cdf = 0.5F * (1 + std::erf(x * kRoot1_2));
    const float pdf = std::exp(-0.5F * x * x) * kPdf;
    return g * (cdf + x * pdf);
  };
  const auto upper = [](float g, float x) {
    const float cdf = 0.5F * std::erfc(-x * kRoot1_2);
    return g * cdf + g * x * (kPdf * std::exp(x * x * -0.5F));
  };
  return {of_two("g*(cdf+x*pdf)", torch), of_two("of erfc", upper)};
}

constexpr float kRoot2OverPi = 0.79788456F, kCubic = 0.044715F;

std::vector<GradientVariant> gelu_tanhs() {
  const auto torch = [](float g, float x) {
    const float cube = x * x * x;
    const float t = std::tanh(kRoot2OverPi * (x + kCubic * cube));
    const float left = 0.5F * x, right = 1 + t;
    const float slope = left * (1 - t * t) * (kRoot2OverPi * (1 + 3 * kCubic * x * x));
    return g * (0.5F * right + slope);
  };
  const auto factored = [](float g, float x) {
    const float t = std::tanh(kRoot2OverPi * x * (1 + kCubic * x * x));
    const float inner = kRoot2OverPi * std::fma(3 * kCubic * x, x, 1.0F);
    return 0.5F * g * ((1 + t) + x * ((1 - t) * (1 + t)) * inner);
  };
  return {of_two("as PyTorch", torch), of_two("factored", factored)};
}

std::vector<GradientVariant> mishes() {
  const auto torch = [](float g, float x) {
    const float s = logistic(x), t = std::tanh(std::log1p(std::exp(x)));
    return g * (t + x * s * (1 - t * t));
  };
  const auto stable = [](float g, float x) {
    const float plus = std::max(x, 0.0F) + std::log1p(std::exp(-std::fabs(x)));
    const float t = std::tanh(plus);
    return g * t + g * x * (1 - t) * (1 + t) * logistic(x);
  };
  return {of_two("g*(t+x*s*(1-t*t))", torch), of_two("softplus by its maximum", stable)};
}

/// The two kinks have half of the slope, as the definition pins.
float hardswish_slope(float x) {
  if (x == 3) return 1.25F;
  if (x == -3) return -0.25F;
  return x < -3 ? 0 : x > 3 ? 1 : x / 3 + 0.5F;
}

/// Moves some elements of x to a kink, or a few units next to it.
std::function<void(GradientProblem&)> near_kinks(float kink) {
  return [kink](GradientProblem& p) {
    for (std::size_t k = 0; k < p.inputs[1].size(); k += 3) {
      const auto units = static_cast<int>(k / 6 % 9) - 4;
      float x = kink;
      for (int n = 0; n < std::abs(units); ++n) x = std::nextafter(x, units < 0 ? 0.0F : 1e9F);
      p.inputs[1][k] = k % 2 == 0 ? x : -x;
    }
  };
}

std::vector<GradientVariants> smooth() {
  return {{"silu.grad",
           {of_two("g*s*(1+x*(1-s))",
                   [](float g, float x) {
                     const float s = logistic(x);
                     return g * s * (1 + x * (1 - s));
                   }),
            of_two("g*(s*(1+x*(1-s)))",
                   [](float g, float x) {
                     const float s = logistic(x);
                     return g * (s * (1 + x * (1 - s)));
                   }),
            of_two("g*(s+x*s*(1-s))",
                   [](float g, float x) {
                     const float s = logistic(x);
                     return g * (s + x * s * (1 - s));
                   }),
            of_two("g*(y+s*(1-y))",
                   [](float g, float x) {
                     const float s = logistic(x), y = x * s;
                     return g * (y + s * (1 - y));
                   })}},
          {"softplus.grad",
           {of_two("g*sigmoid(x)", [](float g, float x) { return g * logistic(x); }),
            of_two("g/(1+exp(-x))", [](float g, float x) { return g / (1 + std::exp(-x)); }),
            of_two("g*z/(1+z)",
                   [](float g, float x) {
                     const float z = std::exp(x);
                     return x > 20 ? g : g * z / (z + 1);
                   })}},
          {"softsign.grad",
           {of_two("g/((1+|x|)*(1+|x|))",
                   [](float g, float x) {
                     const float d = 1 + std::fabs(x);
                     return g / (d * d);
                   }),
            of_two("g*(r*r)",
                   [](float g, float x) {
                     const float r = 1 / (1 + std::fabs(x));
                     return g * (r * r);
                   }),
            of_two("g/(1+|x|)/(1+|x|)",
                   [](float g, float x) {
                     const float d = 1 + std::fabs(x);
                     return g / d / d;
                   })}},
          {"elu.grad",
           {of_two("g*exp(x)", [](float g, float x) { return x < 0 ? g * std::exp(x) : g; }),
            of_two("expm1(x)+1 near 0",
                   [](float g, float x) {
                     if (!(x < 0)) return g;
                     return x > -0.5F ? g * (std::expm1(x) + 1) : g * std::exp(x);
                   })}},
          {"gelu.grad", gelus()},
          {"gelu_tanh.grad", gelu_tanhs()},
          {"mish.grad", mishes()}};
}

std::vector<GradientVariants> kinked() {
  const auto slope = [](float x) { return x == 2.5F || x == -2.5F ? 0.1F : 0.2F; };
  std::vector<GradientVariants> list = {
      {"hardswish.grad",
       {of_two("g*(x/3+0.5)", [](float g, float x) { return g * hardswish_slope(x); }),
        of_two("(2x+3)/6",
               [](float g, float x) {
                 const bool inner = x > -3 && x < 3;
                 return inner ? g * ((2 * x + 3) / 6) : g * hardswish_slope(x);
               })}},
      {"hardsigmoid.grad",
       {of_two("g*0.2",
               [=](float g, float x) { return x >= -2.5F && x <= 2.5F ? g * slope(x) : 0; }),
        of_two("ties of the rounded sum", [](float g, float x) {
          const float v = 0.2F * x + 0.5F;
          const float slope = v == 0 || v == 1 ? 0.1F : 0.2F;
          return v >= 0 && v <= 1 ? g * slope : 0;
        })}}};
  list[0].prepare = near_kinks(3);
  list[1].prepare = near_kinks(2.5F);
  return list;
}

// ---- gates

std::vector<GradientVariants> gates() {
  const auto slope = [](float g, float gate, float x) {
    const float s = logistic(gate);
    return (1 - s) * s * g * x;
  };
  return {{"glu.grad",
           {of_gate("ggate", "(1-s)*s*g*x", slope),
            of_gate("ggate", "s*(1-s)*(g*x)",
                    [](float g, float gate, float x) {
                      const float s = logistic(gate);
                      return s * (1 - s) * (g * x);
                    }),
            of_gate("ggate", "g*s*(1-s)*x",
                    [](float g, float gate, float x) {
                      const float s = logistic(gate);
                      return g * s * (1 - s) * x;
                    }),
            of_gate("ggate", "(g*y)*(1-s)",
                    [](float g, float gate, float x) {
                      const float s = logistic(gate);
                      return g * (x * s) * (1 - s);
                    }),
            of_gate("gx", "s*g", [](float g, float gate, float) { return logistic(gate) * g; }),
            of_gate("gx", "g/(1+exp(-gate))",
                    [](float g, float gate, float) { return g / (1 + std::exp(-gate)); })}},
          {"swiglu.grad",
           {of_gate("ggate", "g*x*s*(1+gate*(1-s))",
                    [](float g, float gate, float x) {
                      const float s = logistic(gate);
                      return g * x * s * (1 + gate * (1 - s));
                    }),
            of_gate("ggate", "g*x*(s*(1+gate*(1-s)))",
                    [](float g, float gate, float x) {
                      const float s = logistic(gate);
                      return g * x * (s * (1 + gate * (1 - s)));
                    }),
            of_gate("ggate", "g*x*(y+s*(1-y))",
                    [](float g, float gate, float x) {
                      const float s = logistic(gate), y = gate * s;
                      return g * x * (y + s * (1 - y));
                    }),
            of_gate("gx", "g*(gate*s)",
                    [](float g, float gate, float) { return g * (gate * logistic(gate)); }),
            of_gate("gx", "g*gate/(1+exp(-gate))",
                    [](float g, float gate, float) { return g * gate / (1 + std::exp(-gate)); }),
            of_gate("gx", "g*gate*s",
                    [](float g, float gate, float) { return g * gate * logistic(gate); })}}};
}

std::vector<GradientVariants> forwards() {
  const auto relu6 = [](float v) { return std::min(std::max(v, 0.0F), 6.0F); };
  return {
      {"hardswish",
       {pointwise("y", "x*relu6(x+3)/6", [=](Row in) { return in[0] * relu6(in[0] + 3) / 6; }),
        pointwise("y", "x*(relu6(x+3)/6)", [=](Row in) { return in[0] * (relu6(in[0] + 3) / 6); }),
        pointwise("y", "x*relu6(x+3)*(1/6)",
                  [=](Row in) { return in[0] * relu6(in[0] + 3) * (1.0F / 6); })}},
      {"hardsigmoid", {pointwise("y", "clamp", [](Row in) {
         return std::min(std::max(std::fma(0.2F, in[0], 0.5F), 0.0F), 1.0F);
       })}}};
}

}  // namespace

std::vector<GradientVariants> activation_gradients() {
  std::vector<GradientVariants> all;
  for (auto part : {of_outputs, smooth, kinked, gates, forwards})
    for (GradientVariants& v : part()) all.push_back(std::move(v));
  return all;
}

}  // namespace mote::test
