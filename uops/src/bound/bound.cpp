// SPDX-License-Identifier: Apache-2.0
// Computes bound(): walks each output's graph once, operands first, and gives every node the
// interval that the rules state.
#include "mote/uops/bound.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "bound/terms.h"
#include "bound/value.h"
#include "graph/node.h"
#include "mote/base/error.h"

namespace mote {
namespace {

using bounds::Context;
using bounds::Interval;

int significant_bits(double v) {
  if (v == 0 || !std::isfinite(v)) return 1;
  int exponent = 0;
  const auto digits =
      static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(v), &exponent), 53));
  return 53 - std::countr_zero(digits);
}

std::vector<IndexText> texts(const std::vector<Expr>& from) { return {from.begin(), from.end()}; }

class IntervalWalk {
 public:
  IntervalWalk(const std::vector<Output>& outputs, const Contract& contract, bool rigid)
      : context_{contract, rigid} {
    for (const Output& o : outputs) products_.mark(o.value, context_);
  }

  Interval of(const Uop& output) {
    for (const Uop& u : topological(std::vector<Uop>{output})) {
      if (!done_.contains(u.id())) done_.emplace(u.id(), interval(u));
    }
    Interval x = bounds::settled(done_.at(output.id()), output.dtype(), context_);
    if (context_.rigid || !is_real(output.dtype()) || x.certain()) return x;
    // Below the least normal number relative perturbations mean nothing.
    const double least = bounds::format_of(output.dtype(), context_.contract).normal;
    x.lo = x.lo - least;
    x.hi = x.hi + least;
    return x;
  }

 private:
  Interval interval(const Uop& u) {
    return std::visit([&](const auto& kind) { return this->visit(u, kind); }, u.node().kind);
  }
  const Interval& at(const Uop& u) const { return done_.at(u.id()); }
  std::vector<Interval> arguments(const Uop& u) const {
    std::vector<Interval> args;
    for (const Uop& x : operands(u)) args.push_back(at(x));
    return args;
  }

  /// Makes x a certain value, slightly more or less.
  static void set_around(Interval& x, Uop centre, double slack) {
    const Uop less = centre * (1 - slack), more = centre * (1 + slack);
    x.lo = min(less, more);
    x.hi = max(less, more);
    x.spread = {std::move(centre), slack, x.lo, x.hi};
  }

  /// Returns the values that rounding to the format may have turned into x; infinities stay.
  static Interval before_rounding(const Interval& x, const RealFormat& f) {
    const double unit = std::ldexp(1.0, -f.precision), half = std::ldexp(0.5, f.least_exponent);
    return bounds::between(min(x.lo * (1 - unit), x.lo * (1 + unit)) - half,
                           max(x.hi * (1 - unit), x.hi * (1 + unit)) + half, false);
  }

  Interval visit(const Uop& u, const uop::Input& i) const {
    if (!is_real(u.dtype())) return bounds::exactly(u);
    Interval x = bounds::exactly(u.dtype() == DType::f64 ? u : cast(u, DType::f64));
    const bounds::Format f = bounds::format_of(u.dtype(), context_.contract);
    x.bits = real_format(u.dtype()).precision;
    x.sign_of_zero = true;
    if (!context_.rigid) {
      constexpr double kUnits = 2;
      set_around(x, x.lo, kUnits * f.unit);
      x.sign_of_zero = false;
    }
    const RealFormat own = real_format(u.dtype());
    if (own.precision < f.precision && context_.contract.rounded_inputs.contains(i.name))
      x = before_rounding(x, own);
    if (context_.contract.flushes_denormals) {
      x.lo = where(abs(x.lo) < f.normal, min(x.lo, 0), x.lo);
      x.hi = where(abs(x.hi) < f.normal, max(x.hi, 0), x.hi);
      x.sign_of_zero = false;
    }
    return x;
  }

  Interval visit(const Uop& u, const uop::Scalar& s) const {
    if (!is_real(u.dtype())) return bounds::exactly(u);
    return constant(s.value.real(), u.dtype());
  }
  /// Returns the interval of a literal: as it is, or rounded to the format first.
  Interval constant(double v, DType dtype) const {
    const bounds::Format f = bounds::format_of(dtype, context_.contract);
    const double stored = store_as(v, f.dtype).real();
    Interval x = bounds::exactly(bounds::number(v));
    x.nonnegative = v >= 0 && !std::signbit(v);
    x.whole = stored == v && v == std::floor(v);
    x.sign_of_zero = true;
    x.bits = significant_bits(v);
    if (stored == v || std::isnan(v)) return x;
    x.lo = bounds::number(std::min(v, stored));
    x.hi = bounds::number(std::max(v, stored));
    return x;
  }

