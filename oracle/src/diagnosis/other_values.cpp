// SPDX-License-Identifier: Apache-2.0
// Alternatives with other numbers: values of narrower formats, other limits of a range, a search
// with another start, other results for an empty row.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnosis/collector.h"

namespace mote::diagnosis {
namespace {

bool is_moved(const Uop& u) { return std::holds_alternative<uop::Reindex>(u.node().kind); }

Uop constant(double value, const Uop& like) {
  const Number n = is_real(like.dtype()) ? Number(value) : Number(static_cast<std::int64_t>(value));
  return shaped(scalar(n, like.dtype()), like);
}

void add_narrow_integers(Collector& all, const Uop& u, const Surroundings& around) {
  for (const DType narrow : around.integers) {
    if (narrow == u.dtype()) continue;
    all.add([&] { return cast(cast(u, narrow), u.dtype()); });
    if (is_real(u.dtype()))
      all.add([&] { return cast(cast(cast(u, DType::i64), narrow), u.dtype()); });
  }
}

/// Adds reals rounded to 16 bits or to float, and integers rounded to float.
void add_narrow_reals(Collector& all, const Uop& u) {
  if (is_moved(u)) return;
  const auto add = [&](DType narrow) {
    all.add([&] { return cast(cast(u, narrow), u.dtype()); },
            is_real(u.dtype()) ? "narrow value" : "integers as floats");
  };
  if (is_real(u.dtype())) {
    for (const DType narrow : kShortReals)
      if (size_of(narrow) < size_of(u.dtype())) add(narrow);
    if (size_of(u.dtype()) == 2)  // the reference computes in more bits than its own
      all.add([&] { return cast(cast(u, DType::f32), u.dtype()); }, "narrow value");
    return;
  }
  const auto add_wrapping = [&](DType real) {
    all.add([&] { return cast(cast(cast(u, real), DType::i64), u.dtype()); }, "integers as floats");
  };
  if (size_of(u.dtype()) >= 4) {
    add(DType::f32);
    add_wrapping(DType::f32);
  }
  if (u.dtype() == DType::i64) add(DType::f64);
}

void add_rounded_in_between(Collector& all, const Uop& u) {
  const uop::Map* m = map_of(u);
  if (m == nullptr || !is_real(u.dtype()) || u.dtype() == DType::f64) return;
  const auto rounded = [&](const Uop& x) { return cast(x, u.dtype()); };
  if (m->op == MapOp::log1p) all.add([&] { return log(rounded(m->args[0] + 1)); });
  if (m->op == MapOp::expm1) all.add([&] { return rounded(exp(m->args[0])) - 1; });
}

/// The argument of a unary op; nullopt for other nodes.
std::optional<Uop> argument_of(const std::optional<Uop>& u, MapOp op) {
  const uop::Map* m = u ? map_of(*u) : nullptr;
  if (m == nullptr || m->op != op) return std::nullopt;
  return m->args[0];
}

/// Adds log(1 + exp(x)), which overflows, for max(x, 0) + log1p(exp(-|x|)), which does not.
void add_overflowing_softplus(Collector& all, const Uop& u) {
  const uop::Map* m = map_of(u);
  if (m == nullptr || m->op != MapOp::add) return;
  for (std::size_t k = 0; k < 2; ++k) {
    const auto x = argument_of(m->args[k], MapOp::max);
    const auto minus = argument_of(argument_of(m->args[1 - k], MapOp::log1p), MapOp::exp);
    const auto magnitude_of = argument_of(argument_of(minus, MapOp::neg), MapOp::abs);
    if (x && magnitude_of && x->id() == magnitude_of->id())
      all.add([&] { return log(cast(exp(*x) + 1, u.dtype())); });
  }
}

/// Adds conversions of reals to integers with other limits than the dtype's, some of which then
/// wrap.
void add_other_limits(Collector& all, const Uop& u) {
  const uop::Map* m = map_of(u);
  const bool is_byte = u.dtype() == DType::i8 || u.dtype() == DType::u8;
  if (m == nullptr || m->op != MapOp::cast || !is_byte || !is_real(m->args[0].dtype())) return;
  const Uop& x = m->args[0];
  constexpr std::pair<int, int> kLimits[] = {{-128, 127}, {0, 255},    {-127, 127}, {0, 127},
                                             {0, 254},    {-128, 126}, {1, 255},    {-127, 128},
                                             {0, 256},    {-128, 128}, {-129, 127}, {-255, 255}};
  for (const auto& [low, high] : kLimits)
    all.add(
        [&, low = low, high = high] {
          const Uop limited = max(min(x, static_cast<double>(high)), static_cast<double>(low));
          return cast(cast(limited, DType::i64), u.dtype());
        },
        "saturates", fmt::format("with values kept between {} and {}", low, high));
  for (const double beyond : {0x1p31, 0x1p63})  // processors convert to the least integer there
    all.add(
        [&, beyond] {
          const Uop wrapped = cast(cast(x, DType::i64), u.dtype());
          return where(abs(x) < beyond, wrapped, constant(0, u));
        },
        "integer wraps", fmt::format("with values that wrap in {}", name(u.dtype())));
}

void add_numbers(Collector& all, const Uop& u) {
  const auto number = [&](double value) { all.add([&] { return constant(value, u); }); };
  number(0);
  number(1);
  if (const auto* s = std::get_if<uop::Scalar>(&u.node().kind)) {
    const double value = s->value.as_real();
    constexpr double kGreatest = std::numeric_limits<float>::max();
    if (std::isinf(value)) {  // numbers used in place of an infinity
      for (const double other : {1e9, 1e10, 1e4, 65504.0, kGreatest, kGreatest / 2, 1e30, 1e20})
        number(std::copysign(other, value));
      return;
    }
    for (const double other : {-value, 2 * value, value / 2, value + 1, value - 1}) number(other);
  }
  if (const auto* i = std::get_if<uop::Iota>(&u.node().kind))
    for (const int step : {1, -1}) {
      all.add([&] { return cast(iota(i->value + Expr(step), shape_of(u)), u.dtype()); });
    }
}

/// Adds a search that starts at a number, which may exceed all elements.
void add_starts(Collector& all, const Uop& u, const uop::Reduce& r) {
  if (r.op != ReduceOp::max && r.op != ReduceOp::min) return;
  const bool is_max = r.op == ReduceOp::max;
  const auto add = [&](double start) {
    all.add(
        [&] {
          const Uop from = constant(start, u);
          return is_max ? max(u, from) : min(u, from);
        },
        "another start",
        fmt::format("with the {} begun at {}", is_max ? "maximum" : "minimum", start));
  };
  add(0);
  if (!is_real(u.dtype())) return;
  for (const double start : {static_cast<double>(std::numeric_limits<float>::min()),
                             -static_cast<double>(std::numeric_limits<float>::max()), -1e30, -1e9,
                             -1e10, -1e4, -1000.0, -100.0, -1.0})
    add(is_max ? start : -start);
}

/// Adds other results for a row without terms, or without a greatest element.
void add_empty_rows(Collector& all, const Uop& u) {
  if (!is_real(u.dtype())) return;
  const auto add = [&](const Uop& empty, double gives) {
    all.add([&] { return where(empty, constant(gives, u), u); }, "empty row",
            fmt::format("with {} where a row has nothing to sum", gives));
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (const auto* r = std::get_if<uop::Reduce>(&u.node().kind)) {
    if (r->op == ReduceOp::sum)
      for (const double gives : {1.0, kNan}) add(eq(u, 0.0), gives);
    if (r->op == ReduceOp::max)
      for (const double gives : {0.0, kNan}) add(eq(u, -kInfinity), gives);
  }
  const uop::Map* m = map_of(u);
  if (m != nullptr && m->op == MapOp::div)
    for (const double gives : {0.0, 1.0, kNan}) add(eq(m->args[1], 0.0), gives);
}

}  // namespace

void add_other_values(Collector& all, const Uop& u, const Surroundings& around) {
  add_numbers(all, u);
  if (u.dtype() == DType::boolean || is_constant(u)) return;
  if (u.rank() == 0 && is_real(u.dtype())) all.add([&] { return u * u; });
  add_narrow_integers(all, u, around);
  add_narrow_reals(all, u);
  add_rounded_in_between(all, u);
  add_overflowing_softplus(all, u);
  add_other_limits(all, u);
  add_empty_rows(all, u);
  if (const auto* r = std::get_if<uop::Reduce>(&u.node().kind)) add_starts(all, u, *r);
}

}  // namespace mote::diagnosis
