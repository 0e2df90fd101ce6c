// SPDX-License-Identifier: Apache-2.0
// Fills are hashes of (seed, name, index), so that any element can be computed alone.
#include "mote/oracle/fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "case/fill_edges.h"
#include "mote/base/error.h"

namespace mote {
namespace {

constexpr std::array kKinds = {
    FillKind::integer, FillKind::onehot,  FillKind::index,   FillKind::uniform,  FillKind::mean,
    FillKind::tiny,    FillKind::extreme, FillKind::special, FillKind::negative, FillKind::zeros,
    FillKind::ties,    FillKind::runs,    FillKind::range};
constexpr std::int64_t kUniformIntegers = 100;

std::uint64_t hash_name(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

std::string known_kinds() {
  std::string text;
  for (const FillKind k : kKinds) text += (text.empty() ? "" : " ") + std::string(name(k));
  return text;
}

/// A NaN, an infinity, -0 or a denormal.
double special_value(std::uint64_t bits, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double denormal = dtype == DType::f64    ? 0x1p-1070
                          : dtype == DType::f16  ? 0x1p-22
                          : dtype == DType::bf16 ? 0x1p-132
                                                 : 0x1p-140;
  const std::array values = {std::numeric_limits<double>::quiet_NaN(),
                             kInfinity,
                             -kInfinity,
                             -kInfinity,
                             -0.0,
                             denormal,
                             -denormal};
  return values[bits % values.size()];
}

/// An integer near 0, or near the limits of narrower integers.
std::int64_t near_an_end(std::uint64_t bits) {
  constexpr std::array kExponents = {7U, 8U, 15U, 16U, 31U, 32U};
  const std::int64_t small = below(mix(bits), 9) - 4;
  if (bits % 2 == 0) return small;
  const auto end = std::int64_t{1} << kExponents[(bits >> 8U) % kExponents.size()];
  return small + ((bits & 2U) != 0 ? end : -end);
}

bool has_great_integers(FillKind kind) {
  return kind == FillKind::extreme || kind >= FillKind::ties;
}

}  // namespace

double greatest_integer(FillKind kind, DType dtype) {
  if (!has_great_integers(kind)) return kUniformIntegers;
  return static_cast<double>(integer_range(dtype).greatest) + 1;
}

std::int64_t greatest_radius(DType dtype) {
  if (is_real(dtype)) return std::int64_t{1} << std::min(real_format(dtype).precision, 62);
  return dtype == DType::boolean ? INT64_MAX : integer_range(dtype).greatest;
}

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

std::string_view name(FillKind kind) {
  switch (kind) {
    case FillKind::integer:
      return "integer";
    case FillKind::onehot:
      return "onehot";
    case FillKind::index:
      return "index";
    case FillKind::uniform:
      return "uniform";
    case FillKind::mean:
      return "mean";
    case FillKind::tiny:
      return "tiny";
    case FillKind::extreme:
      return "extreme";
    case FillKind::special:
      return "special";
    case FillKind::negative:
      return "negative";
    case FillKind::zeros:
      return "zeros";
    case FillKind::ties:
      return "ties";
    case FillKind::runs:
      return "runs";
    case FillKind::range:
      return "range";
  }
  throw InternalError("unknown kind of fill");
}

Fill parse_fill(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  Fill fill;
  bool known = false;
  for (const FillKind k : kKinds) {
    if (name(k) != kind) continue;
    fill.kind = k;
    known = true;
  }
  if (!known) {
    throw Error(fmt::format("unknown fill '{}' (known: {})", kind, known_kinds()));
  }
  if (colon == std::string_view::npos) return fill;
  const std::string_view digits = text.substr(colon + 1);
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, fill.seed, 16);
  if (error != std::errc() || at != end) {
    throw Error(fmt::format("fill '{}': expected a hexadecimal seed of at most 16 digits", text));
  }
  return fill;
}

std::string to_string(const Fill& fill) {
  return fmt::format("{}:{:x}", name(fill.kind), fill.seed);
}

Filler::Filler(const Fill& fill, const FilledTensor& tensor, std::int64_t radius)
    : kind_(fill.kind),
      dtype_(tensor.dtype),
      stream_(mix(fill.seed ^ hash_name(tensor.name))),
      seed_(fill.seed),
      radius_(std::min(radius, greatest_radius(tensor.dtype))),
      special_(tensor.count > 0 ? below(mix(stream_ + 1), tensor.count) : 0),
      special_every_(std::array<std::uint64_t, 4>{4, 32, 256, 0}[mix(stream_ + 3) % 4]),
      hot_(kind_ == FillKind::onehot &&
           below(fill.seed, std::max(tensor.inputs, 1)) == tensor.position),
      with_zeros_(mix(stream_ + 2) % 4 == 0),
      edges_(edges_of(fill, tensor, stream_)) {}

std::int64_t Filler::nonzero(std::int64_t linear) const {
  const std::uint64_t bits = mix(stream_ ^ mix(static_cast<std::uint64_t>(linear)));
  const std::int64_t magnitude = 1 + below(bits >> 1U, radius_);
  return (bits & 1U) != 0 ? -magnitude : magnitude;
}

std::int64_t Filler::whole(std::int64_t linear) const {
  if (kind_ == FillKind::zeros) return 0;
  if (hot_) return linear == special_ ? nonzero(linear) : 0;
  if (kind_ == FillKind::integer) {
    const std::uint64_t bits = mix(stream_ ^ mix(~static_cast<std::uint64_t>(linear)));
    const bool zero = with_zeros_ && linear != special_ && bits % 4 == 0;
    return zero ? 0 : nonzero(linear);
  }
  const std::int64_t shift = below(seed_, radius_);
  return 1 + (linear % radius_ + shift) % radius_;
}

/// A real in [-1, 1) with the dtype's precision.
double Filler::unit(std::uint64_t bits) const {
  const int mantissa = real_format(dtype_).precision;
  const auto scale = static_cast<double>(std::uint64_t{1} << static_cast<unsigned>(mantissa));
  return static_cast<double>(bits >> static_cast<unsigned>(64 - mantissa)) / scale * 2.0 - 1.0;
}

/// An element of ties, runs or range.
double Filler::edge(std::int64_t linear, std::uint64_t bits) const {
  if (kind_ == FillKind::ties && edges_->ties) return edges_->palette.pick(mix(bits));
  if (kind_ == FillKind::ties) return static_cast<double>(nonzero(linear));
  if (kind_ == FillKind::runs) return edges_->runs.at(linear).value_or(unit(bits));
  return edges_->magnitudes.at(unit(bits), mix(bits));
}

double Filler::real(std::int64_t linear) const {
  if (is_whole(kind_)) return static_cast<double>(whole(linear));
  const std::uint64_t bits = mix(stream_ ^ mix(static_cast<std::uint64_t>(linear)));
  if (edges_) return edge(linear, bits);
  const double unit = this->unit(bits);
  if (kind_ == FillKind::mean) return 100 + unit;
  if (kind_ == FillKind::tiny) return unit * 0x1p-14;
  if (kind_ == FillKind::negative) return -100 - unit;
  if (kind_ == FillKind::special && special_every_ > 0 && mix(bits) % special_every_ == 0)
    return special_value(mix(bits + 1), dtype_);
  if (kind_ == FillKind::uniform || kind_ == FillKind::special) return unit;
  const std::int64_t reach = dtype_ == DType::f16 ? 8 : 20;
  return std::ldexp(unit, static_cast<int>(below(mix(bits), 2 * reach + 1) - reach));
}

std::int64_t Filler::integer(std::int64_t linear) const {
  if (dtype_ == DType::boolean && hot_) return linear == special_ ? 1 : 0;
  std::int64_t value = 0;
  if (!is_whole(kind_)) {
    const std::uint64_t bits = mix(stream_ ^ mix(static_cast<std::uint64_t>(linear)));
    value = kind_ == FillKind::ties     ? near_an_end(mix(stream_ + bits % 3))
            : has_great_integers(kind_) ? near_an_end(bits)
                                        : below(bits, 2 * kUniformIntegers + 1) - kUniformIntegers;
  } else {
    value = whole(linear);
  }
  if (dtype_ == DType::u8) value = std::abs(value);
  return dtype_ == DType::boolean ? value & 1 : value;
}

}  // namespace mote
