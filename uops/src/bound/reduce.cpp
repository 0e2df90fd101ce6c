// SPDX-License-Identifier: Apache-2.0
// Implements the rules of reductions, data-dependent reads and scatters.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "bound/value.h"
#include "graph/node.h"

namespace mote::bounds {
namespace {

Interval both(const Interval& x, const auto& f) {
  Interval y;
  y.lo = f(x.lo);
  y.hi = x.lo.id() == x.hi.id() ? y.lo : f(x.hi);
  return y;
}

/// Returns `reduced` spread again over the axes that it lost.
Uop over(const Uop& reduced, const Uop& x, const std::vector<int>& axes) {
  std::vector<int> at;
  for (int k = 0; k < x.rank(); ++k) {
    bool gone = false;
    for (const int a : axes) gone = gone || a == k;
    if (!gone) at.push_back(k);
  }
  std::vector<IndexText> from;
  for (const int k : at) from.emplace_back(Expr::loop(k));
  return reindex(reduced, shape_of(x), from,
                 reduced.dtype() == DType::f64 ? Number(0.0) : Number(0));
}

/// Factors as certain values, each of which may deviate by a relative slack.
struct Factors {
  Interval values;
  double slack = 0;
};
Factors factors_of(const Interval& x, const Format& f) {
  const Spread* s = f.dtype != DType::f64 ? x.around() : nullptr;
  if (s == nullptr) return {x};
  Factors around{exactly(s->centre), s->slack};
  around.values.nonnegative = x.nonnegative;
  return around;
}

/// Returns the roundings of one factor. Each factor of a product over an axis is one more
/// multiplication; if the accumulator is narrower than the factors, both the factor and the initial
/// value are converted to it.
constexpr double roundings_of_factor(bool converts) { return converts ? 3 : 1; }

/// Returns the interval of a product: the factors' least and greatest magnitudes multiply, in any
/// order, and each product rounds.
Interval product(const Interval& given, const std::vector<int>& axes, DType dtype,
                 const Context& c) {
  const Format f = accumulator_of(dtype, c.contract), own = format_of(dtype, c.contract);
  const bool converts = f.precision < own.precision;
  const auto [x, slack] = factors_of(given, own);
  const Uop a = abs(x.lo), b = x.certain() ? a : abs(x.hi);
  const Uop straddles = x.lo <= 0 && x.hi >= 0;
  const Uop most = x.certain() ? a : max(a, b);
  const Uop least = x.certain() ? a : where(straddles, 0, min(a, b));
  // For points, one product has the magnitude, the sign and whether there is a NaN.
  const Uop value = x.certain() ? prod_over(x.lo, axes) : Uop();
  const Uop greatest = x.certain() ? abs(value) : prod_over(most, axes);
  const Uop smallest = x.certain() ? greatest : prod_over(least, axes);
  const Uop sign = x.certain() ? value : prod_over(apply1(MapOp::sign, x.lo), axes);
  // Within these limits no order of multiplication overflows, or loses more than this to underflow.
  const Uop largest = prod_over(max(most, 1), axes);
  const Uop count = sum_over(where(eq(most, 1), 0.0, number(1)), axes);
  Uop factor = count * (roundings_of_factor(converts) * f.unit + slack + 0x1p-51);
  Uop lost = count * (c.contract.flushes_denormals ? f.normal : f.least) * largest;
  // True if a factor is 0; a product that is 0 in double may only have underflowed there.
  const Uop zero =
      reduce(ReduceOp::any, eq(x.lo, 0) && eq(x.hi, 0), axes) && negation(isnan(greatest));
  Uop rounds_nothing = count <= (converts ? 0 : 1);
  if (slack == 0) {
    // If the format holds the product of the factors' odd parts, only underflow can round.
    const Uop point = eq(x.lo, x.hi) && negation(isinf(x.lo));
    const Uop odd = where(eq(x.lo, 0), 1, a / lowest_bit(x.lo));
    const Uop digits = prod_over(where(point, odd, kInf), axes);
    const Uop tiniest = prod_over(min(where(eq(most, 0), 1, most), 1), axes);
    const Uop exact = digits <= std::ldexp(1.0, f.precision) && tiniest >= f.normal;
    rounds_nothing = exact || rounds_nothing;
    factor = where(rounds_nothing, 0, factor);
  }
  lost = where(zero || rounds_nothing, 0, lost);
  const Uop hi = greatest * (1 + factor) + lost, lo = max(smallest * (1 - factor) - lost, 0);
  Interval y;
  y.lo = where(eq(sign, 0) || (smallest <= 0 && greatest > 0), -hi, where(sign > 0, lo, -hi));
  y.hi = where(eq(sign, 0) || (smallest <= 0 && greatest > 0), hi, where(sign > 0, hi, -lo));
  if (x.nonnegative) y.lo = not_below_zero(y.lo);
  y.nonnegative = x.nonnegative;
  y.lo = where(zero, 0, y.lo);
  y.hi = where(zero, 0, y.hi);
  const Uop surely_nan = reduce(ReduceOp::any, isnan(x.lo), axes);
  if (f.precision > own.precision) y = rounded(y, own, c, true);
  const Uop unknown = largest > f.greatest || isnan(greatest) || isnan(smallest) || isnan(y.lo);
  y.lo = where(surely_nan, std::numeric_limits<double>::quiet_NaN(), y.lo);
  y.hi = where(surely_nan, std::numeric_limits<double>::quiet_NaN(), y.hi);
  return unless(unknown && negation(surely_nan), y);
}

Interval extreme(const uop::Reduce& r, const Interval& x, bool real) {
  Interval y = both(x, [&](const Uop& e) { return reduce(r.op, e, r.axes); });
  y.nonnegative = x.nonnegative && r.op == ReduceOp::min;
  y.bits = x.bits;
  if (!real || x.certain()) return y;
  const Uop unknown = reduce(ReduceOp::any, is_indeterminate(x), r.axes);
  return unless(unknown && negation(isnan(y.lo)), y);
}

/// Returns the row-major position among the reduced axes.
Uop position(const Uop& x, const std::vector<int>& axes) {
  Expr at = 0;
  for (const int a : axes) at = at * x.shape()[static_cast<std::size_t>(a)] + Expr::loop(a);
  return iota(at, shape_of(x));
}

/// Returns the interval from the first to the last position that may hold the extreme value.
Interval best(const uop::Reduce& r, const Interval& x, bool real) {
  if (x.certain()) return exactly(reduce(r.op, x.lo, r.axes));
  const bool greatest = r.op == ReduceOp::argmax;
  const Uop edge = greatest ? max_over(x.lo, r.axes) : min_over(x.hi, r.axes);
  const Uop limit = over(edge, x.lo, r.axes);
  const Uop may_be = greatest ? x.hi >= limit : x.lo <= limit;
  const Uop at = position(x.lo, r.axes);
  constexpr std::int64_t kBeyond = std::numeric_limits<std::int64_t>::max();
  Interval y;
  y.lo = min_over(where(may_be, at, kBeyond), r.axes);
  y.hi = max_over(where(may_be, at, std::int64_t{-1}), r.axes);
  if (!real) return y;
  // If there are NaNs: the first, if all before it are known; else any.
  const Uop first = reduce(r.op, x.lo, r.axes);
  y.lo = where(isnan(edge), first, y.lo);
  y.hi = where(isnan(edge), first, y.hi);
  const Uop unknown = reduce(ReduceOp::any, is_indeterminate(x), r.axes);
  y.lo = where(unknown, std::int64_t{0}, y.lo);
  y.hi = where(unknown, max_over(at, r.axes), y.hi);
  return y;
}

Interval whole_sum(const uop::Reduce& r, const Interval& x, DType dtype) {
  // An integer result is known if no partial sum can wrap, or all terms are known.
  Interval y = both(x, [&](const Uop& e) { return reduce(r.op, e, r.axes); });
  if (x.certain()) return y;
  constexpr std::int64_t kTerm = std::int64_t{1} << 31;
  Uop known = reduce(ReduceOp::all, eq(x.lo, x.hi), r.axes);
  if (r.op == ReduceOp::sum) {
    const Uop small = cast(x.lo, DType::i64) >= -kTerm && cast(x.hi, DType::i64) <= kTerm;
    known = known || reduce(ReduceOp::all, small, r.axes);
  }
  const IntegerRange range = integer_range(dtype);
  y.lo = where(known, y.lo, scalar(Number(range.least), dtype));
  y.hi = where(known, y.hi, scalar(Number(range.greatest), dtype));
  return y;
}

using Combine = std::function<Uop(ScatterOp, const Uop& base, const Uop& x)>;

/// Returns the interval of a scatter by add: a sum of the base and of the values that arrived.
Interval scattered_sum(const Combine& combine, const Interval& base, const Interval& x,
                       const Context& c) {
  const Terms b = as_terms(base, c), t = as_terms(x, c);
  const auto sum = [&](const Uop& p, const Uop& q) { return combine(ScatterOp::add, p, q); };
  Interval y;
  y.nonnegative = base.nonnegative && x.nonnegative;
  y.lo = sum(b.ends.lo, t.ends.lo);
  const bool point = b.ends.lo.id() == b.ends.hi.id() && t.ends.lo.id() == t.ends.hi.id();
  y.hi = point ? y.lo : sum(b.ends.hi, t.ends.hi);
  y.sum = Pending{sum(b.sum.count, t.sum.count), sum(b.sum.magnitude, t.sum.magnitude), Uop()};
  if (b.sum.grid.id() != nullptr && t.sum.grid.id() != nullptr)
    y.sum->grid = combine(ScatterOp::min, b.sum.grid, t.sum.grid);
  return y;
}

/// Returns the interval of a scatter by mul: a product of factors in any order.
Interval scattered_product(const Combine& combine, const Interval& given_base,
                           const Interval& given_x, DType dtype, const Context& c) {
  const Format f = accumulator_of(dtype, c.contract), own = format_of(dtype, c.contract);
  const bool converts = f.precision < own.precision;
  const auto times = [&](const Uop& p, const Uop& q) { return combine(ScatterOp::mul, p, q); };
  const auto [base, base_slack] = factors_of(given_base, own);
  const auto [x, x_slack] = factors_of(given_x, own);
  const auto most = [](const Interval& v) { return max(abs(v.lo), abs(v.hi)); };
  const Uop greatest = times(most(base), most(x));
  const Uop largest = times(max(most(base), 1), max(most(x), 1));
  const auto factors = [](const Uop& v, double each) {
    return where(eq(v, v), each, number(each));
  };
  const Uop count = combine(ScatterOp::add, factors(base.lo, 0), factors(x.lo, 1));
  Uop share = count * (roundings_of_factor(converts) * f.unit + 0x1p-51);
  if (const double slack = std::max(base_slack, x_slack); slack > 0)
    share = share + (count + 1) * slack;
  Interval y;
  const Uop value = times(base.lo, x.lo);
  const bool certain = base.certain() && x.certain();
  const Uop slack = where(eq(count, 0), 0, greatest * share + count * largest * f.least);
  y.lo = certain ? value - slack : where(eq(count, 0), given_base.lo, -(greatest + slack));
  y.hi = certain ? value + slack : where(eq(count, 0), given_base.hi, greatest + slack);
  if (f.precision > own.precision) y = rounded(y, own, c, true);
  const Uop unknown = largest > f.greatest || isnan(y.lo) || isnan(y.hi);
  return unless(unknown && ne(count, 0), y);
}

Interval scattered(const Combine& combine, ScatterOp op, const Interval& base, const Interval& x,
                   bool real) {
  Interval y;
  y.lo = combine(op, base.lo, x.lo);
  const bool certain = base.certain() && x.certain();
  y.hi = certain ? y.lo : combine(op, base.hi, x.hi);
  y.bits = std::max(base.bits, x.bits);
  y.sign_of_zero = op == ScatterOp::set && base.sign_of_zero && x.sign_of_zero;
  y.nonnegative = base.nonnegative && x.nonnegative;
  if (!real || certain || op == ScatterOp::set) return y;
  const auto flag = [](const Interval& v) {
    return where(is_indeterminate(v), number(1), number(0));
  };
  const Uop unknown = combine(ScatterOp::max, flag(base), flag(x)) > 0;
  return unless(unknown && negation(isnan(y.lo)), y);
}

}  // namespace

Interval reduce_rule(const Uop& node, const uop::Reduce& r, const Interval& given,
                     const Context& c) {
  const DType dtype = r.x.dtype();
  const bool real = is_real(dtype);
  if (r.op == ReduceOp::sum && real)
    return c.dots.contains(&node.node()) ? dot(given, r.axes, dtype, c) : summed(given, r.axes, c);
  const Interval x = settled(given, dtype, c);
  switch (r.op) {
    case ReduceOp::sum:
      return whole_sum(r, x, node.dtype());
    case ReduceOp::prod:
      return real ? product(x, r.axes, dtype, c) : whole_sum(r, x, node.dtype());
    case ReduceOp::max:
    case ReduceOp::min:
      return extreme(r, x, real);
    case ReduceOp::argmax:
    case ReduceOp::argmin:
      return best(r, x, real);
    default:  // any, all
      return both(x, [&](const Uop& e) { return reduce(r.op, e, r.axes); });
  }
}

Interval scatter_rule(const Uop& node, const std::vector<Interval>& args, const Context& c) {
  const DType dtype = node.dtype();
  const bool real = is_real(dtype);
  const uop::Kind& kind = node.node().kind;
  const auto* s = std::get_if<uop::Scatter>(&kind);
  const auto* along = s ? nullptr : &std::get<uop::SelectScatter>(kind);
  const ScatterOp op = s ? s->op : along->op;
  const Combine combine = [&](ScatterOp with, const Uop& base, const Uop& x) {
    if (along) return select_scatter(with, base, x, along->axis, args[2].lo);
    std::vector<IndexText> to;
    for (const Expr& e : s->to) to.emplace_back(e);
    return scatter(with, base, x, to);
  };
  const auto result = [&]() -> Interval {
    if (real && op == ScatterOp::add)
      return scattered_sum(combine, maybe_stored(args[0], dtype, c),
                           maybe_stored(args[1], dtype, c), c);
    const Interval base = settled(args[0], dtype, c), x = settled(args[1], dtype, c);
    if (real && op == ScatterOp::mul) return scattered_product(combine, base, x, dtype, c);
    return scattered(combine, op, base, x, real);
  };
  const Interval y = result();
  const bool settled_enough = !along || args[2].certain();
  const bool wraps = !real && (op == ScatterOp::add || op == ScatterOp::mul) &&
                     !(args[0].certain() && args[1].certain());
  if (settled_enough && !wraps) return y;
  // An index that is not certain may write anywhere; integers that are not certain may wrap.
  const Interval v = settled(y, dtype, c);
  Uop unknown;
  const auto any = [&](const Interval& i) {
    std::vector<int> all;
    for (int k = 0; k < i.lo.rank(); ++k) all.push_back(k);
    const Uop differs = ne(i.lo, i.hi);
    const Uop one = all.empty() ? differs : reduce(ReduceOp::any, differs, all);
    unknown = unknown ? unknown || one : one;
  };
  if (!settled_enough) any(args[2]);
  if (wraps) any(args[0]), any(args[1]);
  if (real) return unless(unknown, v);
  const IntegerRange range = integer_range(dtype);
  Interval wide = v;
  wide.lo = where(unknown, scalar(Number(range.least), dtype), v.lo);
  wide.hi = where(unknown, scalar(Number(range.greatest), dtype), v.hi);
  return wide;
}

}  // namespace mote::bounds
