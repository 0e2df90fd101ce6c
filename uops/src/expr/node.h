// SPDX-License-Identifier: Apache-2.0
// Defines the inside of Expr, for the files of this folder: the node, polynomials as sorted term
// lists, and checked arithmetic. Term lists here are sorted and free of zero coefficients ("raw");
// only ExprBuilder::sum turns one into a canonical Expr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mote/base/integer_arithmetic.h"
#include "mote/uops/expr.h"

namespace mote {

inline constexpr std::size_t kMaxTerms = 4096;    ///< maximum number of terms of a polynomial
inline constexpr std::size_t kMaxDegree = 64;     ///< maximum number of atoms of a term
inline constexpr std::size_t kMaxWeight = 65536;  ///< maximum number of atoms, counted as a tree
inline constexpr std::uint32_t kMaxOperandNesting = 256;  ///< maximum depth of operands in operands

using Terms = std::vector<Term>;

struct Expr::Node {
  Terms terms;
  std::size_t hash = 0;
  std::uint64_t symbol_mask = 0;  ///< bit id % 64 of each symbol mentioned
  std::size_t weight = 0;
  std::uint32_t depth = 0;
  bool has_load = false;
  bool has_div = false;  ///< a div atom in a term itself, not deeper
  bool has_mod = false;
  mutable std::once_flag symbols_once;
  mutable std::set<Symbol> symbols;
};

struct ExprBuilder {
  /// Returns the canonical expression of a raw term list.
  static Expr sum(Terms terms);
  /// Wraps terms that are canonical already (any subset of a canonical expression's terms is).
  static Expr wrap(Terms terms);
  static const Expr::Node* node(const Expr& e) { return e.node_.get(); }
};

inline std::uint64_t symbol_bit(Symbol s) { return std::uint64_t{1} << (s.id() % 64); }

/// Orders monomials by degree, higher first, then by atoms.
std::strong_ordering compare_monomials(const std::vector<Atom>& a, const std::vector<Atom>& b);

/// Returns the term with these atoms; nullptr if there is none.
const Term* find_monomial(const Terms& terms, const std::vector<Atom>& atoms);

std::int64_t checked_add(std::int64_t a, std::int64_t b);
std::int64_t checked_mul(std::int64_t a, std::int64_t b);
/// Returns |a|, which fits for the smallest integer too.
inline std::uint64_t magnitude(std::int64_t a) {
  return a < 0 ? ~static_cast<std::uint64_t>(a) + 1 : static_cast<std::uint64_t>(a);
}

/// Return a + factor·b, and a·b, of raw term lists. They throw Error on overflow or too many terms.
Terms add_terms(std::span<const Term> a, std::span<const Term> b, std::int64_t factor = 1);
Terms multiply_terms(std::span<const Term> a, std::span<const Term> b);

/// Sorts and combines terms in any order.
Terms normalise_terms(Terms terms);

/// Sums many polynomials at the cost of one sort.
class TermGatherer {
 public:
  void add(Terms terms);
  Expr take() { return ExprBuilder::sum(normalise_terms(std::move(terms_))); }

 private:
  Terms terms_;
};

}  // namespace mote
