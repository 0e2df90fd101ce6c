// SPDX-License-Identifier: Apache-2.0
// Implements the rules of sums: terms that may be added in any order, and the interval of their sum
// once it is read.
#include <algorithm>
#include <cmath>

#include "bound/value.h"

namespace mote::bounds {

Terms as_terms(const Interval& x, const Context& c) {
  Terms t{x, {}};
  t.ends.sum.reset();
  if (x.sum) {
    t.sum = *x.sum;
    return t;
  }
  if (x.certain()) {
    const Uop size = abs(x.lo);
    t.sum.magnitude = where(isinf(size), 0, size);
    t.sum.count = cast(ne(x.lo, 0), DType::f64);
    if (c.rigid) t.sum.grid = lowest_bit(x.lo);
    return t;
  }
  // A certain infinity takes no part in rounding; a possible one leaves nothing known.
  const Uop size = x.nonnegative ? x.hi : max(abs(x.lo), abs(x.hi));
  t.sum.magnitude = where(isinf(x.lo) && eq(x.lo, x.hi), 0, size);
  t.sum.count = cast(ne(size, 0), DType::f64);
  if (c.rigid) t.sum.grid = where(eq(x.lo, x.hi), lowest_bit(x.lo), 0);
  return t;
}

namespace {

/// Returns true if the sum is exact in any order: the format holds the sum of any of its terms.
Uop holds_any_sum(const Pending& s, const Format& f) {
  return s.magnitude <= s.grid * std::ldexp(1.0, f.precision);
}

/// Returns the error that the order may cause in a sum in the format f; if the sum `converts` its
/// terms to f, their rounding counts too.
Uop slack_of_sum(const Pending& s, const Format& f, bool converts, const Context& c) {
  Uop slack = s.count * (s.magnitude * (f.unit + 0x1p-52));
  if (converts) slack = slack + s.count * f.least;
  if (c.contract.flushes_denormals) slack = slack + s.count * f.normal;
  Uop exact = s.count <= (converts ? 0 : 1);
  if (s.grid) {
    const Uop holds = holds_any_sum(s, f);
    exact = exact || (converts ? holds && s.grid >= f.least : holds);
  }
  return where(exact, 0, slack);
}

}  // namespace

Interval maybe_stored(const Interval& x, DType dtype, const Context& c) {
  const Format own = format_of(dtype, c.contract);
  if (!x.sum || accumulator_of(dtype, c.contract).precision <= own.precision) return x;
  // Twice the unit: the error of the sum's own order is rounded too.
  const double less = 1 - 2 * own.unit, more = 1 + 2 * own.unit;
  Interval y = x;
  y.lo = min(x.lo * less, x.lo * more) - own.least;
  y.hi = max(x.hi * less, x.hi * more) + own.least;
  y.lo = where(y.lo < -own.greatest, -kInf, y.lo);
  y.hi = where(y.hi > own.greatest, kInf, y.hi);
  if (y.nonnegative) y.lo = not_below_zero(y.lo);
  if (x.sum->grid) {
    const Uop fits = holds_any_sum(*x.sum, own) && x.sum->grid >= own.least;
    y.lo = where(fits, x.lo, y.lo);
    y.hi = where(fits, x.hi, y.hi);
  }
  return c.contract.flushes_denormals ? flushed(y, own) : y;
}

Interval settled(const Interval& x, DType dtype, const Context& c) {
  if (!x.sum) return x;
  const Format f = accumulator_of(dtype, c.contract), own = format_of(dtype, c.contract);
  const Pending& s = *x.sum;
  const Uop slack = slack_of_sum(s, f, f.precision < own.precision, c);
  Interval y;
  y.nonnegative = x.nonnegative;
  y.lo = x.lo - slack;
  y.hi = x.hi + slack;
  if (y.nonnegative) y.lo = not_below_zero(y.lo);
  const Uop overflow = s.magnitude > f.greatest;
  y.lo = y.nonnegative ? y.lo : where(overflow, -kInf, y.lo);
  y.hi = where(overflow, kInf, y.hi);
  if (f.precision > own.precision) y = rounded(y, own, c, true);
  return unless(ne(isnan(y.lo), isnan(y.hi)), y);
}

Interval summed(const Interval& x, const std::vector<int>& axes, const Context& c) {
  const Terms t = as_terms(x, c);
  Interval y;
  y.nonnegative = x.nonnegative;
  y.lo = sum_over(t.ends.lo, axes);
  y.hi = t.ends.lo.id() == t.ends.hi.id() ? y.lo : sum_over(t.ends.hi, axes);
  y.sum = Pending{sum_over(t.sum.count, axes), sum_over(t.sum.magnitude, axes), Uop()};
  if (t.sum.grid) y.sum->grid = min_over(t.sum.grid, axes);
  return y;
}

Interval dot(const Interval& products, const std::vector<int>& axes, DType dtype,
             const Context& c) {
  Interval y = summed(products, axes, c);
  const auto declared = c.contract.functions.find(kDot);
  if (declared == c.contract.functions.end()) return y;
  // A term counts as that number of roundings, at least one: settled() takes a single one as exact.
  const Uop count = y.sum->count;
  y.sum->count = where(count <= 1, count, count * std::max(1.0, 2 * declared->second.ulp));
  if (products.certain()) return y;
  // Below the least normal number digits are cut off where a product was to be rounded.
  const Format f = format_of(dtype, c.contract);
  const Uop each = max(as_terms(products, c).sum.count, number(1));
  const Uop unsure = where(eq(products.lo, products.hi), 0.0, each);
  const Uop lost = sum_over(unsure, axes) * coarser(f, accumulator_of(dtype, c.contract)).least;
  y.lo = y.nonnegative ? not_below_zero(y.lo - lost) : y.lo - lost;
  y.hi = y.hi + lost;
  return y;
}

}  // namespace mote::bounds
