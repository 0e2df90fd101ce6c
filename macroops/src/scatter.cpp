// SPDX-License-Identifier: Apache-2.0
// Ops that write at given indices: onto a copy of x, or onto zeros. Each method of combining
// written and present values is an op of its own.
#include <fmt/format.h>

#include "families.h"

namespace mote {
namespace {

struct Method {
  ScatterOp op;
  const char* suffix;
  const char* text;  ///< the effect of writing {1} to {0}
};
constexpr Method kSet = {ScatterOp::set, "", "{0} = {1}"};
constexpr Method kAdd = {ScatterOp::add, "_add", "{0} += {1}"};
constexpr Method kMethods[] = {kSet,
                               kAdd,
                               {ScatterOp::mul, "_mul", "{0} *= {1}"},
                               {ScatterOp::max, "_max", "{0} = max({0}, {1})"},
                               {ScatterOp::min, "_min", "{0} = min({0}, {1})"}};

/// Ignores an element of index and updates for which x has no row or column.
ProgramSpec scatter_elements(const Instance& instance, ScatterOp op) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop index = input("index", DType::i64, {"P", "I", "Q"});
  const Uop updates = input("updates", instance.dtype, {"P", "I", "Q"});
  const Shape whole = {"R", "I", "C"};
  const std::vector<IndexText> same = {"i0", "i1", "i2"};
  const Uop to = reindex(from_end(index, "N"), whole, same, -1);
  return spec({x, index, updates}, select_scatter(op, x, reindex(updates, whole, same), 1, to));
}

ProgramSpec index_add(const Instance& instance, ScatterOp op) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop index = input("index", DType::i64, {"I"});
  const Uop updates = input("updates", instance.dtype, {"R", "I", "C"});
  const Uop to = broadcast(from_end(index, "N"), shape_of(updates), {1});
  const Uop scaled = updates * param("alpha", instance.dtype);
  return spec({x, index, updates}, select_scatter(op, x, scaled, 1, to));
}

/// Returns the row-major position in x[A, B, D] that a row of index gives, -1 if there is none. Its
/// last column is along D; missing columns are 0, columns before the last three are not read.
Uop flat_position(const Uop& index) {
  const char* const axes[] = {"A", "B", "D"};
  Uop position, known;
  for (int a = 0; a < 3; ++a) {
    const Uop column = reindex(index, {"I"}, {"i0", parse_expr("K - 3").expr + a});
    const Uop at = from_end(column, axes[a]), extent = iota(axes[a], {"I"});
    const Uop in_axis = at >= 0 && at < extent;
    position = position ? position * extent + at : at;
    known = known ? known && in_axis : in_axis;
  }
  return where(known, position, -1);
}

ProgramSpec scatter_nd(const Instance& instance, ScatterOp op) {
  const Uop x = input("x", instance.dtype, {"A", "B", "D", "S"});
  const Uop index = input("index", DType::i64, {"I", "K"});
  const Uop updates = input("updates", instance.dtype, {"I", "S"});
  const Uop rows = reindex(x, {"n: A*B*D", "S"}, {"i0/(B*D)", "i0/D%B", "i0%D", "i1"});
  const Uop to = broadcast(flat_position(index), shape_of(updates), {0});
  const Uop y = select_scatter(op, rows, updates, 0, to);
  return spec({x, index, updates}, reindex(y, shape_of(x), {"(i0*B + i1)*D + i2", "i3"}));
}

ProgramSpec max_unpool2d(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"N", "C", "H", "W"});
  const Uop indices = input("indices", DType::i64, {"N", "C", "H", "W"});
  const auto flat = [](const Uop& u) {
    return reindex(u, {"p: N*C*H*W"}, {"i0/(C*H*W)", "i0/(H*W)%C", "i0/W%H", "i0%W"});
  };
  const Uop none =
      broadcast(scalar(0, instance.dtype), {"q: N*C*$output0*$output1"}, std::vector<int>{});
  const Uop y = select_scatter(ScatterOp::set, none, flat(x), 0, flat(indices));
  return spec({x, indices}, reindex(y, {"N", "C", "oh: $output0", "ow: $output1"},
                                    {"((i0*C + i1)*$output0 + i2)*$output1 + i3"}));
}

std::string policy_of(ScatterOp op) {
  const std::string order = "written in row-major order of updates";
  const std::string index =
      "a negative index counts from the end; out of range writes nothing (the command layer's "
      "error)";
  switch (op) {
    case ScatterOp::set:
      return order + ", so that of equal indices the last stays (ours; ONNX leaves it open); " +
             index;
    case ScatterOp::max:
    case ScatterOp::min:
      return "NaN propagates; " + index;
    default:
      return order + "; reals are combined in double and rounded once, integers in 64 bits and " +
             "wrap when stored; " + index;
  }
}

OpRecord scattering(const std::string& name, const Method& method, const char* location,
                    const char* update, const std::string& more, const std::string& source,
                    ProgramSpec (*define)(const Instance&, ScatterOp)) {
  const bool arithmetic = method.op == ScatterOp::add || method.op == ScatterOp::mul;
  return {.name = name + method.suffix,
          .family = "index",
          .equation = "y = x, then " + fmt::format(fmt::runtime(method.text), location, update),
          .inputs = {{"x"}, {"index"}, {"updates"}},
          .dtypes = arithmetic ? dtypes::kNumber : dtypes::kAll,
          .params = {},
          .in_place = {{0, 0}},
          .policy = policy_of(method.op) + more,
          .source = source,
          .define = [define, op = method.op](const Instance& i) { return define(i, op); }};
}

OpRecord max_unpool2d_record() {
  return {.name = "max_unpool2d",
          .family = "spatial",
          .equation = "y = 0, then y as one row [indices[n, c, h, w]] = x[n, c, h, w]",
          .inputs = {{"x"}, {"indices"}},
          .dtypes = dtypes::kNumber,
          .params = {integer_param("output0", 1, std::nullopt, "rows of y"),
                     integer_param("output1", 1, std::nullopt, "columns of y")},
          .in_place = {},
          .policy =
              "indices as max_pool2d_with_indices gives them, positions in all of y; of "
              "equal ones the last stays; out of range, -1 too, writes nothing",
          .source = "ONNX opset 17 MaxUnpool without output_shape, which pads y afterwards",
          .define = max_unpool2d};
}

}  // namespace

std::vector<OpRecord> scatter_ops() {
  std::vector<OpRecord> records = {max_unpool2d_record()};
  for (const Method& method : kMethods) {
    records.push_back(scattering(
        "scatter_elements", method, "y[r, index[r, i, c], c]", "updates[r, i, c]",
        "; index may be smaller than x on the other axes; what it has beyond x writes nothing",
        "ONNX opset 18 ScatterElements", scatter_elements));
    records.push_back(scattering(
        "scatter_nd", method, "y[index[i, 0], index[i, 1], index[i, 2], s]", "updates[i, s]",
        "; x begins with three indexed axes: fewer than three columns of index count from the "
        "last, the other axes having extent 1; of more columns the last three count",
        "ONNX opset 18 ScatterND", scatter_nd));
  }
  records.push_back(scattering("index", kAdd, "y[r, index[i], c]", "alpha * updates[r, i, c]", "",
                               "PyTorch index_add", index_add));
  records.back().params = {value_param("alpha", 1, "factor of updates")};
  return records;
}

}  // namespace mote