  Interval visit(const Uop& u, const uop::Param& p) const {
    if (!is_real(u.dtype())) return bounds::exactly(u);
    const bounds::Format f = bounds::format_of(u.dtype(), context_.contract);
    const Uop value = param(p.name, DType::f64);
    Interval x = bounds::exactly(value);
    x.sign_of_zero = true;
    if (f.dtype == DType::f64) return x;
    const Uop stored = cast(cast(value, f.dtype), DType::f64);
    x.lo = min(value, stored);
    x.hi = max(value, stored);
    x.point_bits = f.precision;
    return x;
  }

  /// Returns the interval of a position, as an integer or as the real that it is cast to.
  Interval visit(const Uop& u, const uop::Iota& i) const {
    if (!is_real(u.dtype())) return bounds::exactly(u);
    const Uop position = iota(i.value, shape_of(u));
    return bounds::to_real(position, bounds::exactly(position), u.dtype(), context_);
  }

  Interval visit(const Uop& u, const uop::Reindex& r) const {
    const auto moved = [&](const Uop& x, const Number& fill) {
      return reindex(x, shape_of(u), texts(r.from), fill);
    };
    const Interval& x = at(r.x);
    Interval y = x;
    const bool real = is_real(u.dtype());
    const Interval fill = real ? constant(r.fill.real(), u.dtype()) : Interval();
    const auto end = [&](const Uop& e) {
      return real ? std::get<uop::Scalar>(e.node().kind).value : r.fill;
    };
    const bool same = x.lo.id() == x.hi.id() && (!real || fill.certain());
    y.lo = moved(x.lo, end(fill.lo));
    y.hi = same ? y.lo : moved(x.hi, end(fill.hi));
    if (!real) return y;
    // The one centre is moved, instead of the two ends.
    if (const bounds::Spread* s = x.around(); s && r.fill.real() == 0)
      set_around(y, moved(s->centre, 0.0), s->slack);
    y.whole = x.whole && fill.whole;
    y.nonnegative = x.nonnegative && fill.nonnegative;
    y.bits = std::max(x.bits, fill.bits);
    y.point_bits = std::max(x.digits(), fill.digits());
    if (x.sum) y.sum = bounds::moved_terms(u, r, *x.sum, context_);
    return y;
  }

  Interval visit(const Uop& u, const uop::Map& m) const {
    const std::vector<Interval> args = arguments(u);
    Interval x = bounds::map_rule(u, args, context_);
    if (u.dtype() == DType::f64 && context_.inner.contains(u.id()))
      x = not_overflowed(m.op, args, std::move(x));
    const bool opens =
        context_.contract.open_infinities && is_real(u.dtype()) &&
        (m.op == MapOp::add || m.op == MapOp::sub || m.op == MapOp::mul || m.op == MapOp::div);
    return opens ? open_at_infinities(m.op, args, std::move(x)) : x;
  }
  /// Returns true if the value is an infinity in every implementation.
  static Uop is_infinite(const Interval& x) { return eq(x.lo, x.hi) && bounds::isinf(x.lo); }

  /// Opens the interval of an operation on f64 numbers that overflows: in another order, or fused
  /// with a later operation, it gives a number beyond the greatest, which the ends represent as far
  /// as doubles can. Ends of a narrower format are doubles, which do not overflow.
  static Interval not_overflowed(MapOp op, const std::vector<Interval>& args, Interval x) {
    if (op != MapOp::add && op != MapOp::sub && op != MapOp::mul && op != MapOp::div) return x;
    if (x.sum) return x;
    constexpr double kGreatest = std::numeric_limits<double>::max();
    Uop given = is_infinite(args[0]) || is_infinite(args[1]);
    if (op == MapOp::div) given = given || (args[1].lo <= 0 && args[1].hi >= 0);
    const Uop overflows = is_infinite(x) && bounds::negation(given);
    x.lo = where(overflows && x.lo > 0, kGreatest, x.lo);
    x.hi = where(overflows && x.hi < 0, -kGreatest, x.hi);
    return x;
  }
  static Interval open_at_infinities(MapOp op, const std::vector<Interval>& args, Interval x) {
    const Interval &a = args[0], &b = args[1];
    Uop open = is_infinite(a) || is_infinite(b);
    if (op == MapOp::div) open = open || (eq(b.lo, 0) && eq(b.hi, 0));
    const Uop nan = bounds::isnan(a.lo) || bounds::isnan(b.lo);
    return bounds::unless(open && bounds::negation(nan), std::move(x));
  }
  Interval visit(const Uop& u, const uop::Reduce& r) {
    Interval x = bounds::maybe_stored(at(r.x), r.x.dtype(), context_);
    if (!products_.has_several(r.x)) return bounds::reduce_rule(u, r, x, context_);
    const auto interval_of = [this](const Uop& of) -> const Interval& { return at(of); };
    x.sum = products_.terms_of(r.x, interval_of, context_);
    return bounds::reduce_rule(u, r, x, context_);
  }
  Interval visit(const Uop& u, const uop::Scatter&) const {
    return bounds::scatter_rule(u, arguments(u), context_);
  }
  Interval visit(const Uop& u, const uop::SelectScatter&) const {
    return bounds::scatter_rule(u, arguments(u), context_);
  }
  Interval visit(const Uop&, const uop::StopGradient& s) const { return at(s.x); }

