// SPDX-License-Identifier: Apache-2.0
// Overlap of strided views. Bytes a and b coincide where the sum of steps·indices of one view
// equals that of the other; with the indices of the second counted from their ends, all steps are
// positive:
//   sum of step[k]·x[k] = target, 0 <= x[k] <= most[k].
// Equal steps are merged, so that views of one parent leave about as many unknowns as it has axes.
#include "mote/runtime/overlap.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "mote/base/dtype.h"

namespace mote {
namespace {

/// Sizes beyond it count as overlapping: sums of two must not overflow.
constexpr std::int64_t kFar = std::int64_t{1} << 61;
constexpr int kSteps = 1 << 20;

std::int64_t modulo(std::int64_t a, std::int64_t m) { return (a % m + m) % m; }

/// Returns x in 0..m-1 with a·x = b modulo m, where a and m have no common factor.
std::int64_t solve_modulo(std::int64_t a, std::int64_t b, std::int64_t m) {
  std::int64_t r0 = m, r1 = modulo(a, m), t0 = 0, t1 = 1;
  while (r1 != 0) {
    const std::int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    t0 = std::exchange(t1, t0 - q * t1);
  }
  return static_cast<std::int64_t>(static_cast<__int128>(modulo(t0, m)) * modulo(b, m) % m);
}

class Equation {
 public:
  void add(std::int64_t step, std::int64_t most) {
    if (step == 0 || most == 0) return;
    for (std::size_t k = 0; k < count_; ++k)
      if (terms_[k].step == step) {
        terms_[k].most += most;
        return;
      }
    terms_[count_++] = {.step = step, .most = most};
  }
  bool has_solution(std::int64_t target) {
    std::sort(terms_.begin(), terms_.begin() + static_cast<std::ptrdiff_t>(count_),
              [](const Term& a, const Term& b) { return a.step > b.step; });
    for (std::size_t k = count_; k-- > 0;) {
      Term& t = terms_[k];
      t.reach = t.step * t.most + (k + 1 < count_ ? terms_[k + 1].reach : 0);
      t.divisor = std::gcd(t.step, k + 1 < count_ ? terms_[k + 1].divisor : 0);
      t.is_full = is_full(k);
    }
    steps_ = 0;
    return solve(0, target);
  }

 private:
  struct Term {
    std::int64_t step = 0;
    std::int64_t most = 0;
    std::int64_t reach = 0;    ///< the greatest sum of this term and the later ones
    std::int64_t divisor = 0;  ///< the greatest common one of their steps
    bool is_full = false;      ///< they reach each multiple of the divisor up to `reach`
  };

  bool is_full(std::size_t first) const {
    std::int64_t reach = 0;
    for (std::size_t k = count_; k-- > first; reach += terms_[k].step * terms_[k].most)
      if (terms_[k].step > reach + terms_[first].divisor) return false;
    return true;
  }
  bool solve(std::size_t k, std::int64_t target) {
    if (target == 0) return true;
    if (k == count_ || target < 0 || target > terms_[k].reach) return false;
    const Term& t = terms_[k];
    if (target % t.divisor != 0) return false;
    if (t.is_full || ++steps_ > kSteps) return true;
    const Term rest = k + 1 < count_ ? terms_[k + 1] : Term{};
    if (rest.step == 0) return target / t.step <= t.most;
    std::int64_t x = std::max<std::int64_t>(0, (target - rest.reach + t.step - 1) / t.step);
    const std::int64_t last = std::min(t.most, target / t.step);
    const std::int64_t common = std::gcd(t.step, rest.divisor);
    const std::int64_t period = rest.divisor / common;
    x += modulo(solve_modulo(t.step / common, target / common, period) - x, period);
    for (; x <= last; x += period)
      if (solve(k + 1, target - t.step * x)) return true;
    return false;
  }

  std::array<Term, 2 * kMaxAxes + 2> terms_{};
  std::size_t count_ = 0;
  int steps_ = 0;
};

}  // namespace

ViewPlaces::ViewPlaces(const TensorForm& form, std::int64_t first_byte)
    : first(first_byte),
      element_bytes(static_cast<std::int64_t>(size_of(form.dtype))),
      shape(form.shape),
      strides(form.strides),
      low(first_byte),
      high(first_byte) {
  bool is_empty = false;
  for (int axis = 0; axis < shape.size(); ++axis) {
    strides[axis] *= element_bytes;
    is_empty = is_empty || shape[axis] == 0;
  }
  if (is_empty) return;
  high += element_bytes;
  for (int axis = 0; axis < shape.size(); ++axis)
    (strides[axis] < 0 ? low : high) += strides[axis] * (shape[axis] - 1);
}

bool ViewPlaces::is_dense() const {
  std::array<int, kMaxAxes> order{};
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.begin() + shape.size(),
            [&](int a, int b) { return std::abs(strides[a]) < std::abs(strides[b]); });
  std::int64_t filled = element_bytes;
  for (int k = 0; k < shape.size(); ++k) {
    const int axis = order[static_cast<std::size_t>(k)];
    const std::int64_t step = std::abs(strides[axis]);
    if (shape[axis] <= 1 || step == 0) continue;
    if (step > filled) return false;
    filled += step * (shape[axis] - 1);
  }
  return high == low || filled == high - low;
}

bool share_bytes(const ViewPlaces& a, const ViewPlaces& b) {
  if (a.low == a.high || b.low == b.high || a.low >= b.high || b.low >= a.high) return false;
  if (a.high - a.low > kFar || b.high - b.low > kFar) return true;
  Equation equation;
  for (const ViewPlaces* view : {&a, &b}) {
    for (int axis = 0; axis < view->shape.size(); ++axis)
      equation.add(std::abs(view->strides[axis]), view->shape[axis] - 1);
    equation.add(1, view->element_bytes - 1);
  }
  return equation.has_solution(b.high - 1 - a.low);
}

}  // namespace mote
