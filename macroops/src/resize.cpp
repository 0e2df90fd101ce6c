// SPDX-License-Identifier: Apache-2.0
// Images of another size. An output pixel's position in x is a rational number, and its
// neighbouring pixels are found by integer arithmetic, so that no rounding picks another one.
#include <fmt/format.h>

#include "families.h"

namespace mote {
namespace {

constexpr int kRows = 2;  ///< the axis of x and y; columns are the next

/// The parts of x and y that coincide at the ends: their outer edges, or the middles of their
/// outermost pixels.
enum class Ends : std::uint8_t { edges, middles };

/// The second pixel that counts, after the one at or before a position: the next, or the one at or
/// after it, which is the same pixel if the position is a pixel's middle.
enum class Other : std::uint8_t { next, ceiling };

/// An axis of x, along which output pixel i{axis} has the position numerator/denominator, counted
/// from the middle of x's first pixel.
struct Position {
  Expr last;  ///< the last pixel of x
  Expr numerator, denominator;

  Position(int axis, Ends ends)
      : last(Expr::size(axis == kRows ? "H" : "W") - 1), numerator(0), denominator(1) {
    const Expr i = parse_expr(fmt::format("i{}", axis)).expr;
    const Expr pixels = Expr::param(fmt::format("output{}", axis - kRows));
    if (ends == Ends::edges) {
      numerator = (2 * i + 1) * (last + 1) - pixels;
      denominator = 2 * pixels;
    } else {
      numerator = i * last;
      denominator = max(pixels - 1, 1);
    }
  }

  /// Returns the pixel at or before the position for tap 0 (index text), the other for tap 1, moved
  /// to the nearest end of x.
  [[nodiscard]] Expr pixel(const char* tap, Other other) const {
    const Expr k = parse_expr(tap).expr;
    const Expr at = other == Other::next ? numerator / denominator + k
                                         : Expr(numerator + k * (denominator - 1)) / denominator;
    return min(max(at, 0), last);
  }
  /// Returns the distance from the pixel at or before the position to it, rounded as kernels round
  /// it.
  [[nodiscard]] Uop beyond(const Shape& shape, DType dtype) const {
    const Uop at = index_as(numerator, shape, dtype) / index_as(denominator, shape, dtype);
    return at - index_as(numerator / denominator, shape, dtype);
  }
};

const Shape& resized() {
  static const Shape shape = {"N", "C", "oh: $output0", "ow: $output1"};
  return shape;
}

/// Takes the pixel (2*i + half_pixel)*H / (2*output0), which is below H: it needs no clamping.
ProgramSpec resize_nearest2d(const Instance& instance) {
  const Uop x = image(instance.dtype);
  return spec({x}, reindex(x, resized(),
                           {"i0", "i1", "(2*i2 + $half_pixel)*H/(2*$output0)",
                            "(2*i3 + $half_pixel)*W/(2*$output1)"}));
}

/// Sums the four pixels around a position, over taps[N, C, oh, ow, kh, kw].
ProgramSpec resize_linear2d(const Instance& instance, Ends ends, Other other) {
  const Uop x = image(instance.dtype);
  const Position rows(kRows, ends), columns(kRows + 1, ends);
  Shape taps = resized();
  taps.insert(taps.end(), {"kh: 2", "kw: 2"});
  const Uop pixels =
      reindex(x, taps, {"i0", "i1", rows.pixel("i4", other), columns.pixel("i5", other)});
  const auto weight = [&](const Position& position, const char* tap) {
    const Uop beyond = position.beyond(taps, instance.dtype);
    return where(iota(tap, taps) > 0, beyond, 1 - beyond);
  };
  return spec({x}, sum_over(weight(rows, "i4") * weight(columns, "i5") * pixels, {4, 5}));
}

OpRecord resize(std::string name, std::string equation, std::vector<DType> dtypes,
                std::string policy, std::string source,
                std::function<ProgramSpec(const Instance&)> define) {
  return {.name = std::move(name),
          .family = "spatial",
          .equation = std::move(equation),
          .inputs = {{"x"}},
          .dtypes = std::move(dtypes),
          .params = {integer_param("output0", 1, std::nullopt, "rows of y"),
                     integer_param("output1", 1, std::nullopt, "columns of y")},
          .in_place = {},
          .policy = std::move(policy),
          .source = std::move(source),
          .define = std::move(define)};
}

OpRecord resize_linear(std::string name, Ends ends, std::string_view location,
                       const std::string& policy, std::string source) {
  const auto with = [ends](Other other) {
    return [=](const Instance& instance) { return resize_linear2d(instance, ends, other); };
  };
  OpRecord record =
      resize(std::move(name),
             fmt::format(
                 "y[n, c, i, j] = sum_kh,kw |1 - kh - u| * |1 - kw - v| * x[n, c, h + kh, w + kw], "
                 "kh and kw 0 or 1, h + u = {}, 0 <= u < 1, w + v likewise",
                 location),
             dtypes::kReal,
             policy +
                 "which pixels is computed exactly (frameworks that round positions may take "
                 "others); one of weight 0 counts (NaN stays)",
             std::move(source), with(Other::next));
  record.forms = {{.name = "ceiling",
                   .meaning =
                       "the second pixel is the one at or behind the position, not the next: "
                       "another one counts where u or v is 0",
                   .source = "oneDNN, resampling",
                   .define = with(Other::ceiling)}};
  return record;
}

}  // namespace

std::vector<OpRecord> resize_ops() {
  OpRecord nearest = resize(
      "resize_nearest2d",
      "y[n, c, i, j] = x[n, c, floor((i + half_pixel/2)*H/output0), floor((j + "
      "half_pixel/2)*W/output1)]",
      dtypes::kAll,
      "half_pixel = 1 takes the later of two that are equally near, 0 the pixel at or before; "
      "positions are "
      "computed exactly, so that frameworks which round them may take another pixel",
      "PyTorch interpolate, mode nearest-exact, with half_pixel = 0 mode nearest; ONNX opset 17 "
      "Resize, half_pixel and round_prefer_ceil, with half_pixel = 0 asymmetric and floor",
      resize_nearest2d);
  nearest.params.push_back(
      flag_param("half_pixel", 1, "1 measures from the middles of pixels, 0 from their edges"));
  return {
      std::move(nearest),
      resize_linear("resize_linear2d", Ends::edges, "(i + 1/2)*H/output0 - 1/2",
                    "pixels outside x are its nearest; ",
                    "ONNX opset 17 Resize, linear and half_pixel; PyTorch interpolate, bilinear"),
      resize_linear("resize_linear2d_align_corners", Ends::middles, "i*(H - 1)/(output0 - 1)",
                    "one row takes the first; ",
                    "ONNX opset 17 Resize, linear and align_corners; PyTorch interpolate, "
                    "bilinear, align_corners"),
  };
}

}  // namespace mote