  /// Returns the interval of a Select. An index that is not certain reads any element.
  Interval visit(const Uop& u, const uop::Select& s) const {
    const Interval x = bounds::settled(at(s.x), s.x.dtype(), context_);
    const Interval& index = at(s.index);
    const bool real = is_real(u.dtype());
    const Interval fill = real ? constant(s.fill.real(), u.dtype()) : Interval();
    const auto end = [&](const Uop& e) {
      return real ? std::get<uop::Scalar>(e.node().kind).value : s.fill;
    };
    const bool same = x.certain() && (!real || fill.certain());
    Interval y = x;
    y.lo = select(x.lo, s.axis, index.lo, end(fill.lo));
    y.hi = same ? y.lo : select(x.hi, s.axis, index.lo, end(fill.hi));
    y.nonnegative = real && x.nonnegative && fill.nonnegative;
    y.whole = real && x.whole && fill.whole;
    y.bits = std::max(x.bits, fill.bits);
    y.point_bits = std::max(x.digits(), fill.digits());
    if (index.certain()) return y;
    const Uop unknown = ne(index.lo, index.hi);
    if (real) return bounds::unless(unknown, y);
    const IntegerRange range = integer_range(u.dtype());
    y.lo = where(unknown, scalar(Number(range.least), u.dtype()), y.lo);
    y.hi = where(unknown, scalar(Number(range.greatest), u.dtype()), y.hi);
    return y;
  }

  Context context_;
  std::unordered_map<const UopNode*, Interval> done_;
  bounds::SummedProducts products_;
};

/// Returns the interval as stored. Integers are 64-bit until they are stored: if storing would wrap
/// the ends, nothing is known.
Interval stored(const Interval& x, DType dtype) {
  if (x.certain() || !is_integer(dtype) || dtype == DType::i64) return x;
  const IntegerRange range = integer_range(dtype);
  const Uop lo = cast(x.lo, DType::i64), hi = cast(x.hi, DType::i64);
  const Uop known = eq(lo, hi) || (lo >= range.least && hi <= range.greatest);
  Interval y;
  y.lo = where(known, x.lo, scalar(Number(range.least), dtype));
  y.hi = where(known, x.hi, scalar(Number(range.greatest), dtype));
  return y;
}

std::vector<ParamDecl> with_accuracies(const Program& p, const Contract& contract) {
  std::vector<ParamDecl> params = p.params;
  std::set<MapOp> functions;
  const std::vector<Uop> roots = mote::roots(p);
  for (const Uop& u : topological(roots)) {
    const auto* m = std::get_if<uop::Map>(&u.node().kind);
    if (m && bounds::has_accuracy(m->op)) functions.insert(m->op);
  }
  for (const MapOp op : functions) {
    ParamDecl decl;
    decl.name = bounds::ulp_param(op);
    decl.is_integer = false;
    decl.default_value = bounds::accuracy_of(op, contract).ulp;
    decl.meaning = fmt::format("greatest error of {} in ulps", name(op));
    params.push_back(decl);
  }
  return params;
}

}  // namespace

Program bound(const Program& program, const Contract& contract) {
  ProgramSpec spec;
  spec.name = program.name + ".bound";
  spec.inputs = program.inputs;
  spec.sizes = program.sizes;
  spec.constraints = program.constraints;
  spec.params = with_accuracies(program, contract);
  IntervalWalk rigid(program.outputs, contract, true), perturbed(program.outputs, contract, false);
  std::vector<Uop> ends;
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const Output& o = program.outputs[k];
    const Interval x = (is_rigid(program, k) ? rigid : perturbed).of(o.value);
    const Interval y = stored(x, o.value.dtype());
    ends.insert(ends.end(), {y.lo, y.hi});
  }
  ends = bounds::without_literals(ends);
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    spec.outputs.push_back({program.outputs[k].name + "_lo", ends[2 * k]});
    spec.outputs.push_back({program.outputs[k].name + "_hi", ends[2 * k + 1]});
  }
  return make_program(std::move(spec));
}

}  // namespace mote
