// SPDX-License-Identifier: Apache-2.0
// Spatial ops: windows that slide over the spatial axes, or divide them.
#include <fmt/format.h>

#include "families.h"

namespace mote {
namespace {

/// The windows of a pool over `axes` spatial axes.
struct Windows {
  Shape image;                                 ///< N, C, then (D,) H, W
  Shape taps;                                  ///< N, C, then (OD,) OH, OW, then (kd,) kh, kw
  std::vector<IndexText> from = {"i0", "i1"};  ///< the index in the image that a tap reads
  Axes summed;                                 ///< the axes of taps that a window runs over
  std::vector<NamedSize> sizes;
};

/// Returns the output size; ceil_mode rounds up, but leaves out windows that would start after x.
NamedSize pool_size(int axes, int axis) {
  const char* text =
      "({0} + $pads{1} - 1 + min($pads{2} - $dilation{1}*($kernel{1} - 1) + $ceil_mode*($stride{1} "
      "- 1),"
      " (1 - $ceil_mode)*$pads{2}))/$stride{1} + 1";
  const std::string letter = spatial_letter(axes, axis);
  return named_size("O" + letter, fmt::format(fmt::runtime(text), letter, axis, axis + axes));
}

Windows windows_of(int axes) {
  Windows w{.image = {"N", "C"}, .taps = {"N", "C"}, .summed = {}, .sizes = {}};
  for (int a = 0; a < axes; ++a) {
    w.image.emplace_back(spatial_letter(axes, a));
    w.taps.emplace_back("O" + spatial_letter(axes, a));
    w.from.emplace_back(window_index(a, 2 + a, 2 + axes + a).c_str());
    w.summed.push_back(2 + axes + a);
    w.sizes.push_back(pool_size(axes, a));
  }
  for (int a = 0; a < axes; ++a) {
    w.taps.emplace_back(fmt::format("k{}: $kernel{}", "dhw"[3 - axes + a], a));
  }
  return w;
}

Uop least(DType dtype) { return scalar(neutral(ReduceOp::max, dtype), dtype); }

ProgramSpec max_pool(const Instance& instance, int axes) {
  const Windows w = windows_of(axes);
  const Uop x = input("x", instance.dtype, w.image);
  const Uop taps = reindex(x, w.taps, w.from, neutral(ReduceOp::max, instance.dtype));
  return spec({x}, max_over(taps, w.summed), w.sizes);
}

/// Returns the axes of taps except those that a window runs over.
Axes kept_axes(int axes) {
  Axes kept;
  for (int k = 0; k < 2 + axes; ++k) kept.push_back(k);
  return kept;
}

/// Returns the row-major position of each tap within its image.
Expr position_in_image(const Windows& w, int axes) {
  Expr position = 0;
  for (int a = 0; a < axes; ++a) {
    const std::size_t at = 2 + static_cast<std::size_t>(a);
    position = position * Expr::size(spatial_letter(axes, a)) + w.from[at].expr;
  }
  return position;
}

Expr image_volume(int axes) {
  Expr volume = 1;
  for (int a = 0; a < axes; ++a) volume = volume * Expr::size(spatial_letter(axes, a));
  return volume;
}

/// Returns the least position among a window's elements in the image that are its maximum y, or
/// NaN; `none` if there is no such element.
Uop first_maximum(const Uop& x, const Uop& y, const Windows& w, int axes, const Expr& position,
                  const Expr& none) {
  const Uop taps = reindex(x, w.taps, w.from, neutral(ReduceOp::max, x.dtype()));
  Uop hit = eq(taps, broadcast(y, w.taps, kept_axes(axes)));
  if (is_real(x.dtype())) hit = hit || map(MapOp::isnan, std::vector<Uop>{taps});
  for (int a = axes; a-- > 0;) {
    const std::size_t at = 2 + static_cast<std::size_t>(a);
    hit = inside(w.from[at], spatial_letter(axes, a).c_str(), w.taps) && hit;
  }
  return min_over(where(hit, iota(position, w.taps), iota(none, w.taps)), w.summed);
}

/// Returns gx of a pool whose windows take the element at position `taken`: every image element
/// sums gy of the windows that took it.
Uop give_back(const Uop& gy, const Uop& taken, const Windows& w, int axes, const Expr& position) {
  const Uop took = eq(broadcast(taken, w.taps, kept_axes(axes)), iota(position, w.taps));
  const Uop none = reindex(scalar(0, gy.dtype()), w.image, {});
  return scatter(ScatterOp::add, none, where(took, broadcast(gy, w.taps, kept_axes(axes)), 0),
                 w.from);
}

/// Gives all of gy to the first maximum of each window.
ProgramSpec max_pool_gradient(const Instance& instance, const Uop& gy, int axes) {
  const Windows w = windows_of(axes);
  const Uop x = input("x", instance.dtype, w.image);
  const Uop y = input("y", instance.dtype, shape_of(gy));
  const Expr position = position_in_image(w, axes);
  const Uop first = first_maximum(x, y, w, axes, position, image_volume(axes));
  return spec({gy, x, y}, {{"gx", give_back(gy, first, w, axes, position)}}, w.sizes);
}

/// The index is the least flat position among the window's elements that equal its maximum.
ProgramSpec max_pool2d_with_indices(const Instance& instance) {
  const Windows w = windows_of(2);
  const Uop x = input("x", instance.dtype, w.image);
  const Uop y =
      max_over(reindex(x, w.taps, w.from, neutral(ReduceOp::max, instance.dtype)), w.summed);
  const Expr flat = parse_expr("i0*C*H*W + i1*H*W").expr + position_in_image(w, 2);
  const Uop first = first_maximum(x, y, w, 2, flat, parse_expr("N*C*H*W").expr);
  const Uop known = first < iota("N*C*H*W", shape_of(first));
  return spec({x}, {{"y", y}, {"indices", where(known, first, -1)}}, w.sizes);
}

ProgramSpec max_pool2d_with_indices_gradient(const Instance& instance, const Uop& gy) {
  const Windows w = windows_of(2);
  const Uop x = input("x", instance.dtype, w.image);
  const Uop indices = input("indices", DType::i64, shape_of(gy));
  const Expr flat = parse_expr("i0*C*H*W + i1*H*W").expr + position_in_image(w, 2);
  return spec({gy, x, indices}, {{"gx", give_back(gy, indices, w, 2, flat)}}, w.sizes);
}

/// Returns the number of taps of the window at i{2 + axis} that are in x, or with
/// $count_include_pad in x and its pads: taps that ceil_mode adds after them never count.
Expr taps_that_count(int axes, int axis) {
  const char* text =
      "max(min($kernel{0}, ({1} + $count_include_pad*$pads{2} - ({3}) + $dilation{0} - "
      "1)/$dilation{0}) - max((-$count_include_pad*$pads{0} - ({3}) + $dilation{0} - "
      "1)/$dilation{0}, 0), 0)";
  const std::string start = fmt::format("i{1}*$stride{0} - $pads{0}", axis, 2 + axis);
  return parse_expr(
             fmt::format(fmt::runtime(text), axis, spatial_letter(axes, axis), axis + axes, start))
      .expr;
}

ProgramSpec avg_pool(const Instance& instance, int axes) {
  const Windows w = windows_of(axes);
  const Uop x = input("x", instance.dtype, w.image);
  const Uop total = sum_over(reindex(x, w.taps, w.from), w.summed);
  Expr count = 1;
  for (int a = 0; a < axes; ++a) count = count * taps_that_count(axes, a);
  return spec({x}, total / index_as(count, shape_of(total), instance.dtype), w.sizes);
}

ProgramSpec global_avg_pool(const Instance& instance) {
  const Uop x = image(instance.dtype);
  return spec({x}, mean(x, {2, 3}));
}
ProgramSpec global_max_pool(const Instance& instance) {
  const Uop x = image(instance.dtype);
  return spec({x}, max(x, {2, 3}));
}

/// Gives all of gy to the first maximum of an image.
ProgramSpec global_max_pool_gradient(const Instance& instance, const Uop& gy) {
  const Uop x = image(instance.dtype);
  const Uop y = input("y", instance.dtype, shape_of(gy));
  const Uop position = iota("i2*W + i3", shape_of(x));
  const Uop hit = eq(x, y) || map(MapOp::isnan, std::vector<Uop>{x});
  const Uop first = min(where(hit, position, iota("H*W", shape_of(x))), {2, 3});
  return spec({gy, x, y}, {{"gx", where(eq(position, first), gy, 0)}});
}

/// Window i of n over an extent e: from floor(i*e/n) up to, not including, ceil((i+1)*e/n).
struct AdaptiveWindows {
  Shape taps = {"N", "C", "oh: $output0", "ow: $output1", "H", "W"};
  Uop in_window;
  Expr count;
};

AdaptiveWindows adaptive_windows() {
  AdaptiveWindows all;
  const auto edge = [](const char* i, const char* extent, const char* windows) {
    return Expr(parse_expr(i).expr * Expr::size(extent) + Expr::param(windows) - 1) /
           Expr::param(windows);
  };
  const Expr top = parse_expr("i2*H/$output0").expr, bottom = edge("(i2 + 1)", "H", "output0");
  const Expr left = parse_expr("i3*W/$output1").expr, right = edge("(i3 + 1)", "W", "output1");
  const Uop h = iota("i4", all.taps), w = iota("i5", all.taps);
  all.in_window = h >= iota(top, all.taps) && h < iota(bottom, all.taps) &&
                  w >= iota(left, all.taps) && w < iota(right, all.taps);
  all.count = (bottom - top) * (right - left);
  return all;
}

ProgramSpec adaptive_avg_pool2d(const Instance& instance) {
  const Uop x = image(instance.dtype);
  const AdaptiveWindows w = adaptive_windows();
  const Uop total = sum_over(where(w.in_window, broadcast(x, w.taps, {0, 1, 4, 5}), 0), {4, 5});
  return spec({x}, total / index_as(w.count, shape_of(total), instance.dtype));
}

ProgramSpec adaptive_max_pool2d(const Instance& instance) {
  const Uop x = image(instance.dtype);
  const AdaptiveWindows w = adaptive_windows();
  const Uop taps = where(w.in_window, broadcast(x, w.taps, {0, 1, 4, 5}), least(instance.dtype));
  return spec({x}, max_over(taps, {4, 5}));
}

/// Gives all of gy to the first maximum of each window.
ProgramSpec adaptive_max_pool2d_gradient(const Instance& instance, const Uop& gy) {
  const Uop x = image(instance.dtype);
  const Uop y = input("y", instance.dtype, shape_of(gy));
  const AdaptiveWindows w = adaptive_windows();
  const Uop taps = broadcast(x, w.taps, {0, 1, 4, 5}), position = iota("i4*W + i5", w.taps);
  const Uop hit =
      eq(taps, broadcast(y, w.taps, {0, 1, 2, 3})) || map(MapOp::isnan, std::vector<Uop>{taps});
  const Uop first = min_over(where(w.in_window && hit, position, iota("H*W", w.taps)), {4, 5});
  const Uop took = eq(position, broadcast(first, w.taps, {0, 1, 2, 3}));
  return spec({gy, x, y},
              {{"gx", sum_over(where(took, broadcast(gy, w.taps, {0, 1, 2, 3}), 0), {2, 3})}});
}

std::vector<ParamDecl> pool_params(int axes) {
  const char* const units[] = {"planes", "rows", "columns"};
  std::vector<ParamDecl> params;
  for (int a = 0; a < axes; ++a) {
    params.push_back(integer_param(fmt::format("kernel{}", a), 1, std::nullopt,
                                   fmt::format("{} of a window", units[3 - axes + a])));
  }
  for (ParamDecl& p : window_params(axes)) params.push_back(std::move(p));
  params.push_back(flag_param("ceil_mode", 0, "1 rounds the sizes of y up"));
  return params;
}

OpRecord pool(std::string name, std::string equation, std::vector<DType> dtypes,
              std::vector<ParamDecl> params, std::string policy, std::string source,
              std::function<ProgramSpec(const Instance&)> define,
              const OneGradient& gradient = {}) {
  return {.name = std::move(name),
          .family = "spatial",
          .equation = std::move(equation),
          .inputs = {{"x"}},
          .dtypes = std::move(dtypes),
          .params = std::move(params),
          .in_place = {},
          .policy = std::move(policy),
          .source = std::move(source),
          .define = std::move(define),
          .gradient = written(gradient)};
}

}  // namespace

std::vector<OpRecord> spatial_ops() {
  using dtypes::kNumber, dtypes::kReal;
  const std::string at2 =
      "x[n, c, oh*stride0 + kh*dilation0 - pads0, ow*stride1 + kw*dilation1 - "
      "pads1]";
  const std::string at3 =
      "x[n, c, od*stride0 + kd*dilation0 - pads0, oh*stride1 + kh*dilation1 - "
      "pads1, ow*stride2 + kw*dilation2 - pads2]";
  const std::string padded =
      "pads with -inf (integers: the least value); NaN propagates; the first maximum gets the "
      "gradient; ";
  const std::string rounding =
      "sizes round down, or with ceil_mode up, but no window starts after x";
  const std::string counted =
      "count: taps inside x, with count_include_pad those in its pads too, never those that "
      "ceil_mode hangs over; a window without any gives NaN; " +
      rounding;
  const auto averaged = [](int axes) {
    std::vector<ParamDecl> params = pool_params(axes);
    params.push_back(flag_param("count_include_pad", 0, "1 divides by taps in the pads too"));
    return params;
  };
  const auto max_of = [](int axes) {
    return [axes](const Instance& instance) { return max_pool(instance, axes); };
  };
  const auto gradient_of_max = [](int axes) {
    return [axes](const Instance& i, const Uop& gy) { return max_pool_gradient(i, gy, axes); };
  };
  const auto average_of = [](int axes) {
    return [axes](const Instance& instance) { return avg_pool(instance, axes); };
  };
  const std::string average_source =
      "ONNX opset 17 AveragePool; dilation as in opset 19; the divisor at a ceil overhang as "
      "PyTorch";
  const std::vector<ParamDecl> outputs = {
      integer_param("output0", 1, std::nullopt, "rows of y"),
      integer_param("output1", 1, std::nullopt, "columns of y")};
  return {
      pool("max_pool2d", "y[n, c, oh, ow] = max_kh,kw " + at2, kNumber, pool_params(2),
           padded + rounding, "ONNX opset 17 MaxPool", max_of(2), gradient_of_max(2)),
      pool("max_pool3d", "y[n, c, od, oh, ow] = max_kd,kh,kw " + at3, kNumber, pool_params(3),
           padded + rounding, "ONNX opset 17 MaxPool", max_of(3), gradient_of_max(3)),
      pool("max_pool2d_with_indices",
           "y[n, c, oh, ow] = max_kh,kw " + at2 +
               "; indices[n, c, oh, ow] = its position in x as one row",
           kNumber, pool_params(2),
           padded +
               "the first maximum, or NaN, wins; padding never does: -1 where there is "
               "nothing else; " +
               rounding,
           "ONNX opset 17 MaxPool, storage_order = 0", max_pool2d_with_indices,
           max_pool2d_with_indices_gradient),
      pool("avg_pool2d", "y[n, c, oh, ow] = sum_kh,kw " + at2 + " / count", kReal, averaged(2),
           counted, average_source, average_of(2)),
      pool("avg_pool3d", "y[n, c, od, oh, ow] = sum_kd,kh,kw " + at3 + " / count", kReal,
           averaged(3), counted, average_source, average_of(3)),
      pool("global_avg_pool", "y[n, c, 0, 0] = mean_h,w x[n, c, h, w]", kReal, {},
           "an empty image gives NaN", "ONNX opset 17 GlobalAveragePool", global_avg_pool),
      pool("global_max_pool", "y[n, c, 0, 0] = max_h,w x[n, c, h, w]", kNumber, {},
           "NaN propagates; an empty image gives -inf, for integers the least value; the first "
           "maximum gets the gradient",
           "ONNX opset 17 GlobalMaxPool", global_max_pool, global_max_pool_gradient),
      pool("adaptive_avg_pool2d",
           "y[n, c, i, j] = mean of x[n, c, h, w] over floor(i*H/output0) <= h < "
           "ceil((i+1)*H/output0), and w likewise",
           kReal, outputs, "windows overlap where sizes do not divide; an empty image gives NaN",
           "PyTorch AdaptiveAvgPool2d", adaptive_avg_pool2d),
      pool("adaptive_max_pool2d",
           "y[n, c, i, j] = max of x[n, c, h, w] over floor(i*H/output0) <= h < "
           "ceil((i+1)*H/output0), and w likewise",
           kNumber, outputs,
           "windows overlap where sizes do not divide; NaN propagates; an empty image gives -inf, "
           "for integers the least value; the first maximum gets the gradient",
           "PyTorch AdaptiveMaxPool2d", adaptive_max_pool2d, adaptive_max_pool2d_gradient),
  };
}

}  // namespace mote
