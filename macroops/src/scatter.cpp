// Ops that write where an index says.
#include <fmt/format.h>

#include "families.h"

namespace mote {
namespace {

const char* const kIndexPolicy =
    "a negative index counts from the end; what is out of range is dropped (the command layer's "
    "error)";

ProgramSpec scatter_elements(const Instance& instance, ScatterOp op) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop index = input("index", DType::i64, {"R", "I", "C"});
  const Uop updates = input("updates", instance.dtype, {"R", "I", "C"});
  return spec({x, index, updates}, select_scatter(op, x, updates, 1, from_end(index, "N")));
}

OpRecord scatter_record(ScatterOp op, std::string name, const char* written,
                        const char* duplicates) {
  const bool arithmetic = op == ScatterOp::add || op == ScatterOp::mul;
  return {.name = std::move(name),
          .family = "index",
          .equation = fmt::format("y = x; y[r, index[r, i, c], c] {} updates[r, i, c]", written),
          .inputs = {{"x"}, {"index"}, {"updates"}},
          .dtypes = arithmetic ? dtypes::kNumber : dtypes::kAll,
          .params = {},
          .in_place = {{0, 0}},
          .policy = fmt::format("{}; {}", kIndexPolicy, duplicates),
          .source = "ONNX opset 16 ScatterElements; max and min opset 18",
          .define = [op](const Instance& i) { return scatter_elements(i, op); }};
}

ProgramSpec index_add(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop index = input("index", DType::i64, {"I"});
  const Uop updates = input("updates", instance.dtype, {"R", "I", "C"});
  const Uop positions = broadcast(from_end(index, "N"), shape_of(updates), {1});
  const Uop scaled = updates * param("alpha", instance.dtype);
  return spec({x, index, updates}, select_scatter(ScatterOp::add, x, scaled, 1, positions));
}

}  // namespace

std::vector<OpRecord> scatter_ops() {
  const char* const summed = "duplicates accumulate, in row-major order of updates";
  return {
      scatter_record(ScatterOp::set, "scatter_elements", "=",
                     "of duplicates the last in row-major order of updates stays"),
      scatter_record(ScatterOp::add, "scatter_elements_add", "+=", summed),
      scatter_record(ScatterOp::mul, "scatter_elements_mul", "*=", summed),
      scatter_record(ScatterOp::max, "scatter_elements_max", "max=", "NaN propagates"),
      scatter_record(ScatterOp::min, "scatter_elements_min", "min=", "NaN propagates"),
      {.name = "index_add",
       .family = "index",
       .equation = "y = x; y[r, index[i], c] += alpha * updates[r, i, c]",
       .inputs = {{"x"}, {"index"}, {"updates"}},
       .dtypes = dtypes::kNumber,
       .params = {value_param("alpha", 1, "factor of updates")},
       .in_place = {{0, 0}},
       .policy = fmt::format("{}; {}", kIndexPolicy, summed),
       .source = "PyTorch Tensor.index_add",
       .define = index_add},
  };
}

}  // namespace mote
