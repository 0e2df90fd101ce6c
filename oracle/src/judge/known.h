// SPDX-License-Identifier: Apache-2.0
// The facts known about the elements of a value: the domain of the abstract interpretation in
// exactness.cpp, and its transfer functions for Map and Reduce.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "mote/uops/uop.h"

namespace mote {

struct Known;

/// The narrowest real format of a program.
struct Format {
  explicit Format(bool f32) : precision(f32 ? 24 : 53), exponent(f32 ? 100 : 900) {}
  int precision;
  int exponent;  ///< magnitudes between 2^-exponent and 2^exponent are safe from over- and
                 ///< underflow

  bool holds(double value) const;
  /// Makes a grid value inexact when it needs more bits than the format has; `what` goes into the
  /// reason.
  void check(Known& known, const std::string& what) const;
};

struct Known {
  bool exact = false;
  std::string reason;  ///< the reason if not exact
  /// All elements are multiples of 2^unit with magnitude at most `bound`.
  struct Grid {
    int unit = 0;
    double bound = 0;
  };
  std::optional<Grid> lattice;  ///< nullopt: exact, but any data
  std::string data;             ///< a description of any data: "data with a full mantissa"
  std::optional<double> value;  ///< all elements are this one number

  static Known copied(std::string data = "data with a full mantissa");
  static Known grid(int unit, double bound);
  static Known inexact(std::string reason);
  /// The facts for one number; inexact when the format cannot hold it.
  static Known point(double value, DType dtype, const Format& format);
};

/// The facts that hold for either of two values.
Known join(const Known& a, const Known& b);
/// The facts for Map(op) of arguments of dtype `from`, giving `to`.
Known map_known(MapOp op, std::span<const Known> args, DType from, DType to, const Format& format,
                const std::string& what);
/// The facts for Reduce(op) over `count` elements.
Known reduce_known(ReduceOp op, const Known& x, double count, DType dtype, const std::string& what);

/// The facts for Scatter(op) of `count` elements like x onto elements like base, any number of them
/// onto one.
Known scatter_known(ScatterOp op, const Known& base, const Known& x, double count, DType dtype,
                    const std::string& what);

/// An upper limit of |e|, given one for each symbol.
double magnitude(const Expr& e, const std::function<double(Symbol)>& symbol);

}  // namespace mote
