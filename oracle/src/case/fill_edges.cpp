// SPDX-License-Identifier: Apache-2.0
// Each choice is a function of a tensor's or a case's 64 bits, so that an element can be computed
// alone.
#include "case/fill_edges.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mote {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kShortestRun = 16;

/// The exponents of the power of two below the greatest number and of the least normal number.
int greatest_exponent(DType dtype) { return std::ilogb(real_format(dtype).greatest); }
int least_normal_exponent(DType dtype) {
  const RealFormat f = real_format(dtype);
  return f.least_exponent + f.precision - 1;
}

/// The axis along which a run lies: half of the time the longest, otherwise any.
std::size_t axis_of_run(std::uint64_t draw, const std::vector<std::int64_t>& shape) {
  if (draw % 2 == 0)
    return static_cast<std::size_t>(std::ranges::max_element(shape) - shape.begin());
  return static_cast<std::size_t>(below(draw / 2, std::ssize(shape)));
}

std::int64_t length_of_run(std::uint64_t draw, std::int64_t extent) {
  if (extent <= kShortestRun || draw % 4 == 0) return extent;
  const std::int64_t more = extent - kShortestRun;
  if (draw % 4 == 1) return kShortestRun + std::min<std::int64_t>(more, below(draw / 4, 18));
  return kShortestRun + below(draw / 4, more + 1);
}

}  // namespace

double Palette::pick(std::uint64_t bits) const {
  if (rare == 0) return values[static_cast<std::size_t>(below(bits, count))];
  if (below(bits, rare) == 0) return values[0];
  return values[static_cast<std::size_t>(1 + below(mix(bits), count - 1))];
}

Palette palette_of(std::uint64_t draw, DType dtype) {
  const RealFormat f = real_format(dtype);
  const double greatest = f.greatest;
  const double least = std::ldexp(1, f.least_exponent);
  const double after_one = 1 + std::ldexp(1, 1 - f.precision);
  const std::int64_t rare = std::array<std::int64_t, 4>{2, 4, 16, 64}[(draw >> 8U) % 4];
  const std::array palettes = {
      Palette{{0.0, -0.0}, 2},
      Palette{{0.0, -0.0, -1, -2}, 4},
      Palette{{0.0, -0.0, 1, 2}, 4},
      Palette{{0.0, -0.0, least, -least}, 4},
      Palette{{kNaN, 0.0, -0.0}, 3, rare},
      Palette{{kNaN, 1, 2}, 3, rare},
      Palette{{kNaN, kInfinity, -kInfinity, 1}, 4, rare},
      Palette{{kInfinity, 1, 2}, 3, rare},
      Palette{{-kInfinity, -1, -2}, 3, rare},
      Palette{{kInfinity, -kInfinity, 0.0}, 3, rare},
      Palette{{1, 2}, 2},
      Palette{{-1, -2, -3}, 3},
      Palette{{1, after_one}, 2},
      Palette{{greatest, -greatest, 1}, 3, rare},
  };
  return palettes[draw % palettes.size()];
}

FillRuns runs_of(std::uint64_t draw, const FilledTensor& tensor) {
  FillRuns runs;
  runs.stream = mix(draw);
  runs.every = std::array<std::uint64_t, 4>{1, 1, 2, 3}[mix(draw + 2) % 4];
  runs.own_values = mix(draw + 1) % 2 == 0;
  std::vector<std::int64_t> shape = tensor.shape;
  if (shape.empty()) shape = {std::max<std::int64_t>(tensor.count, 1)};
  const std::size_t axis = axis_of_run(mix(draw + 3), shape);
  runs.extent = std::max<std::int64_t>(shape[axis], 1);
  for (std::size_t k = axis + 1; k < shape.size(); ++k)
    runs.inner *= std::max<std::int64_t>(shape[k], 1);
  return runs;
}

std::optional<double> FillRuns::at(std::int64_t linear) const {
  const std::array values = {-kInfinity, -kInfinity, -kInfinity, -kInfinity, kInfinity,
                             kNaN,       0.0,        -0.0,       1.5,        -2.5};
  const std::int64_t row = linear / (inner * extent) * inner + linear % inner;
  const std::uint64_t draw = mix(stream ^ static_cast<std::uint64_t>(row));
  if (draw % every != 0) return std::nullopt;
  const std::int64_t length = length_of_run(mix(draw + 1), extent);
  const std::int64_t left = extent - length;
  const std::uint64_t location = mix(draw + 2);
  const std::int64_t begin = location % 4 < 2    ? 0
                             : location % 4 == 2 ? left
                                                 : below(location / 4, left + 1);
  const std::int64_t index = linear / inner % extent;
  if (index < begin || index >= begin + length) return std::nullopt;
  return values[mix(own_values ? draw + 3 : stream + 3) % values.size()];
}

