// SPDX-License-Identifier: Apache-2.0
#include "ground_truth.h"

#include <bit>
#include <cmath>
#include <limits>

#include "mote/base/error.h"

namespace mote::test {
namespace {

using Real = mpfr::mpreal;
constexpr int kBits = 320;
constexpr mpfr_rnd_t kNearest = MPFR_RNDN;

Real real_of(double v) { return Real(v, kBits); }

/// Returns a double that rounds to any narrower format exactly as x does: it is truncated, and its
/// last bit is 1 if the truncation is inexact.
double to_odd(const Real& x) {
  const double cut = mpfr_get_d(x.mpfr_srcptr(), MPFR_RNDZ);
  if (!std::isfinite(cut) || mpfr_cmp_d(x.mpfr_srcptr(), cut) == 0) return cut;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(cut) | 1U);
}

Real rounded_to(const Real& x, DType dtype) {
  if (mpfr_nan_p(x.mpfr_srcptr()) != 0) return x;
  if (dtype == DType::f64) return real_of(mpfr_get_d(x.mpfr_srcptr(), kNearest));
  return real_of(store_as(to_odd(x), dtype).real());
}

using One = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);
using Two = int (*)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

Real of(One f, const Real& x) {
  Real y(0, kBits);
  f(y.mpfr_ptr(), x.mpfr_srcptr(), kNearest);
  return y;
}
Real of(Two f, const Real& a, const Real& b) {
  Real y(0, kBits);
  f(y.mpfr_ptr(), a.mpfr_srcptr(), b.mpfr_srcptr(), kNearest);
  return y;
}
bool is_nan(const Real& x) { return mpfr_nan_p(x.mpfr_srcptr()) != 0; }
Real nan() { return real_of(std::numeric_limits<double>::quiet_NaN()); }

