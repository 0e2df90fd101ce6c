// SPDX-License-Identifier: Apache-2.0
// Implements the transfer functions of exactness analysis.
#include "judge/known.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mote/base/error.h"

namespace mote {
namespace {

using Grid = Known::Grid;

constexpr double kUnbounded = 0x1p63;

Known boolean() { return Known::grid(0, 1); }

/// The facts for integers up to `bound`; they wrap, so a limit beyond 2^63 is none.
Known integers(double bound) { return Known::grid(0, std::min(bound, kUnbounded)); }

/// The greatest q such that value is a multiple of 2^q.
int unit_of(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const auto bits = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  return exponent - 53 + __builtin_ctzll(static_cast<unsigned long long>(bits));
}

/// The k with value = ±2^k.
std::optional<int> power_of_two(const std::optional<double>& value) {
  if (!value || *value == 0 || !std::isfinite(*value)) return std::nullopt;
  int exponent = 0;
  return std::abs(std::frexp(*value, &exponent)) == 0.5 ? std::optional(exponent - 1)
                                                        : std::nullopt;
}

std::optional<Known> inexact_argument(std::span<const Known> args) {
  const auto at = std::ranges::find(args, false, &Known::exact);
  return at == args.end() ? std::nullopt : std::optional(*at);
}

/// The facts for x / 2^k, if the divisor is such a power.
Known divide(const Known& x, const Known& by, const std::string& what) {
  const std::optional<int> k = power_of_two(by.value);
  if (k == 0) return x;
  if (!k || !x.lattice) return Known::inexact(what);
  return Known::grid(x.lattice->unit - *k, std::ldexp(x.lattice->bound, -*k));
}

Known arithmetic(MapOp op, const Known& a, const Known& b, const std::string& what) {
  if (!a.lattice || !b.lattice) return Known::inexact(what + " of " + (a.lattice ? b : a).data);
  const Grid& x = *a.lattice;
  const Grid& y = *b.lattice;
  if (op == MapOp::mul) return Known::grid(x.unit + y.unit, x.bound * y.bound);
  if (op == MapOp::mod) return Known::grid(std::min(x.unit, y.unit), y.bound);
  return Known::grid(std::min(x.unit, y.unit), x.bound + y.bound);
}

Known to_whole(const Known& x) {
  if (!x.lattice || x.lattice->unit >= 0) return x;
  return Known::grid(0, std::ceil(x.lattice->bound));
}

Known cast(const Known& x, DType from, DType to) {
  if (to == DType::boolean) return boolean();
  const double bound = x.lattice ? x.lattice->bound : kUnbounded;
  if (is_integer(to) && to != DType::i64)
    return integers(std::min(bound, static_cast<double>(integer_range(to).greatest) + 1));
  if (!is_real(to)) return integers(bound);
  if (!is_real(from) && !x.lattice) return integers(kUnbounded);
  return x;
}

Known integer_map(MapOp op, std::span<const Known> args) {
  const auto bound = [&](std::size_t k) {
    return args[k].lattice ? args[k].lattice->bound : kUnbounded;
  };
  switch (op) {
    case MapOp::add:
    case MapOp::sub:
      return integers(bound(0) + bound(1));
    case MapOp::mul:
      return integers(bound(0) * bound(1));
    case MapOp::div:
    case MapOp::neg:
    case MapOp::abs:
      return integers(bound(0));
    case MapOp::mod:
      return integers(bound(1));
    case MapOp::shift_right: {
      const double by = args[1].value.value_or(0);
      return integers(by >= 0 && by < 64 ? std::ceil(std::ldexp(bound(0), -static_cast<int>(by)))
                                         : bound(0));
    }
    case MapOp::philox:
      return integers(0x1p32);
    default:
      return integers(kUnbounded);
  }
}

Known real_map(MapOp op, std::span<const Known> args, const std::string& what) {
  switch (op) {
    case MapOp::neg:
    case MapOp::abs: {
      Known x = args[0];
      x.value.reset();
      return x;
    }
    case MapOp::sign:
      return Known::grid(0, 1);
    case MapOp::floor:
    case MapOp::ceil:
    case MapOp::round:
    case MapOp::trunc:
      return to_whole(args[0]);
    case MapOp::add:
    case MapOp::sub:
    case MapOp::mul:
    case MapOp::mod:
      return arithmetic(op, args[0], args[1], what);
    case MapOp::div:
      return divide(args[0], args[1], what);
    case MapOp::min:
    case MapOp::max:
      return join(args[0], args[1]);
    default:
      return Known::inexact(what);
  }
}

/// The value of the result if every argument is one number.
std::optional<double> fold(MapOp op, std::span<const Known> args, DType dtype) {
  std::vector<Number> numbers;
  for (const Known& a : args) {
    if (!a.value) return std::nullopt;
    numbers.emplace_back(*a.value);
  }
  const double value = apply(op, numbers, dtype, dtype).real();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

bool Format::holds(double value) const {
  if (!std::isfinite(value)) return true;
  return precision == 53 || static_cast<double>(static_cast<float>(value)) == value;
}

void Format::check(Known& known, const std::string& what) const {
  if (!known.exact || !known.lattice || known.lattice->bound == 0) return;
  const double bits = std::log2(known.lattice->bound) - known.lattice->unit;
  const bool in_range =
      known.lattice->unit > -exponent && known.lattice->bound < std::ldexp(1.0, exponent);
  if (bits <= precision && in_range) return;
  known = Known::inexact(in_range ? fmt::format("{} needs {:.1f} bits, {} has {}", what, bits,
                                                precision == 24 ? "f32" : "f64", precision)
                                  : what + " may over- or underflow");
}

Known Known::copied(std::string data) {
  Known k;
  k.exact = true;
  k.data = std::move(data);
  return k;
}

Known Known::grid(int unit, double bound) {
  Known k = copied();
  k.lattice = Grid{unit, bound};
  return k;
}

Known Known::inexact(std::string reason) {
  Known k;
  k.reason = std::move(reason);
  return k;
}

Known Known::point(double value, DType dtype, const Format& format) {
  if (!std::isfinite(value)) return copied(fmt::format("the constant {}", value));
  if (is_real(dtype) && !format.holds(value)) {
    return inexact(fmt::format("the constant {} is not an f32", value));
  }
  Known k = grid(unit_of(value), std::abs(value));
  k.value = value;
  return k;
}

Known join(const Known& a, const Known& b) {
  if (!a.exact) return a;
  if (!b.exact) return b;
  if (!a.lattice || !b.lattice) return Known::copied((a.lattice ? b : a).data);
  Known k = Known::grid(std::min(a.lattice->unit, b.lattice->unit),
                        std::max(a.lattice->bound, b.lattice->bound));
  if (a.value && b.value && *a.value == *b.value) k.value = a.value;
  return k;
}

Known map_known(MapOp op, std::span<const Known> args, DType from, DType to, const Format& format,
                const std::string& what) {
  if (const auto inexact = inexact_argument(args)) return *inexact;
  if (op == MapOp::where) return join(args[1], args[2]);
  if (op == MapOp::cast) {
    Known x = cast(args[0], from, to);
    const bool rounds = !is_real(from) && is_real(to);
    if (rounds) format.check(x, what);
    if (x.exact && x.lattice && is_real(to)) x.value = args[0].value;
    return x;
  }
  if (to == DType::boolean) return boolean();
  if (!is_real(to)) return integer_map(op, args);
  Known result = real_map(op, args, what);
  if (result.exact) format.check(result, what);
  const std::optional<double> value = result.lattice ? fold(op, args, to) : std::nullopt;
  return value ? Known::point(*value, to, format) : result;
}

Known reduce_known(ReduceOp op, const Known& x, double count, DType dtype,
                   const std::string& what) {
  if (!x.exact) return x;
  if (op == ReduceOp::any || op == ReduceOp::all) return boolean();
  if (op == ReduceOp::argmax || op == ReduceOp::argmin) return integers(count);
  if (op == ReduceOp::max || op == ReduceOp::min)
    return count == 0 ? Known::copied("an infinity") : x;
  const double bound = x.lattice ? x.lattice->bound : kUnbounded;
  if (!is_real(dtype)) {
    return integers(op == ReduceOp::sum ? bound * count : kUnbounded);
  }
  if (count == 0) return Known::grid(0, op == ReduceOp::sum ? 0 : 1);
  if (count == 1) return x;
  if (!x.lattice) return Known::inexact(what + " of " + x.data);
  if (op == ReduceOp::sum) return Known::grid(x.lattice->unit, bound * count);
  const double unit = std::min(x.lattice->unit, 0) * count;
  if (unit < -4096) return Known::inexact(what + " may underflow");
  return Known::grid(static_cast<int>(unit), std::pow(std::max(bound, 1.0), count));
}

Known scatter_known(ScatterOp op, const Known& base, const Known& x, double count, DType dtype,
                    const std::string& what) {
  if (!base.exact) return base;
  if (!x.exact || count == 0) return count == 0 ? base : x;
  if (op != ScatterOp::add && op != ScatterOp::mul) return join(base, x);
  const ReduceOp reduce = op == ScatterOp::add ? ReduceOp::sum : ReduceOp::prod;
  Known all = reduce_known(reduce, join(base, x), count + 1, dtype, what);
  all.value.reset();
  return all;
}

double magnitude(const Expr& e, const std::function<double(Symbol)>& symbol) {
  double sum = 0;
  for (const Term& term : e.terms()) {
    double product = std::abs(static_cast<double>(term.coefficient));
    for (const Atom& atom : term.atoms) {
      std::vector<double> args;
      for (const Expr& arg : atom.args) args.push_back(magnitude(arg, symbol));
      switch (atom.kind) {
        case Atom::Kind::symbol:
          product *= symbol(*atom.symbol);
          break;
        case Atom::Kind::div:  // floor division by 1 or more; for example, -1/2 is -1
          product *= std::max(args[0], 1.0);
          break;
        case Atom::Kind::mod:
          product *= args[1];
          break;
        case Atom::Kind::min:
        case Atom::Kind::max:
          product *= *std::ranges::max_element(args);
          break;
        case Atom::Kind::load:
          return kUnbounded;
      }
    }
    sum += product;
  }
  return sum;
}

}  // namespace mote
