// SPDX-License-Identifier: Apache-2.0
// Implements the rules of functions: their ends, widened by the declared accuracy.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "bound/value.h"
#include "mote/base/error.h"
#include "mote/uops/map_ops.h"

namespace mote::bounds {
namespace {

/// The error of libm itself in double, in both directions.
constexpr double kLibm = 0x1p-51;

Uop is_zero(const Interval& x) { return eq(x.lo, 0) && eq(x.hi, 0); }

/// The half width of the accuracy, as a factor and an absolute part.
struct Slack {
  Uop factor;  ///< factor of the result's magnitude
  Uop added;
};
Slack slack_of(MapOp op, const Format& f, const Context& c) {
  const Accuracy a = accuracy_of(op, c.contract);
  const Uop ulp = param(ulp_param(op), DType::f64);
  return {ulp * (2 * f.unit) + kLibm, ulp * f.least + a.abs};
}

/// Returns the ends moved outward by the slack, except an exact zero of exp(-inf), and clamped to
/// the range.
Interval widened(Interval y, MapOp op, const Interval& x, const Format& f, const Context& c) {
  const Slack s = slack_of(op, f, c);
  const Course& course = *info(op).course;
  const Uop lo = y.lo, hi = y.hi;
  y.lo = lo - (abs(lo) * s.factor + s.added);
  y.hi = hi + (abs(hi) * s.factor + s.added);
  if (lo.id() == hi.id() || !std::isfinite(course.greatest)) {
    // An infinite end stays: the slack would give inf - inf.
    y.lo = where(isinf(lo), lo, y.lo);
    y.hi = where(isinf(hi), hi, y.hi);
  }
  const double beyond = f.unit * 2;
  if (std::isfinite(course.least)) {
    const Uop edge =
        course.least == 0 ? number(0) : course.least - param(ulp_param(op), DType::f64) * beyond;
    y.lo = max(y.lo, edge);
  }
  if (std::isfinite(course.greatest)) {
    y.hi = min(y.hi, course.greatest + param(ulp_param(op), DType::f64) * beyond);
  } else {  // beyond the format: infinite, or the greatest number
    y.lo = where(lo > f.greatest && x.hi < kInf, f.greatest, y.lo);
    y.hi = where(y.hi > f.greatest, kInf, y.hi);
    if (course.least == -kInf) {
      y.hi = where(hi < -f.greatest && x.lo > -kInf, -f.greatest, y.hi);
      y.lo = where(y.lo < -f.greatest, -kInf, y.lo);
    }
  }
  if (op == MapOp::exp) y.hi = where(eq(x.hi, -kInf), 0, y.hi);
  y.nonnegative = course.least >= 0 || (op == MapOp::rsqrt && x.nonnegative);
  return y;
}

/// Returns the interval of sin or cos: |Δ| <= min(2, e * min(1, |slope| + e)).
Interval wave(MapOp op, const Interval& x) {
  Interval y;
  if (x.certain()) return exactly(apply1(op, x.lo));
  const Uop middle = (x.lo + x.hi) * 0.5;
  const Uop reach = (x.hi - x.lo) * (0.5 + 0x1p-50) + abs(middle) * 0x1p-51;
  const Uop slope = abs(apply1(op == MapOp::sin ? MapOp::cos : MapOp::sin, middle));
  const Uop moved = min(reach * min(slope + reach, 1), 2);
  const Uop value = apply1(op, middle);
  y.lo = value - moved;
  y.hi = value + moved;
  return y;
}

Interval ends(MapOp op, const Interval& x) {
  const Course& course = *info(op).course;
  Interval y;
  switch (course.shape) {
    case Course::Shape::rising:
    case Course::Shape::tangent:
      y.lo = apply1(op, x.lo);
      y.hi = x.certain() ? y.lo : apply1(op, x.hi);
      break;
    case Course::Shape::falling:
      y.lo = apply1(op, x.hi);
      y.hi = x.certain() ? y.lo : apply1(op, x.lo);
      break;
    case Course::Shape::even: {
      if (x.certain()) return exactly(apply1(op, x.lo));
      const Uop at_zero = x.lo <= 0 && x.hi >= 0;
      const Uop a = abs(x.lo), b = abs(x.hi);
      y.lo = apply1(op, where(at_zero, 0, min(a, b)));
      y.hi = apply1(op, max(a, b));
      break;
    }
    case Course::Shape::wave:
      y = wave(op, x);
      break;
  }
  return y;
}

/// Returns true if the ends say nothing about the values between them.
Uop unknown(MapOp op, const Interval& x, const Interval& y) {
  const Course& course = *info(op).course;
  Uop bad = isnan(y.lo) || isnan(y.hi);
  if (std::isfinite(course.to)) bad = bad || (x.lo < course.from && x.hi > course.to);
  if (course.shape == Course::Shape::falling && course.from == 0)
    bad = bad || (x.lo <= 0 && x.hi >= 0);
  if (course.shape ==
      Course::Shape::tangent) {  // more than one branch, or so near to a pole that ends do not rise
    const auto branch = [](const Uop& v) {
      return apply1(MapOp::floor, v * std::numbers::inv_pi + 0.5);
    };
    bad = bad || ne(branch(x.lo), branch(x.hi)) || y.lo > y.hi;
  }
  const Uop outside = (x.hi < course.from) || (x.lo > course.to);
  const Uop point = eq(x.lo, x.hi);
  const Uop surely_nan = isnan(x.lo) || point;
  const bool has_edges = std::isfinite(course.from) || std::isfinite(course.to);
  return bad && negation(has_edges ? surely_nan || outside : surely_nan);
}

}  // namespace

bool is_function(MapOp op) { return info(op).course.has_value(); }

bool has_accuracy(MapOp op) { return info(op).ulp > 0; }

std::string ulp_param(MapOp op) { return fmt::format("ulp_{}", name(op)); }

Accuracy accuracy_of(MapOp op, const Contract& contract) {
  if (const auto at = contract.functions.find(name(op)); at != contract.functions.end())
    return at->second;
  return {.ulp = info(op).ulp};
}

Interval function_of(MapOp op, const Interval& given, DType dtype, const Context& c) {
  const Format f = format_of(dtype, c.contract);
  Interval x = given;
  if (x.nonnegative && !x.certain()) x.lo = not_below_zero(x.lo);
  const double arg = accuracy_of(op, c.contract).arg * f.unit;
  if (arg > 0) {
    const Uop lo = x.lo, hi = x.hi;
    x = between(min(lo * (1 - arg), lo * (1 + arg)), max(hi * (1 - arg), hi * (1 + arg)),
                x.nonnegative);
  }
  const Interval y = ends(op, x);
  Interval wide = widened(y, op, x, f, c);
  if (c.contract.flushes_denormals) {
    wide.lo = where(abs(wide.lo) < f.normal, min(wide.lo, 0), wide.lo);
    wide.hi = where(abs(wide.hi) < f.normal, max(wide.hi, 0), wide.hi);
  }
  const bool sign_known = x.certain() && x.sign_of_zero;
  const bool infinite_at_zero = op == MapOp::rsqrt && !sign_known;
  if (x.certain() && !infinite_at_zero) return wide;
  const Uop open = is_indeterminate(x) || unknown(op, x, y);
  return unless(infinite_at_zero ? open || is_zero(x) : open, wide);
}

}  // namespace mote::bounds

