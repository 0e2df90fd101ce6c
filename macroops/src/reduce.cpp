// Reductions over axis 1 of x[R, N, C]; the axes around it are merged.
#include "families.h"

namespace mote {
namespace {

using Builder = Uop (*)(const Uop&, const Axes&);

/// Over integers the quotient of sum and count in 64 bits.
Uop mean_of(const Uop& x, const Axes& axes) {
  if (is_real(x.dtype())) return mean_over(x, axes);
  const Uop total = sum_over(cast(x, DType::i64), axes);
  return cast(total / iota("N", shape_of(total)), x.dtype());
}

OpRecord reduction(std::string name, Builder build, std::string equation, std::string policy,
                   std::string source) {
  return {.name = std::move(name),
          .family = "reduce",
          .equation = std::move(equation),
          .inputs = {{"x"}},
          .dtypes = dtypes::kNumber,
          .params = {},
          .in_place = {},
          .policy = std::move(policy),
          .source = std::move(source),
          .define = [build](const Instance& instance) {
            const Uop x = input("x", instance.dtype, {"R", "N", "C"});
            return spec({x}, build(x, {1}));
          }};
}

}  // namespace

std::vector<OpRecord> reduce_ops() {
  const std::string wraps = "i32 accumulates in 64 bits and wraps when stored";
  return {
      reduction("sum", sum_over, "y[r, c] = sum_n x[r, n, c]", "the empty sum is 0; " + wraps,
                "ONNX opset 17 ReduceSum"),
      reduction("mean", mean_of, "y[r, c] = sum_n x[r, n, c] / N",
                "the empty mean is NaN, for integers 0; integers truncate towards zero; " + wraps,
                "ONNX opset 17 ReduceMean"),
      reduction("prod", prod_over, "y[r, c] = prod_n x[r, n, c]",
                "the empty product is 1; " + wraps, "ONNX opset 17 ReduceProd"),
      reduction("reduce_max", max_over, "y[r, c] = max_n x[r, n, c]",
                "NaN propagates; the empty maximum is -inf, for integers the least value",
                "ONNX opset 17 ReduceMax; NaN as in NumPy"),
      reduction("reduce_min", min_over, "y[r, c] = min_n x[r, n, c]",
                "NaN propagates; the empty minimum is +inf, for integers the greatest value",
                "ONNX opset 17 ReduceMin; NaN as in NumPy"),
      reduction("argmax", argmax_over, "y[r, c] = the first n at which x[r, n, c] is greatest",
                "gives i64; the first wins, and the first NaN if there is one; N = 0 is an error",
                "ONNX opset 17 ArgMax, select_last_index = 0"),
  };
}

}  // namespace mote
