// SPDX-License-Identifier: Apache-2.0
// Computes derivatives of scalar functions as they stand in tables of calculus.
#include "dual_scalar.h"

#include <stdexcept>

#include "mote/uops/compare.h"

// libquadmath comes with gcc; its header is not where clang looks.
extern "C" {
__float128 expq(__float128);
__float128 expm1q(__float128);
__float128 logq(__float128);
__float128 log1pq(__float128);
__float128 sinq(__float128);
__float128 cosq(__float128);
__float128 tanq(__float128);
__float128 asinq(__float128);
__float128 acosq(__float128);
__float128 atanq(__float128);
__float128 sinhq(__float128);
__float128 coshq(__float128);
__float128 tanhq(__float128);
__float128 erfq(__float128);
__float128 sqrtq(__float128);
__float128 floorq(__float128);
__float128 ceilq(__float128);
__float128 rintq(__float128);
__float128 truncq(__float128);
__float128 fmodq(__float128, __float128);
__float128 powq(__float128, __float128);
}

namespace mote::test {
namespace {

Quad sign_of(Quad x) { return x > 0 ? Quad(1) : x < 0 ? Quad(-1) : x; }

struct Slope {
  Quad value;
  Quad derivative;
};

Slope unary(MapOp op, Quad x) {
  switch (op) {
    case MapOp::neg:
      return {-x, -1};
    case MapOp::abs:
      return {absolute(x), sign_of(x)};
    case MapOp::sign:
      return {sign_of(x), 0};
    case MapOp::recip:
      return {1 / x, -1 / (x * x)};
    case MapOp::sqrt:
      return {sqrtq(x), 1 / (2 * sqrtq(x))};
    case MapOp::rsqrt:
      return {1 / sqrtq(x), -1 / (2 * x * sqrtq(x))};
    case MapOp::exp:
    case MapOp::expm1:
      return {op == MapOp::exp ? expq(x) : expm1q(x), expq(x)};
    case MapOp::log:
      return {logq(x), 1 / x};
    case MapOp::log1p:
      return {log1pq(x), 1 / (1 + x)};
    case MapOp::sin:
      return {sinq(x), cosq(x)};
    case MapOp::cos:
      return {cosq(x), -sinq(x)};
    case MapOp::tan:
      return {tanq(x), 1 / (cosq(x) * cosq(x))};
    case MapOp::asin:
      return {asinq(x), 1 / sqrtq(1 - x * x)};
    case MapOp::acos:
      return {acosq(x), -1 / sqrtq(1 - x * x)};
    case MapOp::atan:
      return {atanq(x), 1 / (1 + x * x)};
    case MapOp::sinh:
      return {sinhq(x), coshq(x)};
    case MapOp::cosh:
      return {coshq(x), sinhq(x)};
    case MapOp::tanh:
      return {tanhq(x), 1 / (coshq(x) * coshq(x))};
    case MapOp::erf:
      return {erfq(x), 2 / sqrtq(acosq(-1)) * expq(-x * x)};
    case MapOp::floor:
      return {floorq(x), 0};
    case MapOp::ceil:
      return {ceilq(x), 0};
    case MapOp::round:
      return {rintq(x), 0};
    case MapOp::trunc:
      return {truncq(x), 0};
    case MapOp::next_up:
    case MapOp::next_down:
      return {x, 1};
    case MapOp::lowest_bit:
      return {x, 0};
    default:
      throw std::logic_error("dual numbers: an unknown op of one argument");
  }
}

Dual power(const Dual& a, const Dual& b) {
  Dual y{powq(a.value, b.value), 0};
  if (a.tangent != 0 && b.value != 0) y.tangent += a.tangent * b.value * powq(a.value, b.value - 1);
  if (b.tangent != 0 && !(a.value == 0 && b.value >= 0))
    y.tangent += b.tangent * logq(a.value) * y.value;
  return y;
}

Dual floor_mod(const Dual& a, const Dual& b) {
  Quad r = fmodq(a.value, b.value);
  if (r != 0 && (r < 0) != (b.value < 0)) r += b.value;
  const Quad n = rintq((a.value - r) / b.value);
  return {r, a.tangent - n * b.tangent};
}

Dual extremum(const Dual& a, const Dual& b, bool a_wins) {
  if (is_nan(a.value) || is_nan(b.value)) return {a.value + b.value, 0};
  if (a.value == b.value) return {a.value, (a.tangent + b.tangent) / 2};
  return a_wins ? a : b;
}

}  // namespace

bool is_nan(Quad x) { return x != x; }
Quad quad_trunc(Quad x) { return truncq(x); }

bool compare_dual(MapOp op, std::span<const Dual> x) {
  const Quad a = x[0].value;
  if (is_comparison(op)) return compare(op, a, x.back().value);
  switch (op) {
    case MapOp::isnan:
      return is_nan(a);
    case MapOp::isinf:
      return !is_nan(a) && is_nan(a - a);
    default:
      throw std::logic_error("dual numbers: an unknown comparison");
  }
}

Dual apply_dual(MapOp op, std::span<const Dual> x) {
  const Dual &a = x[0], &b = x.back();
  switch (op) {
    case MapOp::add:
      return {a.value + b.value, a.tangent + b.tangent};
    case MapOp::sub:
      return {a.value - b.value, a.tangent - b.tangent};
    case MapOp::mul:
      return {a.value * b.value, a.tangent * b.value + a.value * b.tangent};
    case MapOp::div:
      return {a.value / b.value, (a.tangent * b.value - a.value * b.tangent) / (b.value * b.value)};
    case MapOp::pow:
      return power(a, b);
    case MapOp::mod:
      return floor_mod(a, b);
    case MapOp::min:
      return extremum(a, b, a.value < b.value);
    case MapOp::max:
      return extremum(a, b, a.value > b.value);
    default: {
      const Slope s = unary(op, a.value);
      return {s.value, s.derivative * a.tangent};
    }
  }
}

}  // namespace mote::test
