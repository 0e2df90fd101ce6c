// SPDX-License-Identifier: Apache-2.0
// Ops that read at given indices, or keep a part by position.
#include "families.h"

namespace mote {
namespace {

ProgramSpec transpose(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"B", "M", "N"});
  return spec({x}, reindex(x, {"B", "N", "M"}, {"i0", "i2", "i1"}));
}

ProgramSpec gather(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop index = input("index", DType::i64, {"I"});
  const Uop positions = broadcast(from_end(index, "N"), {"R", "I", "C"}, {1});
  return spec({x, index}, select(x, 1, positions));
}

ProgramSpec gather_elements(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop index = input("index", DType::i64, {"R", "I", "C"});
  return spec({x, index}, select(x, 1, from_end(index, "N")));
}

ProgramSpec embedding(const Instance& instance) {
  const Uop weight = input("weight", instance.dtype, {"V", "D"});
  const Uop index = input("index", DType::i64, {"I"});
  const Uop positions = broadcast(from_end(index, "V"), {"I", "D"}, {0});
  return spec({weight, index}, select(weight, 0, positions));
}

ProgramSpec one_hot(const Instance& instance) {
  const Uop index = input("index", DType::i64, {"R", "C"});
  const Uop values = input("values", instance.dtype, {"2"});
  const Shape shape = {"R", "k: $depth", "C"};
  const Uop hit = eq(iota("i1", shape), broadcast(from_end(index, "$depth"), shape, {0, 2}));
  return spec({index, values},
              where(hit, reindex(values, shape, {1}), reindex(values, shape, {0})));
}

/// Keeps the elements on or below the diagonal (sign 1), or on or above it (sign -1).
ProgramSpec triangle(const Instance& instance, int sign) {
  const Uop x = input("x", instance.dtype, {"B", "M", "N"});
  const Expr below = parse_expr("i1 + $diagonal - i2").expr;
  return spec({x}, where(iota(below * sign, shape_of(x)) >= 0, x, 0));
}

OpRecord triangle_record(std::string name, int sign, std::string where) {
  return {.name = std::move(name),
          .family = "index",
          .equation = "y[b, m, n] = " + std::move(where) + " ? x[b, m, n] : 0",
          .inputs = {{"x"}},
          .dtypes = dtypes::kAll,
          .params = {offset_param("diagonal", 0, "diagonals above the main one")},
          .in_place = {{0, 0}},
          .policy = "NaN on the dropped side is dropped",
          .source = "ONNX opset 17 Trilu",
          .define = [sign](const Instance& instance) { return triangle(instance, sign); }};
}

OpRecord lookup(std::string name, std::string equation, std::vector<InputDecl> inputs,
                std::string source, ProgramSpec (*define)(const Instance&)) {
  return {.name = std::move(name),
          .family = "index",
          .equation = std::move(equation),
          .inputs = std::move(inputs),
          .dtypes = dtypes::kAll,
          .params = {},
          .in_place = {},
          .policy =
              "a negative index counts from the end; out of range gives 0 (the command "
              "layer's error)",
          .source = std::move(source),
          .define = define};
}

}  // namespace

std::vector<OpRecord> index_ops() {
  return {
      {.name = "transpose",
       .family = "index",
       .equation = "y[b, n, m] = x[b, m, n]",
       .inputs = {{"x"}},
       .dtypes = dtypes::kAll,
       .params = {},
       .in_place = {},
       .policy = "a copy; where strides can say it, a transposed view costs nothing",
       .source = "ONNX opset 17 Transpose",
       .define = transpose},
      lookup("gather", "y[r, i, c] = x[r, index[i], c]", {{"x"}, {"index"}}, "ONNX opset 17 Gather",
             gather),
      lookup("gather_elements", "y[r, i, c] = x[r, index[r, i, c], c]", {{"x"}, {"index"}},
             "ONNX opset 17 GatherElements", gather_elements),
      lookup("embedding", "y[i, d] = weight[index[i], d]", {{"weight"}, {"index"}},
             "PyTorch Embedding; ONNX opset 17 Gather", embedding),
      {.name = "one_hot",
       .family = "index",
       .equation = "y[r, k, c] = k == index[r, c] ? values[1] : values[0]",
       .inputs = {{"index"}, {"values"}},
       .dtypes = dtypes::kAll,
       .params = {integer_param("depth", 1, std::nullopt, "classes")},
       .in_place = {},
       .policy = "a negative index counts from the end; out of range gives values[0] throughout",
       .source = "ONNX opset 17 OneHot",
       .define = one_hot},
      triangle_record("tril", 1, "n <= m + diagonal"),
      triangle_record("triu", -1, "n >= m + diagonal"),
  };
}

}  // namespace mote