namespace mote {

std::vector<std::string> contract_functions() {
  std::vector<std::string> names = {kDot, kOperand};
  for (const MapOpInfo& row : map_ops())
    if (bounds::has_accuracy(row.op)) names.emplace_back(row.name);
  return names;
}

}  // namespace mote

namespace mote::bounds {

/// Returns true if the sign of a's zero decides between the infinities of a^b.
Uop odd_power_of_zero(const Interval& a, const Interval& b) {
  return is_zero(a) && b.lo < 0 && ne(mod(b.lo, number(2)), 0);
}

// a^b rises or falls in each argument if a >= 0, and in a if b is a whole number.
Interval power(const Interval& a, const Interval& b, DType dtype, const Context& c) {
  const Format f = format_of(dtype, c.contract);
  const auto at = [](const Uop& x, const Uop& y) { return pow(x, y); };
  const Slack s = slack_of(MapOp::pow, f, c);
  Interval y;
  if (a.certain() && b.certain()) {
    y = exactly(at(a.lo, b.lo));
  } else {
    const Uop p = at(a.lo, b.lo), q = at(a.hi, b.lo);
    const Uop r = b.certain() ? p : at(a.lo, b.hi), t = b.certain() ? q : at(a.hi, b.hi);
    y.lo = min(min(p, q), min(r, t));
    y.hi = max(max(p, q), max(r, t));
  }
  const Interval exact = y;
  y.lo = where(isinf(exact.lo), exact.lo, exact.lo - (abs(exact.lo) * s.factor + s.added));
  y.hi = where(isinf(exact.hi), exact.hi, exact.hi + (abs(exact.hi) * s.factor + s.added));
  y.lo = where(y.lo < -f.greatest, -kInf, where(y.lo > f.greatest, f.greatest, y.lo));
  y.hi = where(y.hi > f.greatest, kInf, where(y.hi < -f.greatest, -f.greatest, y.hi));
  y.nonnegative = a.nonnegative;
  if (a.certain() && b.certain()) return a.sign_of_zero ? y : unless(odd_power_of_zero(a, b), y);
  const Uop whole = eq(b.lo, b.hi) && eq(b.lo, apply1(MapOp::floor, b.lo));
  const Uop even = whole && eq(mod(b.lo, number(2)), 0);
  const Uop straddles = a.lo <= 0 && a.hi >= 0;
  y.lo = where(even && straddles && b.lo > 0, 0, y.lo);
  const Uop points = eq(a.lo, a.hi) && eq(b.lo, b.hi);
  const Uop known = points || (a.lo >= 0 && negation(straddles && b.lo < 0)) ||
                    (whole && negation(straddles && b.lo < 0));
  const Uop nan = isnan(y.lo) || isnan(y.hi);
  // pow(NaN, 0) and pow(1, NaN) are 1.
  const auto has = [](const Interval& x, double value) {
    return ne(x.lo, x.hi) && x.lo <= value && x.hi >= value;
  };
  const Uop surely =
      (isnan(a.lo) && negation(has(b, 0))) || (isnan(b.lo) && negation(has(a, 1))) || points;
  return unless(is_indeterminate(a) || is_indeterminate(b) || negation(known || surely) ||
                    (nan && negation(surely)) || odd_power_of_zero(a, b),
                y);
}

// x - y*floor(x/y) is exact for points; else if the quotient keeps its whole part.
Interval remainder(const Interval& a, const Interval& b, DType dtype, const Context& c) {
  const Format f = format_of(dtype, c.contract);
  if (a.certain() && b.certain()) return rounded(exactly(mod(a.lo, b.lo)), f, c, false);
  const Uop p = mod(a.lo, b.lo), q = mod(a.hi, b.lo);
  const auto whole = [&](const Uop& x) { return apply1(MapOp::floor, x / b.lo); };
  const Uop same = eq(whole(a.lo), whole(a.hi)) && p <= q;
  const Uop is_nan = isnan(a.lo) || isnan(b.lo);
  Interval y;
  y.lo = where(same || eq(a.lo, a.hi) || is_nan, p, min(b.lo, 0));
  y.hi = where(same || eq(a.lo, a.hi) || is_nan, q, max(b.lo, 0));
  y = rounded(y, f, c, false);
  const Uop points = eq(a.lo, a.hi) && eq(b.lo, b.hi);
  const Uop surely = is_nan || points;
  const Uop nan = isnan(y.lo) || isnan(y.hi) || eq(b.lo, 0);
  return unless(ne(b.lo, b.hi) && negation(surely),
                unless(is_indeterminate(a) || (nan && negation(surely)), y));
}

}  // namespace mote::bounds
