// SPDX-License-Identifier: Apache-2.0
// Elementwise ops, all made from two tables: a row has the op's name, its function, the dtypes that
// it supports, its equation and its conventions.
#include <fmt/format.h>

#include <string_view>

#include "families.h"

namespace mote {
namespace {

struct Row {
  const char* name;
  MapOp op;
  std::vector<DType> dtypes;
  const char* formula;  ///< {} and {} are the operands
  const char* policy;
  std::string source;
};

std::string onnx(std::string_view op) { return fmt::format("ONNX opset 17 {}", op); }

std::vector<Row> unary_rows() {
  using enum MapOp;
  using dtypes::kBool, dtypes::kInteger, dtypes::kNumber, dtypes::kReal, dtypes::kSigned;
  return {
      {"neg", neg, kSigned, "-{}", "integers wrap", onnx("Neg")},
      {"abs", abs, kNumber, "|{}|", "integers wrap: abs of the least value is itself", onnx("Abs")},
      {"sign", sign, kNumber, "sign({})", "-1, 0 or 1; NaN stays NaN", onnx("Sign")},
      {"recip", recip, kReal, "1/{}", "0 gives the infinity of its sign", onnx("Reciprocal")},
      {"sqrt", sqrt, kReal, "sqrt({})", "below 0 NaN", onnx("Sqrt")},
      {"rsqrt", rsqrt, kReal, "1/sqrt({})", "0 gives the infinity of its sign, below it NaN",
       onnx("Reciprocal") + " of Sqrt"},
      {"exp", exp, kReal, "exp({})", "", onnx("Exp")},
      {"expm1", expm1, kReal, "exp({}) - 1", "accurate for small x", "C11 expm1"},
      {"log", log, kReal, "log({})", "0 gives -inf, below it NaN", onnx("Log")},
      {"log1p", log1p, kReal, "log(1 + {})", "accurate for small x; -1 gives -inf, below it NaN",
       "C11 log1p"},
      {"sin", sin, kReal, "sin({})", "in radians; an infinity gives NaN", onnx("Sin")},
      {"cos", cos, kReal, "cos({})", "in radians; an infinity gives NaN", onnx("Cos")},
      {"tan", tan, kReal, "tan({})", "in radians; an infinity gives NaN", onnx("Tan")},
      {"asin", asin, kReal, "asin({})", "beyond -1 and 1 NaN", onnx("Asin")},
      {"acos", acos, kReal, "acos({})", "beyond -1 and 1 NaN", onnx("Acos")},
      {"atan", atan, kReal, "atan({})", "", onnx("Atan")},
      {"sinh", sinh, kReal, "sinh({})", "", onnx("Sinh")},
      {"cosh", cosh, kReal, "cosh({})", "", onnx("Cosh")},
      {"tanh", tanh, kReal, "tanh({})", "", onnx("Tanh")},
      {"erf", erf, kReal, "erf({})", "", onnx("Erf")},
      {"floor", floor, kReal, "floor({})", "", onnx("Floor")},
      {"ceil", ceil, kReal, "ceil({})", "", onnx("Ceil")},
      {"round", round, kReal, "round({})", "half to even", onnx("Round")},
      {"trunc", trunc, kReal, "trunc({})", "", "C11 trunc"},
      {"logical_not", logical_not, kBool, "not {}", "", onnx("Not")},
      {"bitwise_not", bitwise_not, kInteger, "~{}", "", "ONNX opset 18 BitwiseNot"},
      {"isnan", isnan, kReal, "isnan({})", "gives bool", onnx("IsNaN")},
  };
}

std::vector<Row> binary_rows() {
  using enum MapOp;
  using dtypes::kAll, dtypes::kBool, dtypes::kInteger, dtypes::kNumber, dtypes::kWide;
  return {
      {"add", add, kNumber, "{} + {}", "integers wrap", onnx("Add")},
      {"sub", sub, kNumber, "{} - {}", "integers wrap", onnx("Sub")},
      {"mul", mul, kNumber, "{} * {}", "integers wrap", onnx("Mul")},
      {"div", div, kNumber, "{} / {}",
       "integers truncate towards zero; an integer divided by 0 is 0 (ours; ONNX leaves it open)",
       onnx("Div")},
      {"pow", pow, kWide, "pow({}, {})",
       "integers wrap; a negative integer exponent truncates: 0, or 1 or -1 where the base is",
       onnx("Pow")},
      {"mod", mod, kNumber, "{} mod {}",
       "the sign of the divisor (floor mod); an integer mod 0 is 0 (ours; ONNX leaves it open)",
       onnx("Mod") + ", fmod = 0; reals as PyTorch's remainder"},
      {"min", min, kNumber, "min({}, {})", "NaN propagates", onnx("Min")},
      {"max", max, kNumber, "max({}, {})", "NaN propagates", onnx("Max")},
      {"less", lt, kNumber, "{} < {}", "gives bool; false with NaN", onnx("Less")},
      {"less_or_equal", le, kNumber, "{} <= {}", "gives bool; false with NaN", onnx("LessOrEqual")},
      {"greater", gt, kNumber, "{} > {}", "gives bool; false with NaN", onnx("Greater")},
      {"greater_or_equal", ge, kNumber, "{} >= {}", "gives bool; false with NaN",
       onnx("GreaterOrEqual")},
      {"equal", eq, kAll, "{} == {}", "gives bool; false with NaN", onnx("Equal")},
      {"not_equal", ne, kAll, "{} != {}", "gives bool; true with NaN", onnx("Equal") + ", negated"},
      {"logical_and", logical_and, kBool, "{} and {}", "", onnx("And")},
      {"logical_or", logical_or, kBool, "{} or {}", "", onnx("Or")},
      {"logical_xor", logical_xor, kBool, "{} xor {}", "", onnx("Xor")},
      {"bitwise_and", bitwise_and, kInteger, "{} & {}", "", "ONNX opset 18 BitwiseAnd"},
      {"bitwise_or", bitwise_or, kInteger, "{} | {}", "", "ONNX opset 18 BitwiseOr"},
      {"bitwise_xor", bitwise_xor, kInteger, "{} ^ {}", "", "ONNX opset 18 BitwiseXor"},
      {"shift_left", shift_left, kInteger, "{} << {}",
       "bits beyond T are lost; a shift by less than 0 or more than 63 gives 0",
       onnx("BitShift") + ", direction = LEFT"},
      {"shift_right", shift_right, kInteger, "{} >> {}",
       "keeps the sign; a shift by less than 0 or more than 63 gives 0, or -1 where a < 0",
       onnx("BitShift") + ", direction = RIGHT; signed integers as in later versions"},
  };
}

/// True if the result has the dtype of the operands, so that it may overwrite them.
bool keeps_dtype(MapOp op, DType dtype, int arity) {
  const std::vector<DType> args(static_cast<std::size_t>(arity), dtype);
  return result_dtype(op, args, dtype) == dtype;
}

OpRecord unary(const Row& row) {
  OpRecord record{.name = row.name,
                  .family = "elementwise",
                  .equation = "y = " + fmt::format(fmt::runtime(row.formula), "x"),
                  .inputs = {{"x"}},
                  .dtypes = row.dtypes,
                  .params = {},
                  .in_place = {},
                  .policy = row.policy,
                  .source = row.source,
                  .define = [op = row.op](const Instance& instance) {
                    const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
                    return spec({x}, map(op, std::vector<Uop>{x}));
                  }};
  if (keeps_dtype(row.op, row.dtypes.front(), 1)) record.in_place = {{0, 0}};
  return record;
}

OpRecord binary(const Row& row) {
  OpRecord record{.name = row.name,
                  .family = "elementwise",
                  .equation = "y = " + fmt::format(fmt::runtime(row.formula), "a", "b"),
                  .inputs = {{"a"}, {"b"}},
                  .dtypes = row.dtypes,
                  .params = {},
                  .in_place = {},
                  .policy = row.policy,
                  .source = row.source,
                  .define = [op = row.op](const Instance& instance) {
                    const Shape shape = {"1|I", "1|J", "1|K", "1|L"};
                    const Uop a = input("a", instance.dtype, shape);
                    const Uop b = input("b", instance.dtype, shape);
                    return spec({a, b}, map(op, std::vector<Uop>{a, b}));
                  }};
  if (keeps_dtype(row.op, row.dtypes.front(), 2)) record.in_place = {{0, 0}, {1, 0}};
  return record;
}

/// Returns the remainder that truncates; for reals it is exact: the remainder of the magnitudes,
/// which floor mod gives, with the sign of a.
Uop truncated_mod(const Uop& a, const Uop& b) {
  if (!is_real(a.dtype())) return where(eq(b, 0), 0, a - a / b * b);
  const Uop magnitude = mod(abs(a), abs(b));
  return where(a < 0, -magnitude, magnitude);
}

OpRecord fmod_record() {
  OpRecord record = binary({"fmod", MapOp::mod, dtypes::kNumber, "fmod({}, {})",
                            "a - trunc(a/b)*b, exact, with the sign of a; an integer mod 0 is "
                            "0 (ours; ONNX leaves it open)",
                            onnx("Mod") + ", fmod = 1"});
  record.define = [](const Instance& instance) {
    const Shape shape = {"1|I", "1|J", "1|K", "1|L"};
    const Uop a = input("a", instance.dtype, shape), b = input("b", instance.dtype, shape);
    return spec({a, b}, truncated_mod(a, b));
  };
  return record;
}

OpRecord isinf_record() {
  OpRecord record = unary({"isinf", MapOp::isinf, dtypes::kReal, "isinf({})",
                           "gives bool; of either sign unless told otherwise", onnx("IsInf")});
  record.params = {flag_param("detect_positive", 1, "0: +inf does not count"),
                   flag_param("detect_negative", 1, "0: -inf does not count")};
  record.define = [](const Instance& instance) {
    const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
    const auto counts = [&](const char* flag) { return iota(flag, shape_of(x)) > 0; };
    const Uop wanted =
        (x > 0 && counts("$detect_positive")) || (x < 0 && counts("$detect_negative"));
    return spec({x}, map(MapOp::isinf, std::vector<Uop>{x}) && wanted);
  };
  return record;
}

}  // namespace

std::vector<OpRecord> elementwise_ops() {
  std::vector<OpRecord> records = {fmod_record(), isinf_record()};
  for (const Row& row : unary_rows()) records.push_back(unary(row));
  for (const Row& row : binary_rows()) records.push_back(binary(row));
  return records;
}

}  // namespace mote
