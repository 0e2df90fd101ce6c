// SPDX-License-Identifier: Apache-2.0
// Reductions over axis 1 of x[R, N, C], and sums that keep it; the axes around it are merged.
#include "families.h"

namespace mote {
namespace {

using Builder = Uop (*)(const Uop&, const Axes&);

/// Returns the mean; over integers the quotient of sum and count in 64 bits.
Uop mean_of(const Uop& x, const Axes& axes) {
  if (is_real(x.dtype())) return mean_over(x, axes);
  const Uop total = sum_over(cast(x, DType::i64), axes);
  return cast(total / iota("N", shape_of(total)), x.dtype());
}

Uop norm1(const Uop& x, const Axes& axes) { return sum_over(abs(x), axes); }
Uop sumsq(const Uop& x, const Axes& axes) { return sum_over(x * x, axes); }
Uop norm2(const Uop& x, const Axes& axes) { return sqrt(sumsq(x, axes)); }
Uop any(const Uop& x, const Axes& axes) { return reduce(ReduceOp::any, x, axes); }
Uop all(const Uop& x, const Axes& axes) { return reduce(ReduceOp::all, x, axes); }

Uop var(const Uop& x, const Axes& axes) {
  const Uop total = sumsq(x - mean(x, axes), axes);
  return total / index_as("max(N - $correction, 0)", shape_of(total), x.dtype());
}
Uop standard_deviation(const Uop& x, const Axes& axes) { return sqrt(var(x, axes)); }

Uop one_pass_var(const Uop& x, const Axes& axes) {
  const Uop total = sumsq(x, axes) - sum_over(x, axes) * mean_over(x, axes);
  return total / index_as("max(N - $correction, 0)", shape_of(total), x.dtype());
}
/// Returns the deviation; a variance that rounding makes negative counts as 0, since its root would
/// be NaN.
Uop one_pass_deviation(const Uop& x, const Axes& axes) {
  return sqrt(max(one_pass_var(x, axes), 0));
}

/// Returns the first index, or the last with $last: then x is read backwards.
Uop argument(const Uop& x, Uop (*first)(const Uop&, const Axes&)) {
  const Uop turned = reindex(x, shape_of(x), {"i0", "i1 + $last*(N - 1 - 2*i1)", "i2"});
  const Uop at = first(turned, {1});
  return at + iota("$last", shape_of(at)) * (iota("N - 1", shape_of(at)) - 2 * at);
}
Uop argmax(const Uop& x, const Axes&) { return argument(x, argmax_over); }
Uop argmin(const Uop& x, const Axes&) { return argument(x, argmin_over); }
Uop logsum(const Uop& x, const Axes& axes) { return log(sum_over(x, axes)); }

/// Term k counts for n if k <= n, or k >= n in reverse; if exclusive, n itself does not count.
ProgramSpec cumsum(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Shape pairs = {"R", "N", "C", "k: N"};
  const Uop counts = iota("(i1 - i3)*(1 - 2*$reverse) - $exclusive", pairs) >= 0;
  return spec({x}, sum_over(where(counts, reindex(x, pairs, {"i0", "i3", "i2"}), 0), {3}));
}

OpRecord reduction(std::string name, Builder build, std::vector<DType> dtypes, std::string equation,
                   std::string policy, std::string source, std::vector<ParamDecl> params = {},
                   Builder in_one_pass = nullptr) {
  const auto define = [](Builder of) {
    return [of](const Instance& instance) {
      const Uop x = input("x", instance.dtype, {"R", "N", "C"});
      return spec({x}, of(x, {1}));
    };
  };
  return {.name = std::move(name),
          .family = "reduce",
          .equation = "y[r, c] = " + std::move(equation),
          .inputs = {{"x"}},
          .dtypes = std::move(dtypes),
          .params = std::move(params),
          .in_place = {},
          .policy = std::move(policy),
          .source = std::move(source),
          .define = define(build),
          .forms = in_one_pass ? std::vector{one_pass(define(in_one_pass))} : std::vector<Form>{}};
}

}  // namespace

std::vector<OpRecord> reduce_ops() {
  using dtypes::kBool, dtypes::kNumber, dtypes::kReal, dtypes::kWide;
  const std::string wraps = "integers accumulate in 64 bits and wrap when stored";
  const std::string spread = "two passes; NaN where N <= correction, but inf where x varies there";
  const std::string ties =
      "gives i64; the first wins, or the last, and of NaN if there is one; N = 0 is an error";
  const ParamDecl last = flag_param("last", 0, "1: the last n wins");
  const ParamDecl correction = integer_param("correction", 0, 1, "taken from the count");
  return {
      reduction("sum", sum_over, kNumber, "sum_n x[r, n, c]", "the empty sum is 0; " + wraps,
                "ONNX opset 17 ReduceSum"),
      reduction("mean", mean_of, kWide, "sum_n x[r, n, c] / N",
                "the empty mean is NaN, for integers 0; integers truncate towards zero; " + wraps,
                "ONNX opset 17 ReduceMean"),
      reduction("prod", prod_over, kNumber, "prod_n x[r, n, c]", "the empty product is 1; " + wraps,
                "ONNX opset 17 ReduceProd"),
      reduction("reduce_max", max_over, kNumber, "max_n x[r, n, c]",
                "NaN propagates; the empty maximum is -inf, for integers the least value",
                "ONNX opset 17 ReduceMax; NaN as in NumPy"),
      reduction("reduce_min", min_over, kNumber, "min_n x[r, n, c]",
                "NaN propagates; the empty minimum is +inf, for integers the greatest value",
                "ONNX opset 17 ReduceMin; NaN as in NumPy"),
      reduction("argmax", argmax, kNumber, "the first n at which x[r, n, c] is greatest", ties,
                "ONNX opset 17 ArgMax", {last}),
      reduction("argmin", argmin, kNumber, "the first n at which x[r, n, c] is least", ties,
                "ONNX opset 17 ArgMin", {last}),
      reduction("logsum", logsum, kReal, "log(sum_n x[r, n, c])", "the empty one is -inf",
                "ONNX opset 17 ReduceLogSum"),
      reduction("norm1", norm1, kWide, "sum_n |x[r, n, c]|", "the empty norm is 0; " + wraps,
                "ONNX opset 17 ReduceL1"),
      reduction("norm2", norm2, kReal, "sqrt(sum_n x[r, n, c]^2)",
                "the empty norm is 0; squares are not scaled", "ONNX opset 17 ReduceL2"),
      reduction("sumsq", sumsq, kWide, "sum_n x[r, n, c]^2", "the empty sum is 0; " + wraps,
                "ONNX opset 17 ReduceSumSquare"),
      reduction("any", any, kBool, "or_n x[r, n, c]", "empty: false", "PyTorch any"),
      reduction("all", all, kBool, "and_n x[r, n, c]", "empty: true", "PyTorch all"),
      reduction("var", var, kReal, "sum_n (x[r, n, c] - mean)^2 / max(N - correction, 0)", spread,
                "PyTorch var", {correction}, one_pass_var),
      reduction("std", standard_deviation, kReal,
                "sqrt(sum_n (x[r, n, c] - mean)^2 / max(N - correction, 0))", spread, "PyTorch std",
                {correction}, one_pass_deviation),
      {.name = "cumsum",
       .family = "reduce",
       .equation = "y[r, n, c] = sum x[r, k, c] over k <= n, or k >= n if reverse; k = n not if "
                   "exclusive",
       .inputs = {{"x"}},
       .dtypes = kWide,
       .params = {flag_param("exclusive", 0, "1 leaves out the element itself"),
                  flag_param("reverse", 0, "1 sums from the end")},
       .in_place = {},
       .policy = wraps,
       .source = "ONNX opset 17 CumSum",
       .define = cumsum},
  };
}

}  // namespace mote
