// SPDX-License-Identifier: Apache-2.0
// Implements the rules of arithmetic on reals: rounding, sums, products, quotients.
#include <algorithm>
#include <cmath>

#include "bound/value.h"

namespace mote::bounds {
namespace {

Uop either(const Uop& a, const Uop& b) { return a || b; }

/// Returns both ends times 1 -+ k, outward. Zeros and infinities stay.
Interval relative(const Interval& x, double k) {
  Interval y = x;
  y.whole = false;
  y.point_bits = 1000;
  if (x.nonnegative) {
    y.lo = x.lo * (1 - k);
    y.hi = x.hi * (1 + k);
  } else {
    y.lo = min(x.lo * (1 - k), x.lo * (1 + k));
    y.hi = max(x.hi * (1 - k), x.hi * (1 + k));
  }
  return y;
}

/// Moves both ends outward by at least one double.
Interval outward(const Interval& x, const Format& f) {
  if (f.dtype != DType::f64) return relative(x, 0x1p-52);
  Interval y = x;
  y.whole = false;
  const Uop zero = eq(x.lo, 0) && eq(x.hi, 0);
  // In a nonnegative interval no end goes below 0: corners() relies on that.
  const Uop stays = x.nonnegative ? eq(x.lo, 0) : zero;
  y.lo = where(stays || isinf(x.lo), x.lo, next_down(x.lo));
  y.hi = where(zero || isinf(x.hi), x.hi, next_up(x.hi));
  return y;
}

Uop round_to(const Uop& x, DType dtype) {
  return dtype == DType::f64 ? x : cast(cast(x, dtype), DType::f64);
}

/// Returns an operand of a multiplication rounded to that number of bits, in the range of f; a
/// value that has no more bits stays, and rounding changes no sign.
Interval narrowed(Interval x, int bits, const Format& f) {
  const double least = f.normal * std::ldexp(1.0, 1 - bits);
  const Uop bit = lowest_bit(x.lo);
  const Uop fits =
      eq(x.lo, x.hi) && abs(x.lo) <= bit * std::ldexp(1.0, bits) && (bit >= least || eq(x.lo, 0));
  const Interval wide = relative(x, std::ldexp(1.0, -bits));
  x.point_bits = x.digits();
  const Uop lo = wide.lo - least / 2, hi = wide.hi + least / 2;
  x.lo = where(fits, x.lo, where(x.lo >= 0, not_below_zero(lo), lo));
  x.hi = where(fits, x.hi, where(x.hi <= 0, min(hi, 0), hi));
  x.whole = false;
  x.bits = 1000;
  return x;
}

/// Returns the certain value that x is around, if there is one. It is 0, finite, infinite or NaN
/// exactly if both ends are: double has a wider range than the format.
const Uop* centre_of(const Interval& x, const Format& f) {
  const Spread* s = f.dtype != DType::f64 ? x.around() : nullptr;
  return s != nullptr ? &s->centre : nullptr;
}

/// Returns true if both ends are always finite, the same infinity, or NaN.
bool ends_agree(const Interval& x, const Format& f) {
  return x.certain() || centre_of(x, f) != nullptr;
}

/// Returns true if a NaN among the corners shows in both ends.
bool shows_in_both(MapOp op, const Interval& a, const Interval& b, const Format& f) {
  if (ends_agree(a, f) || ends_agree(b, f)) return true;
  return !b.nonnegative && !(a.nonnegative && op == MapOp::mul);
}

/// Settles the NaNs of x, the hull of op over the ends: a NaN from certain operands is a certain
/// one; otherwise nothing is known. A NaN from an operand that is around a certain value counts as
/// certain too: that value is 0 or infinite.
Interval with_nans(const Interval& x, MapOp op, const Interval& a, const Interval& b,
                   const Format& f) {
  Uop unknown = shows_in_both(op, a, b, f) ? isnan(x.lo) : either(isnan(x.lo), isnan(x.hi));
  Uop apart = Uop();
  // An operand that is the same for all elements comes last, so that it decides alone.
  const bool in_order = a.lo.rank() >= b.lo.rank();
  for (const Interval* arg : {in_order ? &a : &b, in_order ? &b : &a}) {
    const Uop* centre = centre_of(*arg, f);
    unknown = unknown && negation(isnan(centre != nullptr ? *centre : arg->lo));
    if (arg->certain() || centre != nullptr) continue;
    const Uop differ = ne(arg->lo, arg->hi);
    apart = apart ? either(apart, differ) : differ;
  }
  return apart ? unless(unknown && apart, x) : x;
}

/// Returns the hull of op over the ends.
Interval corners(MapOp op, const Interval& a, const Interval& b) {
  const auto at = [&](const Uop& x, const Uop& y) { return map(op, std::vector<Uop>{x, y}); };
  Interval x;
  if (a.certain() && b.certain()) {
    x.lo = x.hi = at(a.lo, b.lo);
  } else if (a.certain() || b.certain()) {
    const Uop p = at(a.lo, b.lo), q = at(a.hi, b.hi);
    x.lo = min(p, q);
    x.hi = max(p, q);
  } else if (b.nonnegative) {
    // Each of the four corners stands in one end, so that no NaN is lost.
    x.lo = min(at(a.lo, b.lo), at(a.lo, b.hi));
    x.hi = max(at(a.hi, b.lo), at(a.hi, b.hi));
  } else if (a.nonnegative && op == MapOp::mul) {
    x.lo = min(at(a.lo, b.lo), at(a.hi, b.lo));
    x.hi = max(at(a.lo, b.hi), at(a.hi, b.hi));
  } else {
    const Uop p = at(a.lo, b.lo), q = at(a.lo, b.hi), r = at(a.hi, b.lo), s = at(a.hi, b.hi);
    x.lo = min(min(p, q), min(r, s));
    x.hi = max(max(p, q), max(r, s));
  }
  return x;
}

/// Returns true if the result is exact in double: operands are points on a grid that 53 bits hold.
Uop on_grid(const Interval& x, const Uop& grid) {
  return eq(x.lo, x.hi) && abs(x.lo) < grid * 0x1p53;
}

/// Returns the conjunction of the condition, if there is one, and that both intervals are points.
Uop and_points(Uop condition, const Interval& a, const Interval& b) {
  const bool same = a.lo.id() == b.lo.id() && a.hi.id() == b.hi.id();
  for (const Interval* x : {&a, &b}) {
    if (x->lo.id() == x->hi.id() || (same && x == &b)) continue;
    const Uop point = eq(x->lo, x->hi);
    condition = condition ? condition && point : point;
  }
  return condition;
}

Interval choose(const Uop& condition, const Interval& a, Interval b) {
  b.lo = where(condition, a.lo, b.lo);
  b.hi = where(condition, a.hi, b.hi);
  return b;
}

/// Rounds x. If `exact` holds, the ends are the exact result, else double has rounded it.
Interval rounded_unless(const Uop& exact, const Interval& x, const Format& f, const Context& c) {
  return rounded(choose(exact, x, outward(x, f)), f, c, true);
}

/// Returns true if `sum`, a sum of points, loses no digit in double. The
/// difference from the operand of greater magnitude is exact (Dekker), so it shows whether there is
/// a rest; an infinity fails the other one.
Uop is_exact_sum(const Uop& sum, const Interval& a, const Interval& b) {
  return and_points(eq(sum - a.lo, b.lo) && eq(sum - b.lo, a.lo), a, b);
}

/// Returns true if x, a product of points, loses no digit in double, which holds the digits of all
/// products of two numbers of a narrower format. Callers skip it for two certain operands whose
/// bits fit.
Uop is_exact_product(const Interval& x, const Interval& a, const Interval& b) {
  constexpr int kDouble = 53;
  if (a.digits() + b.digits() <= kDouble) return and_points(Uop(), a, b);
  return and_points(on_grid(x, lowest_bit(a.lo) * lowest_bit(b.lo)), a, b);
}

/// The roundings in double of a product of the centre, of the slack, and of the ends. A narrower
/// format's range leaves enough room in double.
constexpr double kRoundings = 0x1p-50;

/// Returns the product of two values that are each a certain one, slightly more or less. So is the
/// product, and it is NaN only if the product of the two certain values is.
Interval product_around(const Spread& a, const Spread& b, const Format& f, const Context& c) {
  const double slack = (1 + a.slack) * (1 + b.slack) - 1 + kRoundings;
  return rounded(relative(exactly(a.centre * b.centre), slack), f, c, true);
}

/// Returns the product if one of two values is around a centre: the products with the centre have
/// the hull's ends.
Interval product_with(const Interval& a, const Spread& b, bool nonnegative, const Format& f,
                      const Context& c) {
  Interval x = corners(MapOp::mul, a, exactly(b.centre));
  x.nonnegative = nonnegative;
  return rounded(relative(x, b.slack + kRoundings), f, c, true);
}

Interval product_of(const Interval& a, const Interval& b, bool square, DType dtype,
                    const Context& c) {
  const Format f = format_of(dtype, c.contract);
  if (!square && f.dtype != DType::f64) {
    const Spread *p = a.around(), *q = b.around();
    const bool nonnegative = a.nonnegative && b.nonnegative;
    if (p != nullptr && q != nullptr) return product_around(*p, *q, f, c);
    if (q != nullptr) return with_nans(product_with(a, *q, nonnegative, f, c), MapOp::mul, a, b, f);
    if (p != nullptr) return with_nans(product_with(b, *p, nonnegative, f, c), MapOp::mul, a, b, f);
  }
  Interval x = corners(MapOp::mul, a, b);
  if (square && !a.certain()) {  // the same value twice: not below 0, and 0 only if it may be 0
    const Uop straddles = a.lo <= 0 && a.hi >= 0;
    const Uop p = a.lo * a.lo, q = a.hi * a.hi;
    x.lo = where(straddles, 0, min(p, q));
    x.hi = max(p, q);
    x = unless(is_indeterminate(a), x);
  }
  x.nonnegative = square || (a.nonnegative && b.nonnegative);
  const bool exact = a.certain() && b.certain() && a.bits + b.bits <= 53;
  const Interval y = c.rigid && !exact ? rounded_unless(is_exact_product(x, a, b), x, f, c)
                                       : rounded(x, f, c, exact);
  // The squares of numbers, including infinities, are numbers.
  return square ? y : with_nans(y, MapOp::mul, a, b, f);
}

}  // namespace

Uop number(double v) { return scalar(v, DType::f64); }

Interval exactly(const Uop& u) {
  Interval x;
  x.lo = x.hi = u;
  return x;
}

Interval between(const Uop& lo, const Uop& hi, bool nonnegative) {
  Interval x;
  x.lo = lo;
  x.hi = hi;
  x.nonnegative = nonnegative;
  return x;
}

Interval unless(const Uop& unknown, Interval x) {
  x.lo = where(unknown, -kInf, x.lo);
  x.hi = where(unknown, kInf, x.hi);
  return x;
}

Uop not_below_zero(const Uop& lo) { return where(lo > -kInf, max(lo, 0), lo); }

Uop is_indeterminate(const Interval& x) { return eq(x.lo, -kInf) && eq(x.hi, kInf); }

namespace {

Format format_named(DType t) {
  const RealFormat f = real_format(t);
  return {t,
          std::ldexp(1.0, -f.precision),
          std::ldexp(1.0, f.least_exponent),
          std::ldexp(1.0, f.least_exponent + f.precision - 1),
          f.greatest,
          f.precision};
}

}  // namespace

Format format_of(DType dtype, const Contract& contract) {
  const bool half = is_narrow(dtype);
  const bool is_wide = half && contract.accumulator != Accumulation::native;
  return format_named(is_wide ? DType::f32 : is_real(dtype) ? dtype : DType::f64);
}

Format accumulator_of(DType dtype, const Contract& contract) {
  if (contract.accumulator == Accumulation::f64) return format_named(DType::f64);
  if (contract.accumulator == Accumulation::f32) return format_named(DType::f32);
  return format_of(dtype, contract);
}

Format coarser(const Format& a, const Format& b) { return a.precision < b.precision ? a : b; }

Interval flushed(Interval x, const Format& f) {
  const Uop small_lo = abs(x.lo) < f.normal, small_hi = abs(x.hi) < f.normal;
  x.lo = where(small_lo, min(x.lo, 0), x.lo);
  x.hi = where(small_hi, max(x.hi, 0), x.hi);
  return x;
}

Interval rounded(Interval x, const Format& f, const Context& c, bool exact_in_double) {
  if (!exact_in_double) x = outward(x, f);
  if (f.dtype != DType::f64) {
    const bool point = x.certain();
    const Uop lo = round_to(x.lo, f.dtype), hi = point ? lo : round_to(x.hi, f.dtype);
    x = between(min(x.lo, lo), max(x.hi, hi), x.nonnegative);
  }
  if (c.contract.flushes_denormals) x = flushed(x, f);
  x.sign_of_zero = false;
  x.bits = 1000;
  x.point_bits = f.dtype != DType::f64 ? f.precision : 1000;  // it is its own rounding
  return x;
}

Interval scaled(const Interval& given, const Interval& factor, DType dtype, const Context& c) {
  const Format f = coarser(format_of(dtype, c.contract), accumulator_of(dtype, c.contract));
  const Interval sum = maybe_stored(given, dtype, c);
  const Pending& s = *sum.sum;
  const Uop size = factor.certain() ? abs(factor.lo) : max(abs(factor.lo), abs(factor.hi));
  Interval ends = sum;
  ends.sum.reset();
  Interval y = corners(MapOp::mul, ends, factor);
  y.nonnegative = sum.nonnegative && factor.nonnegative;
  const Uop overflows = s.magnitude > f.greatest;
  y.sum = Pending{s.count, where(overflows, kInf, s.magnitude * size), Uop()};
  const Uop unit = factor.certain() ? lowest_bit(factor.lo)
                                    : where(eq(factor.lo, factor.hi), lowest_bit(factor.lo), 0);
  // Each term is rounded once more, unless the factor's digits are one bit, or the products fit.
  Uop exact = eq(size, 1);
  if (s.grid) {
    y.sum->grid = s.grid * unit;
    exact = exact || (y.sum->magnitude <= y.sum->grid * std::ldexp(1.0, f.precision) &&
                      y.sum->grid >= f.least);
  }
  const Uop relative_part = where(eq(unit, size), 0, y.sum->magnitude * (f.unit + 0x1p-52));
  const double lost = c.contract.flushes_denormals ? f.normal : f.least;
  const Uop slack = where(exact, 0, relative_part + s.count * lost);
  y.lo = y.lo - slack;
  y.hi = y.hi + slack;
  if (y.nonnegative) y.lo = not_below_zero(y.lo);
  // A sum that may overflow stays unknown for any factor.
  return unless(overflows || ne(isnan(y.lo), isnan(y.hi)), y);
}

Interval add(const Interval& p, const Interval& q, DType dtype, const Context& c) {
  const Format f = format_of(dtype, c.contract);
  const Interval a = maybe_stored(p, dtype, c), b = maybe_stored(q, dtype, c);
  Interval x;
  x.nonnegative = a.nonnegative && b.nonnegative;
  x.lo = a.lo + b.lo;
  x.hi = a.lo.id() == a.hi.id() && b.lo.id() == b.hi.id() ? x.lo : a.hi + b.hi;
  if (a.sum || b.sum) {
    const Pending s = as_terms(a, c).sum, t = as_terms(b, c).sum;
    x.sum = Pending{s.count + t.count, s.magnitude + t.magnitude, Uop()};
    if (s.grid.id() != nullptr && t.grid.id() != nullptr) x.sum->grid = min(s.grid, t.grid);
    return x;
  }
  const Interval exact = x;
  const bool whole = a.whole && b.whole;
  x = c.rigid && !whole ? rounded_unless(is_exact_sum(x.lo, a, b), x, f, c)
                        : rounded(x, f, c, false);
  x.whole = whole;
  if (whole) {  // the format holds all integers up to 2^p
    const Uop size = max(abs(exact.lo), abs(exact.hi));
    x = choose(size <= std::ldexp(1.0, f.precision), exact, x);
  }
  return ends_agree(a, f) && ends_agree(b, f) ? x : unless(ne(isnan(x.lo), isnan(x.hi)), x);
}

Interval negated(const Interval& x) {
  Interval y = x;
  y.nonnegative = false;
  y.lo = -x.hi;
  y.hi = x.lo.id() == x.hi.id() ? y.lo : -x.lo;
  if (const Spread* s = x.around()) y.spread = {-s->centre, s->slack, y.lo, y.hi};
  return y;
}

namespace {

/// Returns an operand of a multiplication in the format that the contract permits: with fewer bits
/// and, if that format has a least number too, with that error, as the accuracy of kOperand says. A
/// value of that format stays.
Interval as_operand(const Interval& x, const Format& f, const Contract& contract) {
  Interval y = narrowed(x, contract.multiply_bits, f);
  const auto declared = contract.functions.find(kOperand);
  if (declared == contract.functions.end()) return y;
  const double error = declared->second.abs;
  const Uop is_on_grid = either(eq(y.lo, 0), lowest_bit(y.lo) >= 2 * error);
  const Uop stays = eq(y.lo, y.hi) && is_on_grid;
  const Uop lo = y.nonnegative ? not_below_zero(y.lo - error) : y.lo - error;
  y.hi = where(stays, y.hi, y.hi + error);
  y.lo = where(stays, y.lo, lo);
  return y;
}

}  // namespace

Interval multiplied(const Interval& x, const Interval& y, bool square, DType dtype,
                    const Context& c, bool feeds_sum) {
  if (!feeds_sum || c.contract.multiply_bits == 0) return product_of(x, y, square, dtype, c);
  const Format f = format_of(dtype, c.contract);
  return product_of(as_operand(x, f, c.contract), as_operand(y, f, c.contract), square, dtype, c);
}

Interval divided(const Interval& a, const Interval& b, DType dtype, const Context& c) {
  const Format f = format_of(dtype, c.contract);
  Interval x = corners(MapOp::div, a, b);
  x.nonnegative = a.nonnegative && b.nonnegative;
  // 2.5 units cover a * (1/b), which rounds twice, and a final rounding.
  Interval y = rounded(x, f, c, false);
  y = relative(y, 1.5 * f.unit);
  const Uop zero = eq(x.lo, 0) && eq(x.hi, 0);
  y.lo = where(zero, x.lo, y.lo - f.least);
  y.hi = where(zero, x.hi, y.hi + f.least);
  if (c.rigid && b.certain()) {
    const Uop power_of_two = eq(lowest_bit(b.lo), abs(b.lo));
    const Uop grid = on_grid(x, lowest_bit(a.lo) / abs(b.lo));
    y = choose(power_of_two && grid && eq(a.lo, a.hi), rounded(x, f, c, true), y);
  }
  if (y.nonnegative) y.lo = not_below_zero(y.lo);
  y = with_nans(y, MapOp::div, a, b, f);
  if (b.certain() && b.sign_of_zero) return y;
  // The infinity of x/0 has the sign of a zero that correct implementations need not agree on.
  const Uop may_be_zero = b.lo <= 0 && b.hi >= 0;
  return unless(may_be_zero && negation(isnan(y.lo)), y);
}

}  // namespace mote::bounds
