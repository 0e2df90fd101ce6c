// Ops that move elements and compute nothing.
#include "families.h"

namespace mote {
namespace {

ProgramSpec transpose(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"B", "M", "N"});
  return spec({x}, reindex(x, {"B", "N", "M"}, {"i0", "i2", "i1"}));
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
  };
}

}  // namespace mote
