// SPDX-License-Identifier: Apache-2.0
// Activations: elementwise functions of one tensor, with parameters or a slope.
#include <cmath>
#include <numbers>

#include "families.h"

namespace mote {
namespace {

using Function = std::function<Uop(const Uop& x, DType dtype)>;

Uop unary(MapOp op, const Uop& x) { return map(op, std::vector<Uop>{x}); }
Uop sigmoid_by_tanh(const Uop& x) { return 0.5 * tanh(0.5 * x) + 0.5; }
Uop clip01(const Uop& x) { return min(max(x, 0), 1); }
Uop softplus(const Uop& x) { return max(x, 0) + unary(MapOp::log1p, exp(-abs(x))); }
Uop half_times(const Uop& x, const Uop& odd) { return 0.5 * x * (1 + odd); }
Uop gelu_of(const Uop& x) {
  return half_times(x, unary(MapOp::erf, x * (1 / std::numbers::sqrt2)));
}

/// Returns gx = gy * y*(1 - y), which needs no x.
ProgramSpec sigmoid_gradient(const Instance& instance, const Uop& gy) {
  const Uop y = input("y", instance.dtype, shape_of(gy));
  return spec({gy, y}, {{"gx", gy * (y * (1 - y))}});
}

/// Returns gx = gy * s*(1 + x*(1 - s)), s = sigmoid(x): the form that other libraries compute.
ProgramSpec silu_gradient(const Instance& instance, const Uop& gy) {
  const Uop x = input("x", instance.dtype, shape_of(gy)), s = sigmoid(x);
  return spec({gy, x}, {{"gx", gy * (s * (1 + x * (1 - s)))}});
}

Form by_tanh(std::function<ProgramSpec(const Instance&)> define) {
  return {.name = "tanh",
          .meaning = "sigmoid(x) = 1/2 + tanh(x/2)/2, which loses all digits where x << 0",
          .source = "XLA, LogisticExpander",
          .define = std::move(define)};
}

ProgramSpec elementwise(const Instance& instance, const Function& f) {
  const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
  return spec({x}, f(x, instance.dtype));
}

OpRecord activation(std::string name, std::string equation, const Function& f, std::string policy,
                    std::string source, std::vector<ParamDecl> params = {},
                    const OneGradient& gradient = {}) {
  return {.name = std::move(name),
          .family = "elementwise",
          .equation = "y = " + std::move(equation),
          .inputs = {{"x"}},
          .dtypes = dtypes::kReal,
          .params = std::move(params),
          .in_place = {{0, 0}},
          .policy = std::move(policy),
          .source = std::move(source),
          .define = [f](const Instance& instance) { return elementwise(instance, f); },
          .gradient = written(gradient)};
}

/// Adds the forms "tanh" and "of_exp", whose bodies are f and g.
OpRecord with_forms(OpRecord record, const Function& f, const Function& g) {
  const auto body = [](const Function& of) {
    return [of](const Instance& instance) { return elementwise(instance, of); };
  };
  record.forms = {by_tanh(body(f)), of_exp(body(g))};
  return record;
}

ParamDecl alpha_param(double value, std::string meaning) {
  return value_param("alpha", value, std::move(meaning));
}

std::vector<OpRecord> plain() {
  const double c = std::sqrt(2 / std::numbers::pi);
  const auto gelu = [](const Uop& x, DType) { return gelu_of(x); };
  const auto gelu_tanh = [c](const Uop& x, DType) {
    return half_times(x, tanh(c * (x + 0.044715 * (x * x * x))));
  };
  return {
      activation("gelu", "x/2 * (1 + erf(x/sqrt(2)))", gelu, "-inf gives NaN",
                 "ONNX opset 20 Gelu; PyTorch GELU"),
      activation("gelu_tanh", "x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715*x^3)))", gelu_tanh,
                 "-inf gives NaN", "ONNX opset 20 Gelu, approximate = tanh; PyTorch GELU"),
      with_forms(
          activation(
              "sigmoid", "1/(1 + exp(-x))", [](const Uop& x, DType) { return sigmoid(x); }, "",
              "ONNX opset 17 Sigmoid", {}, sigmoid_gradient),
          [](const Uop& x, DType) { return sigmoid_by_tanh(x); },
          [](const Uop& x, DType) { return sigmoid_of_exp(x); }),
      with_forms(
          activation(
              "silu", "x * sigmoid(x)", [](const Uop& x, DType) { return x * sigmoid(x); },
              "-inf gives NaN", "PyTorch SiLU", {}, silu_gradient),
          [](const Uop& x, DType) { return x * sigmoid_by_tanh(x); },
          [](const Uop& x, DType) { return x * sigmoid_of_exp(x); }),
      activation(
          "hardswish", "x * min(max(x/6 + 1/2, 0), 1)",
          [](const Uop& x, DType) { return x * clip01(x * (1.0 / 6) + 0.5); }, "-inf gives NaN",
          "ONNX opset 17 HardSwish"),
      activation(
          "softplus", "max(x, 0) + log1p(exp(-|x|)) = log(1 + exp(x))",
          [](const Uop& x, DType) { return softplus(x); }, "does not overflow",
          "ONNX opset 17 Softplus"),
      activation(
          "softsign", "x/(1 + |x|)", [](const Uop& x, DType) { return x / (1 + abs(x)); },
          "+inf and -inf give NaN", "ONNX opset 17 Softsign"),
      activation(
          "mish", "x * tanh(softplus(x))",
          [](const Uop& x, DType) { return x * tanh(softplus(x)); }, "-inf gives NaN",
          "ONNX opset 18 Mish; PyTorch Mish"),
  };
}

Uop leaky_relu(const Uop& x, DType t) { return where(x < 0, param("alpha", t) * x, x); }
Uop elu(const Uop& x, DType t) {
  return where(x < 0, param("alpha", t) * unary(MapOp::expm1, x), x);
}
Uop selu(const Uop& x, DType t) {
  return param("gamma", t) * where(x <= 0, param("alpha", t) * unary(MapOp::expm1, x), x);
}
Uop celu(const Uop& x, DType t) {
  const Uop alpha = param("alpha", t);
  return max(x, 0) + min(alpha * unary(MapOp::expm1, x / alpha), 0);
}
Uop hardsigmoid(const Uop& x, DType t) { return clip01(param("alpha", t) * x + param("beta", t)); }
Uop threshold(const Uop& x, DType t) {
  return where(x <= param("threshold", t), param("value", t), x);
}

std::vector<OpRecord> with_parameters() {
  const ParamDecl slope = alpha_param(0.01, "slope where x < 0");
  const ParamDecl depth = alpha_param(1, "minus the value at -inf");
  return {
      activation("leaky_relu", "x < 0 ? alpha*x : x", leaky_relu, "NaN propagates",
                 "ONNX opset 17 LeakyRelu", {slope}),
      activation("elu", "x < 0 ? alpha*(exp(x) - 1) : x", elu, "accurate for small x",
                 "ONNX opset 17 Elu", {depth}),
      activation("selu", "gamma * (x <= 0 ? alpha*(exp(x) - 1) : x)", selu, "accurate for small x",
                 "ONNX opset 17 Selu",
                 {alpha_param(1.67326319217681884765625, "minus the value at -inf, before gamma"),
                  value_param("gamma", 1.05070102214813232421875, "factor of all")}),
      activation("celu", "max(x, 0) + min(alpha*(exp(x/alpha) - 1), 0)", celu,
                 "accurate for small x; alpha = 0 gives NaN", "ONNX opset 17 Celu", {depth}),
      activation("hardsigmoid", "min(max(alpha*x + beta, 0), 1)", hardsigmoid, "NaN propagates",
                 "ONNX opset 17 HardSigmoid",
                 {alpha_param(0.2, "slope"), value_param("beta", 0.5, "value at 0")}),
      activation("threshold", "x <= threshold ? value : x", threshold, "NaN stays",
                 "PyTorch Threshold; ONNX opset 17 ThresholdedRelu with value = 0",
                 {value_param("threshold", 1, "greatest x that is replaced"),
                  value_param("value", 0, "what takes its place")}),
  };
}

OpRecord relu() {
  OpRecord record = activation(
      "relu", "max(x, 0)", [](const Uop& x, DType) { return max(x, 0); }, "NaN propagates",
      "ONNX opset 17 Relu");
  record.dtypes = dtypes::kNumber;
  return record;
}

/// Returns a gated linear unit, f(gate) * x; its inputs are the two halves of the usual tensor.
OpRecord gated(std::string name, std::string equation, Uop (*f)(const Uop&), std::string policy,
               Uop (*by_tanh_too)(const Uop&) = nullptr) {
  const auto define = [](Uop (*of)(const Uop&)) {
    return [of](const Instance& instance) {
      const Uop gate = input("gate", instance.dtype, {"I", "J", "K", "L"});
      const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
      return spec({gate, x}, of(gate) * x);
    };
  };
  return {.name = std::move(name),
          .family = "elementwise",
          .equation = "y = " + std::move(equation) + " * x",
          .inputs = {{"gate"}, {"x"}},
          .dtypes = dtypes::kReal,
          .params = {},
          .in_place = {{0, 0}, {1, 0}},
          .policy = std::move(policy),
          .source = "Shazeer, GLU Variants Improve Transformer, 2020",
          .define = define(f),
          .forms = by_tanh_too ? std::vector{by_tanh(define(by_tanh_too))} : std::vector<Form>{}};
}

std::vector<OpRecord> gated_ops() {
  return {
      gated(
          "glu", "sigmoid(gate)", [](const Uop& g) { return sigmoid(g); }, "",
          [](const Uop& g) { return sigmoid_by_tanh(g); }),
      gated(
          "reglu", "max(gate, 0)", [](const Uop& g) { return max(g, 0); }, "NaN propagates"),
      gated(
          "swiglu", "gate * sigmoid(gate)", [](const Uop& g) { return g * sigmoid(g); },
          "a gate of -inf gives NaN", [](const Uop& g) { return g * sigmoid_by_tanh(g); }),
      gated("geglu", "gate/2 * (1 + erf(gate/sqrt(2)))", gelu_of, "a gate of -inf gives NaN"),
  };
}

OpRecord prelu() {
  return {.name = "prelu",
          .family = "elementwise",
          .equation = "y = x < 0 ? slope*x : x",
          .inputs = {{"x"}, {"slope"}},
          .dtypes = dtypes::kWide,
          .params = {},
          .in_place = {{0, 0}},
          .policy = "slope broadcasts to x; NaN stays; integers wrap",
          .source = "ONNX opset 17 PRelu",
          .define = [](const Instance& instance) {
            const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
            const Uop slope = input("slope", instance.dtype, {"1|I", "1|J", "1|K", "1|L"});
            return spec({x, slope}, where(x < 0, slope * x, x));
          }};
}

}  // namespace

std::vector<OpRecord> activation_ops() {
  std::vector<OpRecord> records = plain();
  for (OpRecord& record : with_parameters()) records.push_back(std::move(record));
  for (OpRecord& record : gated_ops()) records.push_back(std::move(record));
  records.push_back(relu());
  records.push_back(prelu());
  return records;
}

}  // namespace mote
