// SPDX-License-Identifier: Apache-2.0
// Adapters of interpolation, axis by axis: elements are gathered, then weighted. The position in x
// of each element of the output is computed here, as a runtime would.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "call.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// One axis of x and of the output; the region is a part of the axis from 0 to 1.
struct Axis {
  std::int64_t input = 0, output = 0;
  double scale = 1, from = 0, to = 1;
};

struct Rules {
  std::string mode, coordinates, rounding;
  double cubic = -0.75, outside = 0;
  bool only_inside = false;  ///< taps outside x have no weight
};

/// Returns the position in x of element `at` of the output.
double position(const Rules& rules, const Axis& axis, std::int64_t at) {
  const auto k = static_cast<double>(at), last = static_cast<double>(axis.input - 1);
  const double extent = axis.scale * static_cast<double>(axis.input);
  const double half = (k + 0.5) / axis.scale - 0.5;
  if (rules.coordinates == "half_pixel") return half;
  if (rules.coordinates == "half_pixel_symmetric") {
    return half +
           static_cast<double>(axis.input) / 2 * (1 - static_cast<double>(axis.output) / extent);
  }
  if (rules.coordinates == "pytorch_half_pixel") return extent == 1 ? -0.5 : half;
  if (rules.coordinates == "tf_half_pixel_for_nn") return (k + 0.5) / axis.scale;
  if (rules.coordinates == "asymmetric") return k / axis.scale;
  if (rules.coordinates == "align_corners") return extent == 1 ? 0 : k * last / (extent - 1);
  if (rules.coordinates != "tf_crop_and_resize") {
    throw Error("Resize: no coordinate_transformation_mode " + rules.coordinates);
  }
  if (extent == 1) return (axis.from + axis.to) * last / 2;
  return axis.from * last + k * (axis.to - axis.from) * last / (extent - 1);
}

double rounded(const std::string& how, double x) {
  if (how == "floor") return std::floor(x);
  if (how == "ceil") return std::ceil(x);
  return how == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

/// Returns the weights of the taps from floor(x) - 1 to floor(x) + 2, r = x - floor(x).
std::array<double, 4> cubic_weights(double r, double a) {
  const auto outer = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  const auto inner = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  return {outer(r + 1), inner(r), inner(1 - r), outer(2 - r)};
}

/// The weights of the taps floor(x) + first, floor(x) + first + 1, … for every position.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::vector<double>> weights;
};
Taps taps_of(const Rules& rules, const std::vector<double>& at, std::int64_t extent) {
  Taps taps{rules.mode == "cubic" ? -1 : 0, {}};
  for (const double x : at) {
    const double r = x - std::floor(x);
    const std::array<double, 4> four = cubic_weights(r, rules.cubic);
    std::vector<double> weights = {1 - r, r};
    if (rules.mode == "cubic") weights.assign(four.begin(), four.end());
    double sum = 0;
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const double tap = std::floor(x) + static_cast<double>(taps.first) + static_cast<double>(t);
      if (rules.only_inside && (tap < 0 || tap >= static_cast<double>(extent))) weights[t] = 0;
      sum += weights[t];
    }
    for (double& w : weights) w /= rules.only_inside ? sum : 1;
    taps.weights.push_back(weights);
  }
  return taps;
}

/// Returns x at these positions of the axis, each clamped to it.
Array gathered(const Call& c, const Array& x, std::size_t axis,
               const std::vector<double>& locations) {
  const auto last = static_cast<double>(x.shape.at(axis) - 1);
  Dims index;
  for (const double p : locations) {
    index.push_back(static_cast<std::int64_t>(std::clamp(p, 0.0, last)));
  }
  return c.gather(x, axis, integers(DType::i64, {std::ssize(index)}, index));
}

/// Returns values along one axis of a tensor of that rank.
template <class T>
Array along(DType dtype, std::size_t rank, std::size_t axis, const std::vector<T>& values) {
  Dims shape(rank - axis, 1);
  shape[0] = std::ssize(values);
  return array_of(dtype, shape, {values.begin(), values.end()});
}

Array weighted(const Call& c, const Array& x, std::size_t axis, const Rules& rules,
               const std::vector<double>& at) {
  const Taps taps = taps_of(rules, at, x.shape.at(axis));
  std::vector<Array> terms;
  for (std::size_t t = 0; t < taps.weights.front().size(); ++t) {
    std::vector<double> locations, weights;
    for (std::size_t k = 0; k < at.size(); ++k) {
      locations.push_back(std::floor(at[k]) + static_cast<double>(taps.first) +
                          static_cast<double>(t));
      weights.push_back(taps.weights[k][t]);
    }
    const Array tap = gathered(c, x, axis, locations);
    const Array weight = along(x.dtype, x.shape.size(), axis, weights);
    if (rules.mode == "linear" && t == 1) return c.map("lerp", {&terms.front(), &tap, &weight});
    terms.push_back(rules.mode == "linear" ? tap : c.binary("mul", tap, weight));
  }
  Array sum = terms[0];
  for (std::size_t t = 1; t < terms.size(); ++t) sum = c.binary("add", sum, terms[t]);
  return sum;
}

