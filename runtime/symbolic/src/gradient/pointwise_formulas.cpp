// SPDX-License-Identifier: Apache-2.0
// The gradients of element-wise ops. Where an op has pieces, the piece that is not taken is
// computed at an argument at which it is finite, so that it is 0 times a number. Where pieces meet
// the slope is that of the op's gradient, half of each where a max or min has a tie.
#include <array>
#include <numbers>
#include <utility>

#include "gradient/formula.h"
#include "gradient/formulas.h"

namespace mote {
namespace {

using Value = FormulaValue;

Value exp(Value v) { return v.formula->op("exp", {v}); }
Value tanh(Value v) { return v.formula->op("tanh", {v}); }
Value sigmoid(Value v) { return v.formula->op("sigmoid", {v}); }
Value recip(Value v) { return v.formula->op("recip", {v}); }
Value rsqrt(Value v) { return v.formula->op("rsqrt", {v}); }
Value square(Value v) { return v * v; }
Value number(Value like, double value) { return like.formula->number(value); }
Value is_below(Value a, double b) { return a.formula->op("less", {a, number(a, b)}); }
Value is_above(Value a, double b) { return a.formula->op("greater", {a, number(a, b)}); }
Value is(Value a, double b) { return a.formula->op("equal", {a, number(a, b)}); }
Value where(Value condition, Value a, Value b) {
  return condition.formula->op("where", {condition, a, b});
}
Value least(Value a, double b) { return a.formula->op("min", {a, number(a, b)}); }

/// The slope of the normal distribution's x Phi(x).
Value gelu_slope(Value x) {
  const Value phi = 0.5 * (1 + x.formula->op("erf", {std::numbers::sqrt2 / 2 * x}));
  const double scale = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return phi + x * (scale * exp(-0.5 * square(x)));
}

Value gelu_tanh_slope(Value x) {
  const double c = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Value t = tanh(c * (x + 0.044715 * (x * square(x))));
  return 0.5 * (1 + t) + (0.5 * x) * ((1 - square(t)) * (c * (1 + 3 * 0.044715 * square(x))));
}

Value silu_slope(Value x) {
  const Value s = sigmoid(x);
  return s * (1 + x * (1 - s));
}

Value mish_slope(Value x) {
  const Value t = tanh(x.formula->op("softplus", {x}));
  return t + x * ((1 - square(t)) * sigmoid(x));
}

/// gx = gy * slope(x).
template <Value (*slope)(Value)>
void by_x(Formula& f) {
  f.set(0, f.gy() * slope(f.x()));
}
/// gx = gy * slope(y).
template <Value (*slope)(Value)>
void by_y(Formula& f) {
  f.set(0, f.gy() * slope(f.y()));
}

Value asin_slope(Value x) { return rsqrt(1 - square(x)); }
Value acos_slope(Value x) { return -asin_slope(x); }
Value atan_slope(Value x) { return recip(1 + square(x)); }
Value cos_slope(Value x) { return -x.formula->op("sin", {x}); }
Value sin_slope(Value x) { return x.formula->op("cos", {x}); }
Value cosh_slope(Value x) { return x.formula->op("sinh", {x}); }
Value sinh_slope(Value x) { return x.formula->op("cosh", {x}); }
Value tan_slope(Value y) { return 1 + square(y); }
Value tanh_slope(Value y) { return 1 - square(y); }
Value erf_slope(Value x) { return 2 * std::numbers::inv_sqrtpi * exp(-square(x)); }
Value exp_slope(Value y) { return y; }
Value log1p_slope(Value x) { return recip(1 + x); }
Value recip_slope(Value x) { return -square(recip(x)); }
Value rsqrt_slope(Value y) { return -0.5 * (y * square(y)); }
Value sqrt_slope(Value y) { return 0.5 * recip(y); }
Value sigmoid_slope(Value y) { return y * (1 - y); }
Value softsign_slope(Value x) { return square(recip(1 + x.formula->op("abs", {x}))); }
/// clip(x/6 + 1/2) + x/6 between the ends, where the second term is half of that.
Value hardswish_slope(Value x) {
  const Value ends = x.formula->op("abs", {x});
  const Value rising =
      where(is_below(ends, 3), 1.0 / 6 * x, where(is(ends, 3), 1.0 / 12 * x, number(x, 0)));
  const Value clipped = x.formula->op("max", {least(x, 3), number(x, -3)});
  return 1.0 / 6 * clipped + number(x, 0.5) + rising;
}

void celu(Formula& f) {
  const Value x = f.x();
  f.set(0, f.gy() * exp(1 / f.param("alpha") * least(x, 0)));
}
void elu(Formula& f) {
  const Value x = f.x();
  f.set(0, f.gy() * where(is_below(x, 0), f.param("alpha") * exp(least(x, 0)), f.number(1)));
}
void selu(Formula& f) {
  const Value x = f.x();
  const double gamma = f.param("gamma");
  const Value below = where(is_above(x, 0), f.number(0), x);
  f.set(0, f.gy() * where(is_above(x, 0), f.number(gamma), gamma * f.param("alpha") * exp(below)));
}

void div(Formula& f) {
  const Value g = f.gy() / f.x(1);
  f.set(0, g);
  f.set(1, -(g * (f.x(0) / f.x(1))));
}
/// b a^(b - 1) and a^b log(a), at a = 0 as pow.grad has them: 0 where b = 0, and nothing by b.
void pow(Formula& f) {
  const Value a = f.x(0);
  const Value b = f.x(1);
  const Value zero = f.number(0);
  const Value one = f.number(1);
  const Value a_is_zero = is(a, 0);
  const Value b_is_zero = is(b, 0);
  const Value base = where(a_is_zero, one, a);
  const Value exponent = where(b_is_zero, one, b);
  const Value factor = where(a_is_zero, where(is(b, 1), one, exponent), exponent);
  const Value at_zero = where(a_is_zero, zero, b / where(b_is_zero, base, one));
  f.set(0, f.gy() * where(b_is_zero, at_zero, factor * f.op("pow", {a, exponent - one})));
  f.set(1, f.gy() * where(a_is_zero, zero, f.y() * f.op("log", {base})));
}
void prelu(Formula& f) {
  const Value x = f.x(0);
  f.set(0, f.gy() * where(is_below(x, 0), f.x(1), f.number(1)));
  f.set(1, f.gy() * where(is_below(x, 0), x, f.number(0)));
}
void lerp(Formula& f) {
  f.set(0, f.gy() * (1 - f.x(2)));
  f.set(1, f.gy() * f.x(2));
  f.set(2, f.gy() * (f.x(1) - f.x(0)));
}

/// y = value(gate) * x.
template <Value (*value)(Value), Value (*slope)(Value)>
void gated(Formula& f) {
  f.set(0, f.gy() * (f.x(1) * slope(f.x(0))));
  f.set(1, f.gy() * value(f.x(0)));
}
Value gelu(Value x) { return x.formula->op("gelu", {x}); }
Value relu(Value x) { return x.formula->op("relu", {x}); }
Value relu_slope(Value x) {
  return where(is(x, 0), number(x, 0.5), where(is_above(x, 0), number(x, 1), number(x, 0)));
}
Value silu(Value x) { return x.formula->op("silu", {x}); }
Value sigmoid_slope_of_x(Value x) { return sigmoid_slope(sigmoid(x)); }

/// The scale of a loss that may be a mean.
double loss_scale(const Formula& f, bool is_sum) {
  return is_sum && f.param("mean") != 0 ? 1 / static_cast<double>(f.element_count()) : 1;
}
template <bool is_sum>
void mse(Formula& f) {
  const Value g = 2 * loss_scale(f, is_sum) * (f.gy() * (f.x(0) - f.x(1)));
  f.set(0, g);
  f.set(1, -g);
}
template <bool is_sum>
void bce_with_logits(Formula& f) {
  const Value g = loss_scale(f, is_sum) * f.gy();
  f.set(0, g * (sigmoid(f.x(0)) - f.x(1)));
  f.set(1, g * -f.x(0));
}

constexpr auto kPointwiseFormulas = std::to_array<std::pair<std::string_view, WriteFormula>>({
    {"acos", by_x<acos_slope>},
    {"asin", by_x<asin_slope>},
    {"atan", by_x<atan_slope>},
    {"bce_with_logits", bce_with_logits<true>},
    {"bce_with_logits_none", bce_with_logits<false>},
    {"celu", celu},
    {"cos", by_x<cos_slope>},
    {"cosh", by_x<cosh_slope>},
    {"div", div},
    {"elu", elu},
    {"erf", by_x<erf_slope>},
    {"exp", by_y<exp_slope>},
    {"expm1", by_x<exp>},
    {"geglu", gated<gelu, gelu_slope>},
    {"gelu", by_x<gelu_slope>},
    {"gelu_tanh", by_x<gelu_tanh_slope>},
    {"glu", gated<sigmoid, sigmoid_slope_of_x>},
    {"hardswish", by_x<hardswish_slope>},
    {"lerp", lerp},
    {"log", by_x<recip>},
    {"log1p", by_x<log1p_slope>},
    {"mish", by_x<mish_slope>},
    {"mse", mse<true>},
    {"mse_none", mse<false>},
    {"pow", pow},
    {"prelu", prelu},
    {"recip", by_x<recip_slope>},
    {"reglu", gated<relu, relu_slope>},
    {"rsqrt", by_y<rsqrt_slope>},
    {"selu", selu},
    {"sigmoid", by_y<sigmoid_slope>},
    {"silu", by_x<silu_slope>},
    {"sin", by_x<sin_slope>},
    {"sinh", by_x<sinh_slope>},
    {"softplus", by_x<sigmoid>},
    {"softsign", by_x<softsign_slope>},
    {"sqrt", by_y<sqrt_slope>},
    {"swiglu", gated<silu, silu_slope>},
    {"tan", by_y<tan_slope>},
    {"tanh", by_y<tanh_slope>},
});

}  // namespace

WriteFormula pointwise_formula(std::string_view op) {
  for (const auto& [name, formula] : kPointwiseFormulas)
    if (name == op) return formula;
  return nullptr;
}

}  // namespace mote
