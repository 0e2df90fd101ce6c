// SPDX-License-Identifier: Apache-2.0
// Implements the rules of Map: comparisons, choice, casts, rounding to whole numbers, integers;
// arithmetic and functions have files of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bound/value.h"
#include "graph/node.h"
#include "mote/base/error.h"
#include "mote/uops/compare.h"

namespace mote::bounds {
namespace {

/// Returns true for a literal number that is not NaN.
bool is_literal(const Uop& x) {
  const auto* s = std::get_if<uop::Scalar>(&x.node().kind);
  return s != nullptr && s->value.is_real() && !std::isnan(s->value.real());
}

bool all_certain(const std::vector<Interval>& args) {
  return std::ranges::all_of(args, [](const Interval& a) { return a.certain(); });
}

/// Returns the interval of all values that the integer or boolean dtype can hold.
Interval anything(DType dtype) {
  const IntegerRange range = integer_range(dtype);
  Interval x;
  x.lo = scalar(Number(range.least), dtype);
  x.hi = scalar(Number(range.greatest), dtype);
  return x;
}

/// Returns x where `known`, else any value of its dtype.
Interval where_known(const Uop& known, Interval x, DType dtype) {
  const Interval all = anything(dtype);
  x.lo = where(known, x.lo, all.lo);
  x.hi = where(known, x.hi, all.hi);
  return x;
}

/// Returns min or max of the ends; an interval that may be NaN stays so.
Interval extremum(MapOp op, const Interval& a, const Interval& b, bool real) {
  Interval x;
  const auto at = [&](const Uop& p, const Uop& q) { return map(op, std::vector<Uop>{p, q}); };
  x.lo = at(a.lo, b.lo);
  x.hi = a.certain() && b.certain() ? x.lo : at(a.hi, b.hi);
  x.bits = std::max(a.bits, b.bits);
  x.whole = a.whole && b.whole;
  x.nonnegative =
      op == MapOp::max ? a.nonnegative || b.nonnegative : a.nonnegative && b.nonnegative;
  if (!real || x.lo.id() == x.hi.id()) return x;
  // An indeterminate operand is not surely NaN, so that only the other can be.
  const bool one = a.certain() || b.certain();
  const Interval &point = a.certain() ? a : b, &other = a.certain() ? b : a;
  if (one && is_literal(point.lo)) return other.is_known() ? x : unless(is_indeterminate(other), x);
  Uop unknown;
  for (const Interval* arg : {&a, &b}) {
    if (arg->is_known()) continue;
    unknown = unknown ? unknown || is_indeterminate(*arg) : is_indeterminate(*arg);
  }
  if (!unknown) return x;
  const Uop surely_nan = isnan(a.lo) || isnan(b.lo);
  return unless(unknown && negation(surely_nan), x);
}

Interval absolute(const Interval& x) {
  Interval y;
  y.nonnegative = true;
  y.bits = x.bits;
  const Uop a = abs(x.lo);
  if (x.certain()) {
    y.lo = y.hi = a;
    return y;
  }
  if (x.nonnegative) {
    y.lo = x.lo;
    y.hi = x.hi;
    return y;
  }
  if (const Spread* s = x.around()) {
    const Uop centre = abs(s->centre);
    y.lo = centre * (1 - s->slack);
    y.hi = centre * (1 + s->slack);
    y.spread = {centre, s->slack, y.lo, y.hi};
    return y;
  }
  const Uop b = abs(x.hi);
  y.lo = where(x.lo <= 0 && x.hi >= 0, 0, min(a, b));
  y.hi = max(a, b);
  return unless(is_indeterminate(x), y);
}

/// Returns the interval of an op that rises and gives a value without rounding: floor, sign, ….
Interval stepwise(MapOp op, const Interval& x) {
  Interval y;
  y.lo = apply1(op, x.lo);
  y.hi = x.certain() ? y.lo : apply1(op, x.hi);
  y.whole = op != MapOp::next_up && op != MapOp::next_down;
  y.nonnegative = x.nonnegative;
  return x.certain() ? y : unless(is_indeterminate(x), y);
}

Interval choice(const Interval& c, const Interval& a, const Interval& b, bool real) {
  Interval x;
  x.nonnegative = a.nonnegative && b.nonnegative;
  x.whole = a.whole && b.whole;
  x.sign_of_zero = a.sign_of_zero && b.sign_of_zero && c.certain();
  x.bits = std::max(a.bits, b.bits);
  x.point_bits = std::max(a.digits(), b.digits());
  x.lo = where(c.lo, a.lo, b.lo);
  const bool points = a.certain() && b.certain();
  x.hi = points ? x.lo : where(c.lo, a.hi, b.hi);
  if (c.certain()) {
    const Spread *p = a.around(), *q = b.around();
    if ((p || q) && (p || a.certain()) && (q || b.certain()))
      x.spread = {where(c.lo, p ? p->centre : a.lo, q ? q->centre : b.lo),
                  std::max(p ? p->slack : 0, q ? q->slack : 0), x.lo, x.hi};
    return x;
  }
  const Uop sure = eq(c.lo, c.hi);
  Interval hull;
  hull.lo = min(a.lo, b.lo);
  hull.hi = max(a.hi, b.hi);
  if (real) {
    Uop unknown = is_literal(a.lo)   ? isnan(b.lo)
                  : is_literal(b.lo) ? isnan(a.lo)
                                     : ne(isnan(a.lo), isnan(b.lo));
    if (!a.is_known()) unknown = unknown || is_indeterminate(a);
    if (!b.is_known()) unknown = unknown || is_indeterminate(b);
    hull = unless(unknown, hull);
  }
  x.lo = where(sure, x.lo, hull.lo);
  x.hi = where(sure, x.hi, hull.hi);
  return x;
}

/// Converts reals to integers and booleans.
Interval to_whole(const Uop& node, const Interval& x) {
  Interval y;
  const DType to = node.dtype();
  if (x.certain()) return exactly(cast(x.lo, to));
  if (to == DType::boolean) {  // x != 0, which includes NaN
    y.lo = x.lo > 0 || x.hi < 0 || isnan(x.lo);
    y.hi = negation(eq(x.lo, 0) && eq(x.hi, 0));
    return y;
  }
  y.lo = cast(x.lo, to);
  y.hi = cast(x.hi, to);
  return y;
}

}  // namespace

Interval to_real(const Uop& integer, const Interval& x, DType to, const Context& c) {
  Interval y;
  y.lo = cast(x.lo, DType::f64);
  y.hi = x.certain() ? y.lo : cast(x.hi, DType::f64);
  if (!fits_double(integer)) {
    // The double is already rounded; an implementation may round once, to its own format.
    const auto next = [](MapOp op, const Uop& v) {
      return where(abs(v) < 0x1p53, v, apply1(op, v));
    };
    const Interval whole = y;
    y.lo = next(MapOp::next_down, whole.lo);
    y.hi = next(MapOp::next_up, whole.hi);
  }
  y.whole = true;
  if (to == DType::f64) return y;
  if (const auto* s = std::get_if<uop::Scalar>(&y.lo.node().kind);
      s && x.certain() && identical(store_as(s->value, to), s->value))
    return y;
  y = rounded(y, format_of(to, c.contract), c, true);
  y.whole = true;
  return y;
}

namespace {

Interval integer_cast(const Uop& node, const Interval& x) {
  const DType to = node.dtype();
  if (x.certain()) return exactly(cast(x.lo, to));
  Interval y;
  if (to == DType::boolean) {
    y.lo = x.lo > 0 || x.hi < 0;
    y.hi = negation(eq(x.lo, 0) && eq(x.hi, 0));
    return y;
  }
  y.lo = cast(x.lo, to);
  y.hi = cast(x.hi, to);
  if (x.lo.dtype() == DType::boolean || to == DType::i64) return y;
  const IntegerRange range = integer_range(to);
  const Uop lo = cast(x.lo, DType::i64), hi = cast(x.hi, DType::i64);
  return where_known(eq(lo, hi) || (lo >= range.least && hi <= range.greatest), y, to);
}

Interval logical(MapOp op, const std::vector<Interval>& args) {
  const Interval &a = args.front(), &b = args.back();
  Interval x;
  if (op == MapOp::logical_not) {
    x.lo = negation(a.hi);
    x.hi = a.certain() ? x.lo : negation(a.lo);
  } else if (op == MapOp::logical_xor) {
    const Uop sure = eq(a.lo, a.hi) && eq(b.lo, b.hi), value = ne(a.lo, b.lo);
    x.lo = value && sure;
    x.hi = value || negation(sure);
  } else {
    x.lo = map(op, std::vector<Uop>{a.lo, b.lo});
    x.hi = map(op, std::vector<Uop>{a.hi, b.hi});
  }
  return x;
}

/// Returns true if the interval is small enough for sums not to wrap.
Uop small(const Interval& x, std::int64_t limit) {
  return cast(x.lo, DType::i64) >= -limit && cast(x.hi, DType::i64) <= limit;
}

Interval arithmetic_of_integers(const Uop& node, const std::vector<Interval>& args) {
  const auto op = std::get<uop::Map>(node.node().kind).op;
  const Interval &a = args.front(), &b = args.back();
  const auto at = [&](const Uop& x, const Uop& y) { return map(op, std::vector<Uop>{x, y}); };
  constexpr std::int64_t kSum = std::int64_t{1} << 61;
  constexpr std::int64_t kProduct = std::int64_t{1} << 31;
  Interval x;
  Uop known;
  switch (op) {
    case MapOp::add:
      x.lo = at(a.lo, b.lo), x.hi = at(a.hi, b.hi);
      known = small(a, kSum) && small(b, kSum);
      break;
    case MapOp::sub:
      x.lo = at(a.lo, b.hi), x.hi = at(a.hi, b.lo);
      known = small(a, kSum) && small(b, kSum);
      break;
    case MapOp::mul: {
      const Uop p = at(a.lo, b.lo), q = at(a.lo, b.hi), r = at(a.hi, b.lo), s = at(a.hi, b.hi);
      x.lo = min(min(p, q), min(r, s));
      x.hi = max(max(p, q), max(r, s));
      known = small(a, kProduct) && small(b, kProduct);
      break;
    }
    case MapOp::neg:
      x.lo = apply1(op, a.hi), x.hi = apply1(op, a.lo);
      known = small(a, kSum);
      break;
    case MapOp::sign:
      x.lo = apply1(op, a.lo), x.hi = apply1(op, a.hi);
      return x;
    case MapOp::floor:
    case MapOp::ceil:
    case MapOp::round:
    case MapOp::trunc:
      return a;
    default: {  // certain if the arguments are
      std::vector<Uop> ends;
      for (const Interval& arg : args) ends.push_back(arg.lo);
      x = exactly(map(op, ends));
      known = eq(a.lo, a.hi);
      if (args.size() > 1) known = known && eq(b.lo, b.hi);
      break;
    }
  }
  // Integers are 64-bit until they are stored: an unknown one may have any 64-bit value.
  return where_known(known, x, node.dtype());
}

Interval real_rule(MapOp op, const Uop& node, const std::vector<Interval>& args, const Context& c) {
  const Interval &a = args.front(), &b = args.back();
  const DType dtype = node.dtype();
  const auto& m = std::get<uop::Map>(node.node().kind);
  switch (op) {
    case MapOp::neg: {
      Interval y = negated(a);
      y.sign_of_zero = a.sign_of_zero;
      y.bits = a.bits;
      return y;
    }
    case MapOp::abs: {
      Interval y = absolute(a);
      y.sign_of_zero = a.sign_of_zero;
      return y;
    }
    case MapOp::sign:
    case MapOp::floor:
    case MapOp::ceil:
    case MapOp::round:
    case MapOp::trunc: {
      Interval y = stepwise(op, a);
      y.bits = a.bits;
      return y;
    }
    case MapOp::next_up:
    case MapOp::next_down:
      return rounded(stepwise(op, a), format_of(dtype, c.contract), c, true);
    case MapOp::lowest_bit:
      if (a.certain()) return exactly(apply1(op, a.lo));
      return unless(ne(a.lo, a.hi) && negation(isnan(a.lo)), exactly(apply1(op, a.lo)));
    case MapOp::recip:
      return divided(exactly(number(1)), a, dtype, c);
    case MapOp::sub:
      return add(a, negated(b), dtype, c);
    case MapOp::mul:
      return multiplied(a, b, m.args[0].id() == m.args[1].id(), dtype, c,
                        c.products.contains(node.id()));
    case MapOp::div:
      return divided(a, b, dtype, c);
    case MapOp::pow:
      return power(a, b, dtype, c);
    case MapOp::mod:
      return remainder(a, b, dtype, c);
    case MapOp::min:
    case MapOp::max:
      return extremum(op, a, b, true);
    default:
      if (is_function(op)) return function_of(op, a, dtype, c);
      throw InternalError(fmt::format("bound: Map {} of reals has no rule", name(op)));
  }
}

/// Returns the index of the argument of a product that is a parameter or a literal, if the other is
/// an unread sum; -1 if there is none.
int factor_of_sum(const Uop& node, const std::vector<Interval>& args, const Context& c) {
  const auto& m = std::get<uop::Map>(node.node().kind);
  if (m.op != MapOp::mul || !is_real(node.dtype()) || c.products.contains(node.id())) return -1;
  for (int k = 0; k < 2; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const uop::Kind& kind = m.args[at].node().kind;
    const bool no_data =
        std::holds_alternative<uop::Param>(kind) || std::holds_alternative<uop::Scalar>(kind);
    if (no_data && args[1 - at].sum) return k;
  }
  return -1;
}

}  // namespace

Interval comparison(MapOp op, const Interval& a, const Interval& b) {
  Interval x;
  if (a.certain() && b.certain()) return exactly(map(op, std::vector<Uop>{a.lo, b.lo}));
  switch (op) {
    case MapOp::lt:
      x.lo = a.hi < b.lo, x.hi = a.lo < b.hi;
      break;
    case MapOp::le:
      x.lo = a.hi <= b.lo, x.hi = a.lo <= b.hi;
      break;
    case MapOp::gt:
      return comparison(MapOp::lt, b, a);
    case MapOp::ge:
      return comparison(MapOp::le, b, a);
    case MapOp::eq:
      x.lo = eq(a.lo, a.hi) && eq(b.lo, b.hi) && eq(a.lo, b.lo);
      x.hi = a.lo.dtype() == DType::boolean ? (negation(a.lo) || b.hi) && (negation(b.lo) || a.hi)
                                            : a.lo <= b.hi && b.lo <= a.hi;
      break;
    default: {
      const Interval equal = comparison(MapOp::eq, a, b);
      x.lo = negation(equal.hi);
      x.hi = negation(equal.lo);
      return x;
    }
  }
  if (a.lo.dtype() != DType::f64) return x;
  // An operand that may be NaN compares either way.
  for (const Interval* arg : {&a, &b}) {
    if (!arg->is_known()) x.lo = x.lo && negation(is_indeterminate(*arg));
  }
  return x;
}

Interval cast_to(const Uop& node, const Interval& x, DType from, const Context& c) {
  const DType to = node.dtype();
  if (is_real(from) && is_real(to)) {
    const RealFormat wide = real_format(to), narrow = real_format(from);
    const bool holds = wide.precision >= narrow.precision &&
                       wide.least_exponent <= narrow.least_exponent &&
                       wide.greatest >= narrow.greatest;
    if (to == DType::f64 || (holds && x.bits <= wide.precision)) return x;
    Interval y = x;
    y.lo = cast(cast(x.lo, to), DType::f64);
    y.hi = x.certain() ? y.lo : cast(cast(x.hi, to), DType::f64);
    y.bits = y.point_bits = wide.precision;
    y.sign_of_zero = x.sign_of_zero;
    return y;
  }
  if (is_real(from)) return to_whole(node, x);
  if (!is_real(to)) return integer_cast(node, x);
  return to_real(std::get<uop::Map>(node.node().kind).args[0], x, to, c);
}

Interval map_rule(const Uop& node, const std::vector<Interval>& given, const Context& c) {
  const auto& m = std::get<uop::Map>(node.node().kind);
  const DType from = m.args.back().dtype();
  if (const int factor = factor_of_sum(node, given, c); factor >= 0) {
    const auto at = static_cast<std::size_t>(factor);
    return scaled(given[1 - at], given[at], node.dtype(), c);
  }
  std::vector<Interval> args;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const bool keeps = m.op == MapOp::add || m.op == MapOp::sub || m.op == MapOp::neg;
    args.push_back(keeps ? given[k] : settled(given[k], m.args[k].dtype(), c));
  }
  if (m.op == MapOp::add && is_real(from)) return add(args[0], args[1], node.dtype(), c);
  if (m.op == MapOp::sub && is_real(from)) return add(args[0], negated(args[1]), node.dtype(), c);
  if (m.op == MapOp::cast) return cast_to(node, args[0], from, c);
  if (m.op == MapOp::where) return choice(args[0], args[1], args[2], is_real(from));
  if (is_comparison(m.op)) return comparison(m.op, args[0], args[1]);
  if (m.op == MapOp::isnan || m.op == MapOp::isinf) {
    const Uop lo = apply1(m.op, args[0].lo);
    if (args[0].certain()) return exactly(lo);
    Interval x;
    const Uop unknown = is_indeterminate(args[0]);
    x.lo = m.op == MapOp::isnan ? lo : lo && eq(args[0].lo, args[0].hi);
    x.hi = m.op == MapOp::isnan ? lo || unknown : lo || apply1(m.op, args[0].hi);
    return x;
  }
  if (is_real(from)) return real_rule(m.op, node, args, c);
  return integer_rule(node, args);
}

Interval integer_rule(const Uop& node, const std::vector<Interval>& args) {
  const auto op = std::get<uop::Map>(node.node().kind).op;
  if (all_certain(args)) {
    std::vector<Uop> ends;
    for (const Interval& a : args) ends.push_back(a.lo);
    return exactly(map(op, ends));
  }
  if (op >= MapOp::logical_and && op <= MapOp::logical_xor) return logical(op, args);
  if (op == MapOp::logical_not) return logical(op, args);
  if (op == MapOp::min || op == MapOp::max) return extremum(op, args[0], args[1], false);
  return arithmetic_of_integers(node, args);
}

}  // namespace mote::bounds
