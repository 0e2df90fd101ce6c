// SPDX-License-Identifier: Apache-2.0
// The fills whose elements lie at the edges of arithmetic: ties of special values, runs of equal
// ones, magnitudes whose squares, products, sums or exponentials overflow or underflow.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "mote/oracle/fill.h"

namespace mote {

/// A value in [0, bound); bound is at least 1.
inline std::int64_t below(std::uint64_t bits, std::int64_t bound) {
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(bound));
}

/// The values of one tensor of `ties`; the first two tie.
struct Palette {
  std::array<double, 4> values{};
  int count = 0;
  /// One element in this number is values[0]; 0: as many as of each other value.
  std::int64_t rare = 0;
  double pick(std::uint64_t bits) const;
};
Palette palette_of(std::uint64_t draw, DType dtype);

/// The elements of `runs`: along one axis, in some or all rows, a prefix, a suffix or a piece has
/// one value; in half of the tensors each row has its own. A run has at least 16 elements if the
/// axis is that long, or is the whole row.
struct FillRuns {
  std::int64_t inner = 1;   ///< the distance between neighbours along the axis
  std::int64_t extent = 1;  ///< the extent of the axis
  std::uint64_t every = 1;  ///< one row in this number has a run
  bool own_values = false;
  std::uint64_t stream = 0;
  /// The value of the element's run, if it is in one.
  std::optional<double> at(std::int64_t linear) const;
};
FillRuns runs_of(std::uint64_t draw, const FilledTensor& tensor);

/// The magnitudes of `range`. One tensor of a case has them, or all, or the others have those they
/// are divided by.
struct Magnitudes {
  enum class Kind : std::uint8_t {
    moderate,    ///< values in [-1, 1)
    near_power,  ///< near 2^exponent
    all,         ///< any exponent of the dtype
    exponents,   ///< near the overflow or underflow of exp
    few          ///< one in 16 near 2^exponent, the others moderate
  };
  Kind kind = Kind::moderate;
  int exponent = 0;
  bool positive = false;
  DType dtype = DType::f32;
  double at(double unit, std::uint64_t bits) const;
};
Magnitudes magnitudes_of(std::uint64_t case_draw, bool chosen, DType dtype);

/// The draw of one tensor; only the member for its kind of fill is used.
struct FillEdges {
  bool ties = false;  ///< if not, a tensor of that kind holds small whole numbers
  Palette palette;
  FillRuns runs;
  Magnitudes magnitudes;
};
/// The draw for a tensor with its own `stream`; nullptr for other kinds.
std::shared_ptr<const FillEdges> edges_of(const Fill& fill, const FilledTensor& tensor,
                                          std::uint64_t stream);

}  // namespace mote
