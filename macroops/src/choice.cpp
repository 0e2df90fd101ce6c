// SPDX-License-Identifier: Apache-2.0
// Elementwise ops that choose between values or change their dtype.
#include <fmt/format.h>

#include "families.h"

namespace mote {
namespace {

const Shape& any_shape() {
  static const Shape shape = {"1|I", "1|J", "1|K", "1|L"};
  return shape;
}

ProgramSpec where_op(const Instance& instance) {
  const Uop condition = input("condition", DType::boolean, any_shape());
  const Uop a = input("a", instance.dtype, any_shape());
  const Uop b = input("b", instance.dtype, any_shape());
  return spec({condition, a, b}, where(condition, a, b));
}

ProgramSpec clamp(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
  const Uop low = optional_input(instance, 1, "low", any_shape());
  const Uop high = optional_input(instance, 2, "high", any_shape());
  Uop y = x;
  if (low) y = where(y < low, low, y);
  if (high) y = where(y > high, high, y);
  return spec({x, low, high}, y);
}

/// Interpolates from the nearer end, so that both ends are exact.
ProgramSpec lerp(const Instance& instance) {
  const Uop a = input("a", instance.dtype, any_shape());
  const Uop b = input("b", instance.dtype, any_shape());
  const Uop weight = input("weight", instance.dtype, any_shape());
  const Uop y = where(abs(weight) < 0.5, a + weight * (b - a), b - (1 - weight) * (b - a));
  return spec({a, b, weight}, y);
}

OpRecord cast_to(DType to) {
  return {.name = fmt::format("cast_{}", name(to)),
          .family = "elementwise",
          .equation = fmt::format("y = {}(x)", name(to)),
          .inputs = {{"x"}},
          .dtypes = dtypes::kAll,
          .params = {},
          .in_place = {},
          .policy = to == DType::boolean ? "x != 0, so that NaN is true"
                    : is_integer(to)     ? "reals truncate and saturate, NaN gives 0; integers wrap"
                                         : "rounds to nearest, half to even; true is 1",
          .source = "ONNX opset 17 Cast, which leaves reals outside the target's range open",
          .define = [to](const Instance& instance) {
            const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
            return spec({x}, cast(x, to));
          }};
}

}  // namespace

std::vector<OpRecord> choice_ops() {
  std::vector<OpRecord> records = {
      {.name = "where",
       .family = "elementwise",
       .equation = "y = condition ? a : b",
       .inputs = {{"condition"}, {"a"}, {"b"}},
       .dtypes = dtypes::kAll,
       .params = {},
       .in_place = {{1, 0}, {2, 0}},
       .policy = "all three broadcast; what is not chosen does not matter, NaN included",
       .source = "ONNX opset 17 Where",
       .define = where_op},
      {.name = "clamp",
       .family = "elementwise",
       .equation = "y = min(max(x, low), high), as far as there is low, high",
       .inputs = {{"x"}, {"low", true}, {"high", true}},
       .dtypes = dtypes::kNumber,
       .params = {},
       .in_place = {{0, 0}},
       .policy = "low and high broadcast to x; high wins where low > high; a NaN bound is none; "
                 "NaN in x stays",
       .source = "ONNX opset 17 Clip",
       .define = clamp},
      {.name = "lerp",
       .family = "elementwise",
       .equation = "y = |weight| < 1/2 ? a + weight*(b - a) : b - (1 - weight)*(b - a)",
       .inputs = {{"a"}, {"b"}, {"weight"}},
       .dtypes = dtypes::kReal,
       .params = {},
       .in_place = {{0, 0}, {1, 0}, {2, 0}},
       .policy = "all three broadcast; exactly a at weight 0, b at 1",
       .source = "PyTorch lerp",
       .define = lerp},
  };
  for (const DType to : all_dtypes()) records.push_back(cast_to(to));
  return records;
}

}  // namespace mote