Array resized(const Call& c, const Array& x, std::size_t k, const Rules& rules, const Axis& axis) {
  std::vector<double> at, kept;
  const auto last = static_cast<double>(axis.input - 1);
  for (std::int64_t n = 0; n < axis.output; ++n) {
    at.push_back(position(rules, axis, n));
    kept.push_back(at.back() >= 0 && at.back() <= last ? 1 : 0);
  }
  Array y;
  if (rules.mode == "nearest") {
    std::vector<double> locations;
    for (const double p : at) locations.push_back(rounded(rules.rounding, p));
    y = gathered(c, x, k, locations);
  } else {
    y = weighted(c, x, k, rules, at);
  }
  if (rules.coordinates != "tf_crop_and_resize") return y;
  return c.choose(along(DType::boolean, x.shape.size(), k, kept), y,
                  constant(x.dtype, rules.outside));
}

/// Returns an input's values as reals; none if it is absent or empty.
std::vector<double> reals_of(const Call& c, std::size_t k) {
  std::vector<double> values;
  if (!c.has(k)) return values;
  for (const Number& n : c.in(k).values) values.push_back(store_as(n, DType::f64).real());
  return values;
}

/// Sets one scale for all axes if the policy keeps their proportions.
void keep_proportions(const std::string& policy, std::vector<Axis>& axes,
                      const std::vector<std::size_t>& chosen) {
  if (policy == "stretch") return;
  double scale = axes[chosen.at(0)].scale;
  for (const std::size_t k : chosen) {
    scale =
        policy == "not_larger" ? std::min(scale, axes[k].scale) : std::max(scale, axes[k].scale);
  }
  for (const std::size_t k : chosen) {
    axes[k].scale = scale;
    axes[k].output =
        static_cast<std::int64_t>(std::floor(scale * static_cast<double>(axes[k].input) + 0.5));
  }
}

/// Returns every axis of x; scales, sizes and the region are those of the chosen axes.
std::vector<Axis> axes_of(const Call& c, const std::vector<double>& scales,
                          const std::vector<double>& sizes, const std::vector<double>& region) {
  const Dims& shape = c.in(0).shape;
  std::vector<Axis> axes;
  std::vector<std::size_t> chosen;
  for (const std::int64_t extent : shape) axes.push_back({extent, extent});
  for (const std::int64_t a : c.dims("axes")) chosen.push_back(axis_of(a, shape.size()));
  for (std::size_t k = 0; !c.has_attribute("axes") && k < shape.size(); ++k) chosen.push_back(k);
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    Axis& axis = axes[chosen[k]];
    const auto input = static_cast<double>(axis.input);
    axis.scale = sizes.empty() ? scales.at(k) : sizes.at(k) / input;
    axis.output =
        static_cast<std::int64_t>(sizes.empty() ? std::floor(axis.scale * input) : sizes[k]);
    if (region.empty()) continue;
    axis.from = region.at(k);
    axis.to = region.at(k + chosen.size());
  }
  if (!sizes.empty()) {
    keep_proportions(c.text("keep_aspect_ratio_policy", "stretch"), axes, chosen);
  }
  return axes;
}

Array along_all(const Call& c, const Rules& rules, const std::vector<Axis>& axes) {
  Array y = c.in(0);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const bool whole = axes[k].scale == 1 && axes[k].from == 0 && axes[k].to == 1;
    if (!whole) y = resized(c, y, k, rules, axes[k]);
  }
  return y;
}

Outputs resize(const Call& c) {
  if (c.integer("antialias", 0) != 0) throw NotApplicable("attribute antialias");
  if (c.opset() < 11) throw NotApplicable("Resize before version 11");
  const Rules rules = {c.text("mode", "nearest"),
                       c.text("coordinate_transformation_mode", "half_pixel"),
                       c.text("nearest_mode", "round_prefer_floor"),
                       c.real("cubic_coeff_a", -0.75),
                       c.real("extrapolation_value", 0),
                       c.integer("exclude_outside", 0) != 0};
  return {along_all(c, rules, axes_of(c, reals_of(c, 2), reals_of(c, 3), reals_of(c, 1)))};
}

Outputs upsample(const Call& c) {
  const Rules rules = {c.text("mode", "nearest"), "asymmetric", "floor"};
  return {along_all(c, rules, axes_of(c, reals_of(c, 1), {}, {}))};
}

}  // namespace

Adapters resize_adapters() { return {{"Resize", resize}, {"Upsample", upsample}}; }

}  // namespace mote::onnx
