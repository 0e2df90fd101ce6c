// Spatial ops: windows that slide over the last two axes, or divide them.
#include "families.h"

namespace mote {
namespace {

const Shape& window_taps() {
  static const Shape taps = {"N", "C", "OH", "OW", "kh: $kernel0", "kw: $kernel1"};
  return taps;
}
std::string row() { return window_index(0, 2, 4); }
std::string column() { return window_index(1, 3, 5); }

std::vector<NamedSize> pool_sizes() { return window_sizes({"$kernel0", "$kernel1"}); }
Uop image(DType dtype) { return input("x", dtype, {"N", "C", "H", "W"}); }
Uop windows(const Uop& x, const Number& fill) {
  return reindex(x, window_taps(), {"i0", "i1", row().c_str(), column().c_str()}, fill);
}
Uop in_image() {
  return inside(row().c_str(), "H", window_taps()) && inside(column().c_str(), "W", window_taps());
}

ProgramSpec max_pool2d(const Instance& instance) {
  const Uop x = image(instance.dtype);
  const Uop taps = windows(x, neutral(ReduceOp::max, instance.dtype));
  return spec({x}, max_over(taps, {4, 5}), pool_sizes());
}

/// The index is the least flat position among the window's elements that equal its maximum.
ProgramSpec max_pool2d_with_indices(const Instance& instance) {
  const Uop x = image(instance.dtype);
  const Uop taps = windows(x, neutral(ReduceOp::max, instance.dtype));
  const Uop y = max_over(taps, {4, 5});
  Uop hit = eq(taps, broadcast(y, window_taps(), {0, 1, 2, 3}));
  if (is_real(instance.dtype)) hit = hit || map(MapOp::isnan, std::vector<Uop>{taps});
  const Expr flat = parse_expr("i0*C*H*W + i1*H*W").expr +
                    parse_expr(row()).expr * Expr::size("W") + parse_expr(column()).expr;
  const Uop none = iota("N*C*H*W", window_taps());
  const Uop first = min_over(where(in_image() && hit, iota(flat, window_taps()), none), {4, 5});
  const Uop known = first < iota("N*C*H*W", shape_of(first));
  return spec({x}, {{"y", y}, {"indices", where(known, first, -1)}}, pool_sizes());
}

/// The mean of the taps that count.
ProgramSpec avg_pool2d(const Instance& instance) {
  const DType t = instance.dtype;
  const Uop x = image(t);
  const Uop total = sum_over(windows(x, 0.0), {4, 5});
  const Uop present = sum_over(where(in_image(), index_as(1, window_taps(), t), 0), {4, 5});
  const Shape shape = shape_of(total);
  const Uop count = where(iota("$count_include_pad", shape) > 0,
                          index_as("$kernel0*$kernel1", shape, t), present);
  return spec({x}, total / count, pool_sizes());
}

ProgramSpec global_avg_pool(const Instance& instance) {
  const Uop x = image(instance.dtype);
  return spec({x}, mean(x, {2, 3}));
}
ProgramSpec global_max_pool(const Instance& instance) {
  const Uop x = image(instance.dtype);
  return spec({x}, max(x, {2, 3}));
}

/// Window i of n over an extent e: from floor(i*e/n) up to, not including, ceil((i+1)*e/n).
ProgramSpec adaptive_avg_pool2d(const Instance& instance) {
  const Uop x = image(instance.dtype);
  const Shape taps = {"N", "C", "oh: $output0", "ow: $output1", "H", "W"};
  const auto edge = [](const char* i, const char* extent, const char* windows) {
    return Expr(parse_expr(i).expr * Expr::size(extent) + Expr::param(windows) - 1) /
           Expr::param(windows);
  };
  const Expr top = parse_expr("i2*H/$output0").expr, bottom = edge("(i2 + 1)", "H", "output0");
  const Expr left = parse_expr("i3*W/$output1").expr, right = edge("(i3 + 1)", "W", "output1");
  const Uop h = iota("i4", taps), w = iota("i5", taps);
  const Uop in_window = h >= iota(top, taps) && h < iota(bottom, taps) && w >= iota(left, taps) &&
                        w < iota(right, taps);
  const Uop total = sum_over(where(in_window, broadcast(x, taps, {0, 1, 4, 5}), 0), {4, 5});
  const Expr count = (bottom - top) * (right - left);
  return spec({x}, total / index_as(count, shape_of(total), instance.dtype));
}

std::vector<ParamDecl> pool_params() {
  std::vector<ParamDecl> params = {
      integer_param("kernel0", 1, std::nullopt, "rows of the window"),
      integer_param("kernel1", 1, std::nullopt, "columns of the window")};
  for (ParamDecl& p : window_params(2)) params.push_back(std::move(p));
  return params;
}

OpRecord pool(std::string name, std::string equation, std::vector<DType> dtypes,
              std::vector<ParamDecl> params, std::string policy, std::string source,
              ProgramSpec (*define)(const Instance&)) {
  return {.name = std::move(name),
          .family = "spatial",
          .equation = std::move(equation),
          .inputs = {{"x"}},
          .dtypes = std::move(dtypes),
          .params = std::move(params),
          .in_place = {},
          .policy = std::move(policy),
          .source = std::move(source),
          .define = define};
}

}  // namespace

std::vector<OpRecord> spatial_ops() {
  using dtypes::kNumber, dtypes::kReal;
  const std::string max =
      "max_kh,kw x[n, c, oh*stride0 + kh*dilation0 - pads0, "
      "ow*stride1 + kw*dilation1 - pads1]";
  const std::string padded = "pads with -inf (integers: the least value); NaN propagates; ";
  std::vector<ParamDecl> average = pool_params();
  average.push_back(flag_param("count_include_pad", 0, "1 divides by taps in the padding too"));
  return {
      pool("max_pool2d", "y[n, c, oh, ow] = " + max, kNumber, pool_params(),
           padded + "sizes round down", "ONNX opset 17 MaxPool, ceil_mode = 0", max_pool2d),
      pool("max_pool2d_with_indices",
           "y[n, c, oh, ow] = " + max + "; indices[n, c, oh, ow] = its position in x as one row",
           kNumber, pool_params(),
           padded + "the first maximum, or NaN, wins; padding never does: -1 where there is "
                    "nothing else; sizes round down",
           "ONNX opset 17 MaxPool, ceil_mode = 0, storage_order = 0", max_pool2d_with_indices),
      pool("avg_pool2d",
           "y[n, c, oh, ow] = sum_kh,kw x[n, c, oh*stride0 + kh*dilation0 - pads0, "
           "ow*stride1 + kw*dilation1 - pads1] / count",
           kReal, std::move(average),
           "count: taps inside x, with count_include_pad all; a window of padding only gives NaN, "
           "or 0; sizes round down",
           "ONNX opset 17 AveragePool, ceil_mode = 0; dilation as in opset 19", avg_pool2d),
      pool("global_avg_pool", "y[n, c, 0, 0] = mean_h,w x[n, c, h, w]", kReal, {},
           "an empty image gives NaN", "ONNX opset 17 GlobalAveragePool", global_avg_pool),
      pool("global_max_pool", "y[n, c, 0, 0] = max_h,w x[n, c, h, w]", kNumber, {},
           "NaN propagates; an empty image gives -inf, for integers the least value",
           "ONNX opset 17 GlobalMaxPool", global_max_pool),
      pool("adaptive_avg_pool2d",
           "y[n, c, i, j] = mean of x[n, c, h, w] over floor(i*H/output0) <= h < "
           "ceil((i+1)*H/output0), and w likewise",
           kReal,
           {integer_param("output0", 1, std::nullopt, "rows of y"),
            integer_param("output1", 1, std::nullopt, "columns of y")},
           "windows overlap where sizes do not divide; an empty image gives NaN",
           "PyTorch AdaptiveAvgPool2d", adaptive_avg_pool2d),
  };
}

}  // namespace mote
