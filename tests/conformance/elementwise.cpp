// SPDX-License-Identifier: Apache-2.0
// Adapters of elementwise operators: those that are one op here, and those composed of a few.
#include <cmath>

#include "call.h"
#include "memory.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// Before opset 7 the axes of input 1 begin at an axis of input 0 (PRelu: at the channels) instead
/// of ending with it.
std::optional<Array> aligned_from_axis(const Call& c) {
  const bool prelu = c.node().op_type == "PRelu";
  if (c.opset() >= 7 || !c.has(1) || !(prelu || c.has_attribute("axis"))) return std::nullopt;
  const std::size_t rank = c.in(0).shape.size();
  const std::size_t axis = axis_of(c.integer("axis", prelu ? 1 : 0), rank);
  Dims shape = c.in(1).shape;
  if (element_count(shape) > 1 && axis + shape.size() <= rank) {
    shape.resize(rank - axis, 1);
  }
  return reshaped(c.in(1), shape);
}

/// Applies one op of the same meaning to all inputs, with real attributes as parameters.
struct RealAttribute {
  const char* attribute;
  const char* param;
  double otherwise;
};
Adapter direct(const std::string& op, const std::vector<RealAttribute>& attributes = {}) {
  return [=](const Call& c) -> Outputs {
    std::vector<const Array*> args;
    for (std::size_t k = 0; k < c.input_count(); ++k) args.push_back(&c.in(k));
    const std::optional<Array> second = aligned_from_axis(c);
    if (second) args[1] = &*second;
    Params params;
    for (const RealAttribute& a : attributes) params[a.param] = c.real(a.attribute, a.otherwise);
    return {c.map(op, args, params)};
  };
}

/// Combines any number of inputs, two at a time; a single one is combined with itself, or with 0
/// for add.
Array chained(const Call& c, const std::string& op) {
  Array y = c.in(0);
  if (c.input_count() == 1) return op == "add" ? c.binary(op, y, 0.0) : c.binary(op, y, y);
  for (std::size_t k = 1; k < c.input_count(); ++k) y = c.binary(op, y, c.in(k));
  return y;
}
Adapter chain(const std::string& op) {
  return [=](const Call& c) -> Outputs { return {chained(c, op)}; };
}

Outputs mean(const Call& c) {
  return {c.binary("div", chained(c, "add"), static_cast<double>(c.input_count()))};
}

Outputs is_inf(const Call& c) {
  const Params params = {{"detect_negative", c.integer("detect_negative", 1)},
                         {"detect_positive", c.integer("detect_positive", 1)}};
  return {c.unary("isinf", c.in(0), params)};
}

Outputs clip(const Call& c) {
  if (c.opset() >= 11) return {c.map("clamp", {&c.in(0), c.find(1), c.find(2)})};
  const Array low = constant(c.dtype(), c.real("min", 0)),
              high = constant(c.dtype(), c.real("max", 0));
  return {c.map("clamp", {&c.in(0), c.has_attribute("min") ? &low : nullptr,
                          c.has_attribute("max") ? &high : nullptr})};
}

/// The result has the base's dtype; mixed dtypes are computed over f64.
Outputs pow(const Call& c) {
  const Array &x = c.in(0), &y = c.in(1);
  if (x.dtype == y.dtype) return {c.binary("pow", x, y)};
  if (is_real(x.dtype)) return {c.binary("pow", x, c.cast(y, x.dtype))};
  const Array wide = c.binary("pow", c.cast(x, DType::f64), c.cast(y, DType::f64));
  return {c.cast(wide, x.dtype)};
}

Outputs mod(const Call& c) {
  return {c.binary(c.integer("fmod", 0) == 0 ? "mod" : "fmod", c.in(0), c.in(1))};
}

Outputs bit_shift(const Call& c) {
  const std::string direction = c.attribute("direction").s;
  if (direction != "LEFT" && direction != "RIGHT") {
    throw Error("BitShift: direction is '" + direction + "', expected LEFT or RIGHT");
  }
  return {c.binary(direction == "LEFT" ? "shift_left" : "shift_right", c.in(0), c.in(1))};
}

Outputs shrink(const Call& c) {
  const Array& x = c.in(0);
  const double lambd = c.real("lambd", 0.5), bias = c.real("bias", 0);
  const Array low = c.binary("add", x, bias), high = c.binary("sub", x, bias);
  const Array inner = c.choose(c.binary("greater", x, lambd), high, constant(x.dtype, 0));
  return {c.choose(c.binary("less", x, -lambd), low, inner)};
}

// Inverse hyperbolic functions are computed by logarithms.
Outputs acosh(const Call& c) {
  const Array& x = c.in(0);
  const Array root = c.unary("sqrt", c.binary("sub", c.binary("mul", x, x), 1.0));
  return {c.unary("log", c.binary("add", x, root))};
}
Outputs asinh(const Call& c) {
  const Array a = c.unary("abs", c.in(0)), square = c.binary("mul", a, a);
  const Array root = c.unary("sqrt", c.binary("add", square, 1.0));
  const Array more = c.binary("div", square, c.binary("add", root, 1.0));
  const Array size = c.unary("log1p", c.binary("add", a, more));
  return {c.binary("mul", c.unary("sign", c.in(0)), size)};
}
Outputs atanh(const Call& c) {
  const Array& x = c.in(0);
  const Array ratio = c.binary("sub", c.unary("log1p", x), c.unary("log1p", c.unary("neg", x)));
  return {c.binary("mul", ratio, 0.5)};
}

