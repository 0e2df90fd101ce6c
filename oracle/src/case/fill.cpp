// SPDX-License-Identifier: Apache-2.0
// Fills are hashes of (seed, name, index), so that any element can be computed alone.
#include "mote/oracle/fill.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "case/fill_edges.h"
#include "mote/base/element_types.h"
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
  std::vector<std::string_view> names;
  for (const FillKind k : kKinds) names.push_back(name(k));
  return fmt::format("{}", fmt::join(names, " "));
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
      inverse_(~std::uint64_t{0} / static_cast<std::uint64_t>(radius_)),
      special_(tensor.count > 0 ? below(mix(stream_ + 1), tensor.count) : 0),
      special_every_(std::array<std::uint64_t, 4>{4, 32, 256, 0}[mix(stream_ + 3) % 4]),
      unit_shift_(64 - static_cast<unsigned>(real_format(tensor.dtype).precision)),
      unit_scale_(std::ldexp(1, real_format(tensor.dtype).precision)),
      hot_(kind_ == FillKind::onehot &&
           below(fill.seed, std::max(tensor.inputs, 1)) == tensor.position),
      with_zeros_(mix(stream_ + 2) % 4 == 0),
      edges_(edges_of(fill, tensor, stream_)) {}

inline std::uint64_t Filler::bits_of(std::int64_t linear) const {
  return mix(stream_ ^ mix(static_cast<std::uint64_t>(linear)));
}

/// bits % radius, by a product: the quotient's estimate is at most one too small, since inverse_ is
/// less than one below 2^64 / radius.
inline std::int64_t Filler::below_radius(std::uint64_t bits) const {
  __extension__ using Product = unsigned __int128;
  const auto radius = static_cast<std::uint64_t>(radius_);
  const auto quotient = static_cast<std::uint64_t>(Product{bits} * inverse_ >> 64U);
  const std::uint64_t rest = bits - quotient * radius;
  return static_cast<std::int64_t>(rest >= radius ? rest - radius : rest);
}

inline std::int64_t Filler::nonzero(std::int64_t linear) const {
  const std::uint64_t bits = bits_of(linear);
  const std::int64_t magnitude = 1 + below_radius(bits >> 1U);
  return (bits & 1U) != 0 ? -magnitude : magnitude;
}

/// A real in [-1, 1) with the dtype's precision.
inline double Filler::unit(std::uint64_t bits) const {
  return static_cast<double>(bits >> unit_shift_) / unit_scale_ * 2.0 - 1.0;
}

template <typename F>
decltype(auto) Filler::with_whole(F&& f) const {
  if (kind_ == FillKind::zeros) return f([](std::int64_t) { return std::int64_t{0}; });
  if (hot_)
    return f([this](std::int64_t linear) { return linear == special_ ? nonzero(linear) : 0; });
  if (kind_ == FillKind::integer) {
    return f([this](std::int64_t linear) {
      if (!with_zeros_ || linear == special_) return nonzero(linear);
      const std::uint64_t bits = mix(stream_ ^ mix(~static_cast<std::uint64_t>(linear)));
      return bits % 4 == 0 ? 0 : nonzero(linear);
    });
  }
  return f([this, shift = below(seed_, radius_)](std::int64_t linear) {
    const std::int64_t at = below_radius(static_cast<std::uint64_t>(linear)) + shift;
    return 1 + (at >= radius_ ? at - radius_ : at);
  });
}

/// The elements of ties, runs or range.
template <typename F>
decltype(auto) Filler::with_edges(F&& f) const {
  if (kind_ == FillKind::ties && !edges_->ties)
    return f([this](std::int64_t linear) { return static_cast<double>(nonzero(linear)); });
  if (kind_ == FillKind::ties)
    return f([this](std::int64_t linear) { return edges_->palette.pick(mix(bits_of(linear))); });
  if (kind_ == FillKind::runs) {
    return f([this](std::int64_t linear) {
      return edges_->runs.at(linear).value_or(unit(bits_of(linear)));
    });
  }
  return f([this](std::int64_t linear) {
    const std::uint64_t bits = bits_of(linear);
    return edges_->magnitudes.at(unit(bits), mix(bits));
  });
}

template <typename F>
decltype(auto) Filler::with_reals(F&& f) const {
  if (is_whole(kind_)) {
    return with_whole([&](auto whole) {
      return f([whole](std::int64_t linear) { return static_cast<double>(whole(linear)); });
    });
  }
  if (edges_) return with_edges(f);
  switch (kind_) {
    case FillKind::mean:
      return f([this](std::int64_t linear) { return 100 + unit(bits_of(linear)); });
    case FillKind::tiny:
      return f([this](std::int64_t linear) { return unit(bits_of(linear)) * 0x1p-14; });
    case FillKind::negative:
      return f([this](std::int64_t linear) { return -100 - unit(bits_of(linear)); });
    case FillKind::uniform:
      return f([this](std::int64_t linear) { return unit(bits_of(linear)); });
    case FillKind::special:
      return f([this](std::int64_t linear) {
        const std::uint64_t bits = bits_of(linear);
        if (special_every_ > 0 && mix(bits) % special_every_ == 0)
          return special_value(mix(bits + 1), dtype_);
        return unit(bits);
      });
    default:
      return f([this, reach = dtype_ == DType::f16 ? 8 : 20](std::int64_t linear) {
        const std::uint64_t bits = bits_of(linear);
        return std::ldexp(unit(bits), static_cast<int>(below(mix(bits), 2 * reach + 1) - reach));
      });
  }
}

template <typename F>
decltype(auto) Filler::with_integers(F&& f) const {
  if (dtype_ == DType::boolean && hot_)
    return f([this](std::int64_t linear) { return std::int64_t{linear == special_ ? 1 : 0}; });
  const auto of_dtype = [&](auto value_of) {
    return f([this, value_of](std::int64_t linear) {
      const std::int64_t value = value_of(linear);
      if (dtype_ == DType::boolean) return value & 1;
      return integer_range(dtype_).least == 0 ? std::abs(value) : value;
    });
  };
  if (is_whole(kind_)) return with_whole(of_dtype);
  if (kind_ == FillKind::ties) {
    return of_dtype(
        [this](std::int64_t linear) { return near_an_end(mix(stream_ + bits_of(linear) % 3)); });
  }
  if (has_great_integers(kind_))
    return of_dtype([this](std::int64_t linear) { return near_an_end(bits_of(linear)); });
  return of_dtype([this](std::int64_t linear) {
    return below(bits_of(linear), 2 * kUniformIntegers + 1) - kUniformIntegers;
  });
}

double Filler::real(std::int64_t linear) const {
  return with_reals([&](auto of) { return of(linear); });
}

std::int64_t Filler::integer(std::int64_t linear) const {
  return with_integers([&](auto of) { return of(linear); });
}

void Filler::store(void* to, std::int64_t count) const {
  with_dtype(dtype_, [&]<DType D>() {
    const auto store_all = [&](auto of) {
      auto* all = static_cast<typename Element<D>::Stored*>(to);
      for (std::int64_t k = 0; k < count; ++k) all[k] = Element<D>::store(of(k));
    };
    if constexpr (is_real(D))
      with_reals(store_all);
    else
      with_integers(store_all);
  });
}

}  // namespace mote
