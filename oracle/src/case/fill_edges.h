// SPDX-License-Identifier: Apache-2.0
// The fills whose elements lie where arithmetic has edges: ties of special values, runs of equal
// ones, magnitudes whose squares, products, sums or exponentials overflow or underflow.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "mote/oracle/fill.h"

namespace mote {

/// In [0, bound), bound >= 1.
inline std::int64_t below(std::uint64_t bits, std::int64_t bound) {
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(bound));
}

/// The values of one tensor of `ties`; the first two tie.
struct Palette {
  std::array<double, 4> values{};
  int count = 0;
  /// Elements that are values[0] are one in so many; 0: as many as of each other value.
  std::int64_t rare = 0;
  double pick(std::uint64_t bits) const;
};
Palette palette_of(std::uint64_t draw, DType dtype);

/// Elements of `runs`: along one axis, of some or all rows, a prefix, a suffix or a piece is one
/// value, each row's own in half of the tensors. A run has 16 elements or more where the axis is as
/// long, or is the whole row.
struct Runs {
  std::int64_t inner = 1;   ///< elements from one of the axis to its next
  std::int64_t extent = 1;  ///< of the axis
  std::uint64_t every = 1;  ///< one row in so many has a run
  bool own_values = false;
  std::uint64_t stream = 0;
  /// The value of the element's run, where it is in one.
  std::optional<double> at(std::int64_t linear) const;
};
Runs runs_of(std::uint64_t draw, const FilledTensor& tensor);

/// Magnitudes of `range`. Of the tensors of a case one has them, or all, or the others have what
/// they are divided by.
struct Magnitudes {
  enum class Kind : std::uint8_t {
    moderate,    ///< in [-1, 1)
    near_power,  ///< near 2^exponent
    all,         ///< any exponent that the dtype has
    exponents,   ///< near where exp overflows or underflows
    few          ///< one in 16 near 2^exponent, the others moderate
  };
  Kind kind = Kind::moderate;
  int exponent = 0;
  bool positive = false;
  DType dtype = DType::f32;
  double at(double unit, std::uint64_t bits) const;
};
Magnitudes magnitudes_of(std::uint64_t case_draw, bool chosen, DType dtype);

/// The draw of one tensor; only the member that belongs to its fill's kind is used.
struct FillEdges {
  bool ties = false;  ///< or else, of that kind, it holds small whole numbers
  Palette palette;
  Runs runs;
  Magnitudes magnitudes;
};
/// `stream` is the tensor's own; nullptr for other kinds.
std::shared_ptr<const FillEdges> edges_of(const Fill& fill, const FilledTensor& tensor,
                                          std::uint64_t stream);

}  // namespace mote
