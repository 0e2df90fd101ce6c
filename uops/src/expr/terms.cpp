// SPDX-License-Identifier: Apache-2.0
// Implements polynomials as sorted lists of terms: checked arithmetic, sums and products, and the
// limits on their size. canonical.cpp makes a list canonical.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "expr/node.h"
#include "mote/base/error.h"

namespace mote {

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    throw Error(fmt::format("index expression: {} + {} does not fit in 64 bits", a, b));
  }
  return result;
}
std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw Error(fmt::format("index expression: {} * {} does not fit in 64 bits", a, b));
  }
  return result;
}

namespace {

void check_size(const Terms& terms) {
  if (terms.size() > kMaxTerms) {
    throw Error(fmt::format("index expression: more than {} terms", kMaxTerms));
  }
}

bool monomial_less(const Term& a, const Term& b) { return compare_monomials(a.atoms, b.atoms) < 0; }

Term multiply_term(const Term& a, const Term& b) {
  Term product{checked_mul(a.coefficient, b.coefficient), {}};
  if (a.atoms.size() + b.atoms.size() > kMaxDegree) {
    throw Error(fmt::format("index expression: a product of more than {} factors", kMaxDegree));
  }
  product.atoms.reserve(a.atoms.size() + b.atoms.size());
  std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
             std::back_inserter(product.atoms));
  return product;
}

// The products keep b's order: the order of monomials is compatible with multiplication.
Terms multiply_by_term(const Term& a, std::span<const Term> b) {
  Terms result;
  result.reserve(b.size());
  for (const Term& term : b) result.push_back(multiply_term(a, term));
  return result;
}

}  // namespace

const Term* find_monomial(const Terms& terms, const std::vector<Atom>& atoms) {
  const auto at = std::lower_bound(
      terms.begin(), terms.end(), atoms,
      [](const Term& t, const std::vector<Atom>& m) { return compare_monomials(t.atoms, m) < 0; });
  return at != terms.end() && at->atoms == atoms ? &*at : nullptr;
}

Terms add_terms(std::span<const Term> a, std::span<const Term> b, std::int64_t factor) {
  Terms result;
  result.reserve(a.size() + b.size());
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    const auto order = x == a.end()   ? std::strong_ordering::greater
                       : y == b.end() ? std::strong_ordering::less
                                      : compare_monomials(x->atoms, y->atoms);
    if (order < 0) {
      result.push_back(*x++);
      continue;
    }
    std::int64_t coefficient = checked_mul(y->coefficient, factor);
    if (order == 0) coefficient = checked_add(x++->coefficient, coefficient);
    if (coefficient != 0) result.push_back(Term{coefficient, y->atoms});
    ++y;
  }
  check_size(result);
  return result;
}

Terms multiply_terms(std::span<const Term> a, std::span<const Term> b) {
  if (a.size() > b.size()) return multiply_terms(b, a);
  Terms result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    Terms row = multiply_by_term(a[i], b);
    result = i == 0 ? std::move(row) : add_terms(result, row);
  }
  return result;
}

void TermGatherer::add(Terms terms) {
  if (terms_.empty()) {
    terms_ = std::move(terms);
    return;
  }
  terms_.insert(terms_.end(), std::make_move_iterator(terms.begin()),
                std::make_move_iterator(terms.end()));
  if (terms_.size() > 4 * kMaxTerms) terms_ = normalise_terms(std::move(terms_));
}

Terms normalise_terms(Terms terms) {
  if (!std::is_sorted(terms.begin(), terms.end(), monomial_less)) {
    std::stable_sort(terms.begin(), terms.end(), monomial_less);
  }
  Terms result;
  result.reserve(terms.size());
  for (Term& term : terms) {
    if (!result.empty() && result.back().atoms == term.atoms) {
      result.back().coefficient = checked_add(result.back().coefficient, term.coefficient);
    } else {
      if (!result.empty() && result.back().coefficient == 0) result.pop_back();
      result.push_back(std::move(term));
    }
  }
  if (!result.empty() && result.back().coefficient == 0) result.pop_back();
  check_size(result);
  return result;
}

}  // namespace mote
