// SPDX-License-Identifier: Apache-2.0
// The contents of a case's inputs: each element is a pure function of the kind of fill, the seed,
// the tensor (its name and position) and the linear index.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/uop.h"

namespace MOTE_API mote {

/// integer: integers in [-r, r], in most tensors without 0, never all 0.
/// onehot: one tensor (position seed mod number of inputs) has exactly one element that is not 0,
///   the others hold `index`; the result then shows which element was read where.
/// index: 1 + (linear index + seed) mod r: neighbours differ.
/// uniform: reals in [-1, 1) with a full mantissa; integers in [-100, 100].
/// mean: 100 plus such a real, so that the mean is large compared with the variation.
/// tiny: such a real times 2^-14: an epsilon weighs more than the data.
/// extreme: such a real times 2^e, e in -20 … 20 (f16: -8 … 8): many magnitudes.
/// special: uniform, except for scattered NaN, infinities, -0 and denormals: none in one tensor of
///   four, about every 4th, 32nd or 256th element in the others.
/// negative: -100 minus such a real: a maximum that starts at 0 is wrong.
/// zeros: 0 throughout, for a case that lists its other elements (set= in its text).
/// ties: a few values of which some are equal or compare as equal: +0 and -0, several NaN,
///   infinities, the greatest number, 1 and its neighbour; in one tensor, or in all.
/// runs: elements are those of uniform, but prefixes, suffixes and pieces along an axis, of 16
///   elements or more or of the whole axis, are all -inf, inf, NaN, 0, -0 or another number.
/// range: magnitudes whose squares, products, sums or exponentials overflow or underflow in the
///   dtype, denormals, or all exponents of the dtype.
/// Mean, tiny, special and negative have the integers of uniform; the integers of extreme, ties,
/// runs and range lie near 0 and near 2^7, 2^8, 2^15, 2^16, 2^31 and 2^32, as far as the dtype
/// holds them. A boolean is the parity of the element of an integer tensor.
enum class FillKind : std::uint8_t {
  integer,
  onehot,
  index,
  uniform,
  mean,
  tiny,
  extreme,
  special,
  negative,
  zeros,
  ties,
  runs,
  range
};
/// True if all elements are small whole numbers.
constexpr bool is_whole(FillKind kind) {
  return kind < FillKind::uniform || kind == FillKind::zeros;
}

struct Fill {
  FillKind kind = FillKind::integer;
  std::uint64_t seed = 0;
  friend bool operator==(const Fill&, const Fill&) = default;
};

std::string_view name(FillKind kind);
/// "integer:9f21"; the seed is hexadecimal and may be missing. Throws Error that lists the kinds.
Fill parse_fill(std::string_view text);
std::string to_string(const Fill& fill);

/// One input as a fill sees it.
struct FilledTensor {
  std::string name;
  DType dtype = DType::f32;
  int position = 0;                      ///< among the inputs that are present
  int inputs = 1;                        ///< the number of inputs that are present
  std::int64_t count = 0;                ///< distinct elements
  std::vector<std::int64_t> shape = {};  ///< their shape; empty: a row
};

/// Mixes 64 bits (SplitMix64's finaliser).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

struct FillEdges;

/// The elements of one tensor.
class Filler {
 public:
  /// `radius` >= 1 is the r of FillKind.
  Filler(const Fill& fill, const FilledTensor& tensor, std::int64_t radius);
  double real(std::int64_t linear) const;  ///< the element for f32 (not yet rounded) and f64
  std::int64_t integer(std::int64_t linear) const;  ///< the element for i32, i64, bool
  /// Stores the elements 0 … count - 1 in an array of the tensor's dtype, rounded to it.
  void store(void* to, std::int64_t count) const;

 private:
  /// Each returns f(of), where of(linear) is an element: the kind is looked up once for a loop over
  /// elements.
  template <typename F>
  decltype(auto) with_reals(F&& f) const;
  template <typename F>
  decltype(auto) with_integers(F&& f) const;
  template <typename F>
  decltype(auto) with_whole(F&& f) const;
  template <typename F>
  decltype(auto) with_edges(F&& f) const;

  std::uint64_t bits_of(std::int64_t linear) const;
  std::int64_t below_radius(std::uint64_t bits) const;
  std::int64_t nonzero(std::int64_t linear) const;

  double unit(std::uint64_t bits) const;

  FillKind kind_;
  DType dtype_;
  std::uint64_t stream_;
  std::uint64_t seed_;
  std::int64_t radius_;
  std::uint64_t inverse_;  ///< 2^64 / radius, rounded down
  std::int64_t special_;   ///< the element that is never 0
  std::uint64_t special_every_;
  unsigned unit_shift_;  ///< 64 less the bits of a unit's mantissa
  double unit_scale_;
  bool hot_;
  bool with_zeros_;
  std::shared_ptr<const FillEdges> edges_;  ///< used for ties, runs and range
};

/// The maximum magnitude of integers of a fill that is not whole.
double greatest_integer(FillKind kind, DType dtype);
/// The greatest radius of a fill: the dtype holds all integers up to it.
std::int64_t greatest_radius(DType dtype);

}  // namespace mote
