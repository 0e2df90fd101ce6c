// SPDX-License-Identifier: Apache-2.0
// Finds strides S by which the indices of all references split into quotients and remainders. Both
// are known from S·h + q if each q lies in 0 … S - 1, as the digits of a mixed-radix number are.
#include "schedule/unflatten.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

namespace mote {
namespace {

class Unflattening {
 public:
  Unflattening(const std::vector<const TensorReference*>& touched, const Facts& facts,
               const std::function<bool(const Expr&)>& is_fixed)
      : is_fixed_(is_fixed) {
    for (const TensorReference* r : touched) {
      all_.push_back(*r);
      facts_.push_back(facts_at(*r, facts));
    }
  }

  std::vector<TensorReference> run() {
    bool changed = false;
    while (join_an_axis() || split_an_axis()) changed = true;
    return changed ? std::move(all_) : std::vector<TensorReference>();
  }

 private:
  std::size_t rank() const { return all_.front().index.size(); }

  /// Puts what joined() returns in the place of two indices of each reference.
  bool join_an_axis() {
    for (std::size_t high = 0; high < rank(); ++high)
      for (std::size_t low = 0; low < rank(); ++low) {
        std::vector<Expr> numbers;
        for (const TensorReference& r : all_) {
          const auto n = joined(r.index[high], r.index[low]);
          if (!n) break;
          numbers.push_back(*n);
        }
        if (numbers.size() < all_.size() || !are_alike(high, low)) continue;
        for (std::size_t k = 0; k < all_.size(); ++k) {
          std::vector<Expr>& index = all_[k].index;
          index[high] = numbers[k];
          index.erase(index.begin() + static_cast<std::ptrdiff_t>(low));
        }
        return true;
      }
    return false;
  }

  static const Atom* as_mod(const Expr& e) {
    const Atom* atom = e.as_atom();
    return atom != nullptr && atom->kind == Atom::Kind::mod ? atom : nullptr;
  }

  /// Returns n of n / S and n % S, or n % (S·T) of n / S % T and n % S.
  static std::optional<Expr> joined(const Expr& high, const Expr& low) {
    const Atom* mod = as_mod(low);
    if (mod == nullptr) return std::nullopt;
    const Expr &n = mod->args[0], &radix = mod->args[1];
    if (high == n / radix) return n;
    const Atom* digit = as_mod(high);
    if (digit == nullptr || digit->args[0] != n / radix) return std::nullopt;
    return n % (radix * digit->args[1]);
  }

  /// Returns true if all references have the same divisors on these axes.
  bool are_alike(std::size_t high, std::size_t low) const {
    const auto divisor = [](const Expr& e) { return as_mod(e) ? as_mod(e)->args[1] : Expr(0); };
    return std::ranges::all_of(all_, [&](const TensorReference& r) {
      return std::ranges::all_of(std::array{high, low}, [&](std::size_t axis) {
        const Expr d = divisor(r.index[axis]);
        return d == divisor(all_.front().index[axis]) && is_fixed_(d);
      });
    });
  }

  /// Puts the digits of an index in its place and behind all others.
  bool split_an_axis() {
    for (std::size_t axis = 0; axis < rank(); ++axis)
      for (const Expr& stride : strides_of(all_.front().index[axis])) {
        std::vector<Split> digits;
        for (std::size_t k = 0; k < all_.size() && digits.size() == k; ++k)
          if (auto split = digits_of(k, axis, stride)) digits.push_back(*std::move(split));
        if (digits.size() < all_.size()) continue;
        for (std::size_t k = 0; k < all_.size(); ++k) {
          all_[k].index[axis] = digits[k].quotient;
          all_[k].index.push_back(digits[k].remainder);
        }
        return true;
      }
    return false;
  }

  /// Returns the k-th reference's index as S·h + q if 0 <= q < S.
  std::optional<Split> digits_of(std::size_t k, std::size_t axis, const Expr& stride) const {
    const Split split = split_by(all_[k].index[axis], stride);
    // The index of an axis that runs backwards has the size S in it, as S - 1 - q.
    for (const std::int64_t more : {0, 1}) {
      const Expr low = split.remainder + more * stride;
      if (low.has_load()) break;  // the loop may store what it loads, behind the condition on it
      if (facts_[k].prove_nonneg(low) && facts_[k].prove_positive(stride - low))
        return Split{split.quotient - more, low};
    }
    return std::nullopt;
  }

  /// Returns what multiplies the moving parts of the index, the simplest first; empty if there is
  /// one such part alone.
  std::vector<Expr> strides_of(const Expr& index) const {
    std::map<Expr, Expr> factors;  // by moving part
    for (const Term& t : index.terms()) {
      Expr fixed = t.coefficient, moving = 1;
      for (const Atom& a : t.atoms) {
        const Expr one = Expr::from_atom(a);
        Expr& part = is_fixed_(one) ? fixed : moving;
        part = part * one;
      }
      if (moving != Expr(1)) factors[moving] = factors[moving] + fixed;
    }
    std::vector<Expr> strides;
    if (factors.size() < 2) return strides;
    for (const auto& [moving, factor] : factors) {
      const Expr stride = factor.terms().front().coefficient < 0 ? -factor : factor;
      if (stride != Expr(1) && std::ranges::find(strides, stride) == strides.end())
        strides.push_back(stride);
    }
    std::ranges::sort(strides, {}, size_of);
    return strides;
  }

  static std::tuple<std::size_t, std::size_t, std::int64_t> size_of(const Expr& stride) {
    std::size_t atoms = 0;
    for (const Term& t : stride.terms()) atoms += t.atoms.size();
    return {atoms, stride.terms().size(), stride.terms().front().coefficient};
  }

  const std::function<bool(const Expr&)>& is_fixed_;
  std::vector<TensorReference> all_;
  std::vector<Facts> facts_;  ///< those at each of the references
};

}  // namespace

std::vector<TensorReference> unflattened(const std::vector<const TensorReference*>& touched,
                                         const Facts& facts,
                                         const std::function<bool(const Expr&)>& is_fixed) {
  return Unflattening(touched, facts, is_fixed).run();
}

}  // namespace mote