Magnitudes magnitudes_of(std::uint64_t case_draw, bool chosen, DType dtype) {
  using enum Magnitudes::Kind;
  const int top = greatest_exponent(dtype);
  const int bottom = least_normal_exponent(dtype);
  const int precision = real_format(dtype).precision;
  const std::uint64_t more = mix(case_draw + 1);
  const auto upto = [&](int bound) { return static_cast<int>(below(more, bound)); };
  Magnitudes m;
  m.dtype = dtype;
  m.positive = mix(case_draw + 2) % 2 == 0;
  m.kind = near_power;
  switch (case_draw % 8) {
    case 0:  // squares overflow
      m.exponent = top / 2 + 1 + upto(4);
      break;
    case 1:  // squares are denormal, or 0
      m.exponent = bottom / 2 - upto(precision / 2 + 4);
      break;
    case 2:  // a sum of a few overflows, but their mean does not
      m.exponent = top;
      break;
    case 3:  // denormal, or just above
      m.exponent = bottom + 1 - upto(precision);
      break;
    case 4:
      m.kind = all;
      break;
    case 5:
      m.kind = exponents;
      break;
    case 6:
      m.kind = few;
      m.exponent = top / 2 + 1 + upto(4);
      break;
    default:
      m.kind = few;
      m.exponent = top;
      break;
  }
  if (chosen || m.kind == exponents) return m;
  switch (mix(case_draw + 3) % 4) {
    case 0:  // the same as the chosen tensor
      return m;
    case 1:  // products are moderate
      m.exponent = std::max(-m.exponent, bottom);
      return m;
    default:
      m.kind = moderate;
      return m;
  }
}

std::shared_ptr<const FillEdges> edges_of(const Fill& fill, const FilledTensor& tensor,
                                          std::uint64_t stream) {
  if (!is_real(tensor.dtype) || fill.kind < FillKind::ties) return nullptr;
  const bool chosen = below(fill.seed, std::max(tensor.inputs, 1)) == tensor.position;
  const bool all = mix(fill.seed + 6) % 3 == 0;
  const std::uint64_t of_case = mix(fill.seed + 5);
  FillEdges edges;
  switch (fill.kind) {
    case FillKind::ties:
      edges.ties = chosen || all;
      edges.palette = palette_of(of_case, tensor.dtype);
      break;
    case FillKind::runs:
      edges.runs = runs_of(mix(stream + 7), tensor);
      break;
    default:
      edges.magnitudes = magnitudes_of(of_case, chosen, tensor.dtype);
  }
  return std::make_shared<const FillEdges>(edges);
}

double Magnitudes::at(double unit, std::uint64_t bits) const {
  const double sign_free = positive ? std::abs(unit) : unit;
  const auto near = [&](int e) {  // a value in [2^(e-1), 2^e)
    const double most = 1 - std::ldexp(1, -real_format(dtype).precision);
    const double magnitude = std::min(0.5 + std::abs(unit) / 2, most);
    return std::ldexp(sign_free < 0 ? -magnitude : magnitude, e);
  };
  switch (kind) {
    case Kind::moderate:
      return unit;
    case Kind::near_power:
      return near(exponent + static_cast<int>(below(bits, 2)));
    case Kind::few:
      return below(bits, 16) == 0 ? near(exponent + 1) : unit;
    case Kind::all: {
      const int bottom = real_format(dtype).least_exponent;
      const int top = greatest_exponent(dtype) + 1;
      return near(bottom + static_cast<int>(below(bits, top - bottom + 1)));
    }
    case Kind::exponents: {
      const RealFormat f = real_format(dtype);
      const double overflow = std::log(f.greatest);
      const std::array edges = {overflow, -overflow, least_normal_exponent(dtype) * std::log(2.0),
                                f.least_exponent * std::log(2.0)};
      return edges[static_cast<std::size_t>(below(bits, 4))] + 2 * unit;
    }
  }
  return unit;
}

}  // namespace mote