Outputs gelu(const Call& c) {
  return {c.unary(c.text("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu", c.in(0))};
}

/// Computes x * sigmoid(alpha*x), times the second input if there is one.
Outputs swish(const Call& c) {
  const double alpha = c.real("alpha", 1);
  if (alpha == 1 && !c.has(1)) return {c.unary("silu", c.in(0))};
  if (alpha == 1) return {c.binary("swiglu", c.in(0), c.in(1))};
  const Array gate = c.unary("sigmoid", c.binary("mul", c.in(0), alpha));
  const Array y = c.binary("mul", c.in(0), gate);
  return {c.has(1) ? c.binary("mul", y, c.in(1)) : y};
}

Outputs cast(const Call& c) {
  const auto to = static_cast<ElementType>(c.integer("to", 0));
  const std::optional<DType> dtype = dtype_of(to);
  if (!dtype) throw NotApplicable(std::string("element type ") + std::string(name(to)));
  return {c.unary("cast_" + std::string(name(*dtype)), c.in(0))};
}
Outputs cast_like(const Call& c) {
  return {c.unary("cast_" + std::string(name(c.in(1).dtype)), c.in(0))};
}

Outputs where(const Call& c) { return {c.choose(c.in(0), c.in(1), c.in(2))}; }

}  // namespace

Adapters elementwise_adapters() {
  Adapters all = {{"Max", chain("max")},
                  {"Min", chain("min")},
                  {"Sum", chain("add")},
                  {"Mean", mean},
                  {"IsInf", is_inf},
                  {"Clip", clip},
                  {"Pow", pow},
                  {"Mod", mod},
                  {"Shrink", shrink},
                  {"Acosh", acosh},
                  {"Asinh", asinh},
                  {"Atanh", atanh},
                  {"Gelu", gelu},
                  {"Cast", cast},
                  {"CastLike", cast_like},
                  {"Where", where},
                  {"BitShift", bit_shift},
                  {"Swish", swish},
                  {"SwiGLU", swish}};
  for (const auto& [onnx, op] :
       std::map<std::string, std::string>{{"Abs", "abs"},
                                          {"Neg", "neg"},
                                          {"Sign", "sign"},
                                          {"Sqrt", "sqrt"},
                                          {"Exp", "exp"},
                                          {"Log", "log"},
                                          {"Sin", "sin"},
                                          {"Cos", "cos"},
                                          {"Tan", "tan"},
                                          {"Asin", "asin"},
                                          {"Acos", "acos"},
                                          {"Atan", "atan"},
                                          {"Sinh", "sinh"},
                                          {"Cosh", "cosh"},
                                          {"Tanh", "tanh"},
                                          {"Erf", "erf"},
                                          {"Floor", "floor"},
                                          {"Ceil", "ceil"},
                                          {"Round", "round"},
                                          {"Not", "logical_not"},
                                          {"IsNaN", "isnan"},
                                          {"Relu", "relu"},
                                          {"Sigmoid", "sigmoid"},
                                          {"Softplus", "softplus"},
                                          {"Mish", "mish"},
                                          {"Softsign", "softsign"},
                                          {"HardSwish", "hardswish"},
                                          {"Add", "add"},
                                          {"Sub", "sub"},
                                          {"Mul", "mul"},
                                          {"Div", "div"},
                                          {"And", "logical_and"},
                                          {"Or", "logical_or"},
                                          {"Xor", "logical_xor"},
                                          {"BitwiseAnd", "bitwise_and"},
                                          {"BitwiseNot", "bitwise_not"},
                                          {"BitwiseOr", "bitwise_or"},
                                          {"BitwiseXor", "bitwise_xor"},
                                          {"Equal", "equal"},
                                          {"Less", "less"},
                                          {"Greater", "greater"},
                                          {"PRelu", "prelu"},
                                          {"LessOrEqual", "less_or_equal"},
                                          {"Reciprocal", "recip"},
                                          {"GreaterOrEqual", "greater_or_equal"}}) {
    all[onnx] = direct(op);
  }
  all["LeakyRelu"] = direct("leaky_relu", {{"alpha", "alpha", 0.01F}});
  all["Elu"] = direct("elu", {{"alpha", "alpha", 1}});
  all["Celu"] = direct("celu", {{"alpha", "alpha", 1}});
  all["ThresholdedRelu"] = direct("threshold", {{"alpha", "threshold", 1}});
  all["HardSigmoid"] = direct("hardsigmoid", {{"alpha", "alpha", 0.2F}, {"beta", "beta", 0.5}});
  all["Selu"] = direct("selu", {{"alpha", "alpha", 1.67326319217681884765625},
                                {"gamma", "gamma", 1.05070102214813232421875}});
  return all;
}

}  // namespace mote::onnx
