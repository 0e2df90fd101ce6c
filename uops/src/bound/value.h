// SPDX-License-Identifier: Apache-2.0
// Defines intervals of uops, and the rules that make them. A rule reads the intervals of a node's
// operands and returns the node's.
//
// Invariants of an interval: every value that a correct implementation may hold lies in [lo, hi],
// or is NaN if lo = -inf and hi = +inf; both ends are NaN iff the value must be NaN; one end is
// never NaN alone. Ends of reals are f64, of integers and booleans the node's own dtype.
#pragma once

#include <limits>
#include <optional>
#include <unordered_set>
#include <vector>

#include "graph/node.h"
#include "mote/uops/bound.h"

namespace mote::bounds {

/// A sum that nothing has read yet: its terms can still be combined with others in any order.
struct Pending {
  Uop count;      ///< terms that are not zero
  Uop magnitude;  ///< sum of the greatest magnitudes of the terms
  Uop grid;       ///< all terms are points and multiples of it; 0: they are not. Empty: not tracked
};

/// A certain value, slightly more or less: the ends are centre * (1 -+ slack).
struct Spread {
  Uop centre;
  double slack;
  Uop lo, hi;  ///< the ends that it describes: an interval with other ends has lost it
};

struct Interval {
  Uop lo, hi;  ///< the same node if the value is certain for every input
  std::optional<Pending> sum;
  bool nonnegative = false;
  bool whole = false;         ///< every possible value is a whole number, or not finite
  bool sign_of_zero = false;  ///< a certain zero has the reference's sign
  int bits = 1000;            ///< maximum number of significant bits of a certain value
  int point_bits = 1000;      ///< the same of any other value whose ends are equal
  std::optional<Spread> spread;
  bool certain() const { return lo.id() == hi.id() && !sum; }
  /// Returns the maximum number of significant bits of the value if its ends are equal.
  int digits() const { return certain() ? bits : point_bits; }
  const Spread* around() const {
    const bool holds = spread && spread->lo.id() == lo.id() && spread->hi.id() == hi.id();
    return holds && !sum ? &*spread : nullptr;
  }
  /// Returns true if no input makes the value indeterminate.
  bool is_known() const { return certain() || around() != nullptr; }
};

/// A real format as numbers.
struct Format {
  DType dtype;    ///< f64, or the dtype that rounds to the format
  double unit;    ///< roundoff: half the distance from 1 to the next
  double least;   ///< the least subnormal number
  double normal;  ///< the least normal number
  double greatest;
  int precision;
};
/// Returns the format in which an element of dtype is computed.
Format format_of(DType dtype, const Contract& contract);
/// Returns the format in which sums and products of such elements over an axis are kept.
Format accumulator_of(DType dtype, const Contract& contract);
/// Returns the one of the two formats that rounds more.
Format coarser(const Format& a, const Format& b);

/// The parts of a bound that all rules need.
struct Context {
  const Contract& contract;
  bool rigid;
  std::unordered_set<const UopNode*> products = {};  ///< multiplications that feed a sum
  std::unordered_set<const UopNode*> dots = {};      ///< sums that multiplications feed
  std::unordered_set<const UopNode*> inner = {};     ///< values that another value is computed from
};

inline constexpr double kInf = std::numeric_limits<double>::infinity();

Uop number(double v);
inline Uop isnan(const Uop& x) { return apply1(MapOp::isnan, x); }
inline Uop isinf(const Uop& x) { return apply1(MapOp::isinf, x); }
inline Uop negation(const Uop& x) { return apply1(MapOp::logical_not, x); }
Interval exactly(const Uop& u);
Interval between(const Uop& lo, const Uop& hi, bool nonnegative);
/// Returns [-inf, inf] if `unknown` holds, else x.
Interval unless(const Uop& unknown, Interval x);
/// Returns the lower end of a value that is not below 0: at least 0, except that -inf stays, since
/// with it the value may be NaN.
Uop not_below_zero(const Uop& lo);
/// Returns true if nothing is known: a real element with these ends may also be NaN.
Uop is_indeterminate(const Interval& x);
/// Returns a sum as it is once it is rounded: the possible error of its order is added to its ends.
Interval settled(const Interval& x, DType dtype, const Context& c);
/// Returns a sum that is kept in a wider format than its own as it may be after rounding to its
/// own, before it meets values that are not summed with it. Its terms stay as they are.
Interval maybe_stored(const Interval& x, DType dtype, const Context& c);
/// Moves the ends one double outward, except that 0 stays 0, unless they are exact in double, then
/// extends the interval to the ends rounded to the format.
Interval rounded(Interval x, const Format& f, const Context& c, bool exact_in_double);

Interval add(const Interval& a, const Interval& b, DType dtype, const Context& c);
/// Returns an unread sum times a factor without data: the sum of its terms times that factor, since
/// implementations may scale operands, products or partial sums.
Interval scaled(const Interval& sum, const Interval& factor, DType dtype, const Context& c);
Interval negated(const Interval& x);
Interval multiplied(const Interval& x, const Interval& y, bool square, DType dtype,
                    const Context& c, bool feeds_sum);
Interval divided(const Interval& a, const Interval& b, DType dtype, const Context& c);
/// Returns the interval in which results below the least normal number may be 0.
Interval flushed(Interval x, const Format& f);
/// Returns the Reduce sum of x, unrounded.
Interval summed(const Interval& x, const std::vector<int>& axes, const Context& c);
/// Returns the same of products, if the contract states the accuracy of the function kDot.
Interval dot(const Interval& products, const std::vector<int>& axes, DType dtype, const Context& c);
/// The terms of a sum, for values that are combined otherwise (scatters).
struct Terms {
  Interval ends;
  Pending sum;
};
Terms as_terms(const Interval& x, const Context& c);

/// Returns true for Map ops of one argument that are functions (sqrt … erf).
bool is_function(MapOp op);
/// A contract may name its error.
bool has_accuracy(MapOp op);
Interval function_of(MapOp op, const Interval& given, DType dtype, const Context& c);
Interval power(const Interval& a, const Interval& b, DType dtype, const Context& c);
Interval remainder(const Interval& a, const Interval& b, DType dtype, const Context& c);
/// Returns the parameter that holds a function's accuracy in ulps.
std::string ulp_param(MapOp op);
Accuracy accuracy_of(MapOp op, const Contract& contract);

/// Returns the interval of any Map node; `given` are its operands.
Interval map_rule(const Uop& node, const std::vector<Interval>& given, const Context& c);
/// Returns true if the graph shows that no value of an integer node has more digits than a double.
bool fits_double(const Uop& integer);
/// Returns an integer, whose ends are x, as a real.
Interval to_real(const Uop& integer, const Interval& x, DType to, const Context& c);
/// Returns the interval of a Map of integers and booleans.
Interval integer_rule(const Uop& node, const std::vector<Interval>& args);
Interval comparison(MapOp op, const Interval& a, const Interval& b);
Interval reduce_rule(const Uop& node, const uop::Reduce& r, const Interval& given,
                     const Context& c);
Interval scatter_rule(const Uop& node, const std::vector<Interval>& args, const Context& c);
Interval cast_to(const Uop& node, const Interval& x, DType from, const Context& c);
/// Returns the same values without the conditions and branches that literals among the rules'
/// conditions decide.
std::vector<Uop> without_literals(const std::vector<Uop>& outputs);

}  // namespace mote::bounds