/// Round to whole numbers; functions, since MPFR's macros do not fit `One`.
int floor_of(mpfr_t y, const mpfr_t x, mpfr_rnd_t) { return mpfr_floor(y, x); }
int ceil_of(mpfr_t y, const mpfr_t x, mpfr_rnd_t) { return mpfr_ceil(y, x); }
int round_of(mpfr_t y, const mpfr_t x, mpfr_rnd_t) { return mpfr_roundeven(y, x); }
int trunc_of(mpfr_t y, const mpfr_t x, mpfr_rnd_t) { return mpfr_trunc(y, x); }
int abs_of(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { return mpfr_abs(y, x, r); }

Real unary(MapOp op, const Real& x) {
  switch (op) {
    case MapOp::neg:
      return of(mpfr_neg, x);
    case MapOp::abs:
      return of(abs_of, x);
    case MapOp::sign:
      return is_nan(x) || x == 0 ? x : real_of(x > 0 ? 1 : -1);
    case MapOp::recip:
      return of(mpfr_div, real_of(1), x);
    case MapOp::sqrt:
      return of(mpfr_sqrt, x);
    case MapOp::rsqrt:  // like 1/sqrt: -inf for -0
      return of(mpfr_div, real_of(1), of(mpfr_sqrt, x));
    case MapOp::exp:
      return of(mpfr_exp, x);
    case MapOp::expm1:
      return of(mpfr_expm1, x);
    case MapOp::log:
      return of(mpfr_log, x);
    case MapOp::log1p:
      return of(mpfr_log1p, x);
    case MapOp::sin:
      return of(mpfr_sin, x);
    case MapOp::cos:
      return of(mpfr_cos, x);
    case MapOp::tan:
      return of(mpfr_tan, x);
    case MapOp::asin:
      return of(mpfr_asin, x);
    case MapOp::acos:
      return of(mpfr_acos, x);
    case MapOp::atan:
      return of(mpfr_atan, x);
    case MapOp::sinh:
      return of(mpfr_sinh, x);
    case MapOp::cosh:
      return of(mpfr_cosh, x);
    case MapOp::tanh:
      return of(mpfr_tanh, x);
    case MapOp::erf:
      return of(mpfr_erf, x);
    case MapOp::floor:
      return of(floor_of, x);
    case MapOp::ceil:
      return of(ceil_of, x);
    case MapOp::round:
      return of(round_of, x);
    case MapOp::trunc:
      return of(trunc_of, x);
    default:
      throw InternalError("ground truth: no such function of one real: " + std::string(name(op)));
  }
}

/// Computes the remainder with the sign of the divisor; it is exact, since MPFR's remainder is.
Real floor_mod(const Real& a, const Real& b) {
  const Real r = of(mpfr_fmod, a, b);
  if (is_nan(r) || r == 0) return r;
  return (r < 0) != (b < 0) ? of(mpfr_add, r, b) : r;
}

Real binary(MapOp op, const Real& a, const Real& b) {
  switch (op) {
    case MapOp::add:
      return of(mpfr_add, a, b);
    case MapOp::sub:
      return of(mpfr_sub, a, b);
    case MapOp::mul:
      return of(mpfr_mul, a, b);
    case MapOp::div:
      return of(mpfr_div, a, b);
    case MapOp::pow:
      return of(mpfr_pow, a, b);
    case MapOp::mod:
      return floor_mod(a, b);
    case MapOp::min:
      return is_nan(a) || is_nan(b) ? nan() : of(mpfr_min, a, b);
    case MapOp::max:
      return is_nan(a) || is_nan(b) ? nan() : of(mpfr_max, a, b);
    default:
      throw InternalError("ground truth: no such function of two reals: " + std::string(name(op)));
  }
}

std::int64_t compared(MapOp op, const Real& a, const Real& b) {
  switch (op) {
    case MapOp::lt:
      return a < b ? 1 : 0;
    case MapOp::le:
      return a <= b ? 1 : 0;
    case MapOp::gt:
      return a > b ? 1 : 0;
    case MapOp::ge:
      return a >= b ? 1 : 0;
    case MapOp::eq:
      return a == b ? 1 : 0;
    default:
      return a == b ? 0 : 1;
  }
}

/// The rules of real arithmetic (walk.h).
class Exact {
 public:
  Exact(const std::vector<Array>& inputs, const Binding& binding)
      : inputs_(inputs), binding_(binding) {}

  Truth input(std::size_t position, std::size_t element) const {
    return truth(inputs_[position].values[element]);
  }
  static Truth constant(const Number& v, DType) { return truth(v); }
  Truth parameter(const std::string& name, DType dtype) const {
    return truth(store_as(binding_.params.at(name), is_real(dtype) ? DType::f64 : DType::i64));
  }
  static Truth position(std::int64_t v, DType dtype) {
    return is_real(dtype) ? Truth(Real(static_cast<long>(v), kBits)) : Truth(v);
  }
  static std::int64_t index(const Truth& v) { return std::get<std::int64_t>(v); }

  static Truth element(const Uop& u, const uop::Map& k, const std::vector<Truth>& args) {
    const DType from = k.args.back().dtype();
    if (k.op == MapOp::where) return index(args[0]) != 0 ? args[1] : args[2];
    if (!is_real(from)) {
      if (k.op == MapOp::cast && is_real(u.dtype())) return position(index(args[0]), u.dtype());
      return truth(apply(k.op, numbers(args), from, u.dtype()));
    }
    const auto& x = std::get<Real>(args.front());
    if (k.op == MapOp::cast) return cast_to(x, u.dtype());
    if (k.op >= MapOp::lt && k.op <= MapOp::ne)
      return compared(k.op, x, std::get<Real>(args.back()));
    if (k.op == MapOp::isnan) return std::int64_t{is_nan(x) ? 1 : 0};
    if (k.op == MapOp::isinf) return std::int64_t{mpfr_inf_p(x.mpfr_srcptr()) != 0 ? 1 : 0};
    if (args.size() == 1) return unary(k.op, x);
    return binary(k.op, x, std::get<Real>(args.back()));
  }

  static Truth reduced(const Uop& u, const uop::Reduce& k, const std::vector<Truth>& terms) {
    if (k.op == ReduceOp::argmax || k.op == ReduceOp::argmin) return best(k, terms);
    const MapOp step = step_of(k.op);
    Truth y = truth(neutral(k.op, k.x.dtype()));
    for (const Truth& t : terms) y = joined(step, y, t, u.dtype());
    return y;
  }

  static Truth arrived(const Uop& u, ScatterOp op, const std::vector<Truth>& list) {
    if (op == ScatterOp::set) return list.back();
    const MapOp step = op == ScatterOp::add   ? MapOp::add
                       : op == ScatterOp::mul ? MapOp::mul
                       : op == ScatterOp::max ? MapOp::max
                                              : MapOp::min;
    Truth y = list.front();
    for (std::size_t n = 1; n < list.size(); ++n) y = joined(step, y, list[n], u.dtype());
    return y;
  }

 private:
  static Truth truth(const Number& n) {
    return n.is_real() ? Truth(real_of(n.real())) : Truth(n.integer());
  }
  static std::vector<Number> numbers(const std::vector<Truth>& values) {
    std::vector<Number> all;
    for (const Truth& v : values) all.emplace_back(index(v));
    return all;
  }
  static Truth joined(MapOp op, const Truth& a, const Truth& b, DType dtype) {
    if (is_real(dtype)) return binary(op, std::get<Real>(a), std::get<Real>(b));
    return truth(apply(op, std::vector<Number>{index(a), index(b)}, dtype, dtype));
  }
  static Truth cast_to(const Real& x, DType to) {
    if (is_real(to)) return rounded_to(x, to);
    if (to == DType::boolean) return std::int64_t{is_nan(x) || x != 0 ? 1 : 0};
    // Truncating a double whose last bit marks an inexact conversion equals truncating x.
    return truth(apply(MapOp::cast, std::vector<Number>{to_odd(x)}, DType::f64, to));
  }
  static Truth best(const uop::Reduce& k, const std::vector<Truth>& terms) {
    std::size_t at = 0;
    for (std::size_t n = 1; n < terms.size(); ++n) {
      if (!is_real(k.x.dtype())) {
        const std::int64_t a = index(terms[at]), b = index(terms[n]);
        if (k.op == ReduceOp::argmax ? b > a : b < a) at = n;
        continue;
      }
      const Real &a = std::get<Real>(terms[at]), &b = std::get<Real>(terms[n]);
      if (is_nan(a)) break;
      if (is_nan(b) || (k.op == ReduceOp::argmax ? b > a : b < a)) at = n;
    }
    return static_cast<std::int64_t>(at);
  }

  const std::vector<Array>& inputs_;
  const Binding& binding_;
};

}  // namespace

std::vector<Values<Truth>> ground_truth(const Program& program, const std::vector<Array>& inputs,
                                        const std::map<std::string, Number>& params) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Array& a : inputs) shapes.push_back(a.shape);
  const Binding binding = mote::bind(program, shapes, params);
  Exact rules(inputs, binding);
  return Walk<Truth, Exact>(program, binding, shapes, rules).run();
}

}  // namespace mote::test
