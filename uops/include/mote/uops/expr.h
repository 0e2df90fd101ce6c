// SPDX-License-Identifier: Apache-2.0
// Defines index expressions: integers over loop variables (i0, i1, …), axis sizes (dA0, or a
// declared name such as KH), parameters ($stride), constants, with + - * floor-/ floor-% min max.
//
// An Expr is canonical when built: a sorted integer polynomial whose floor-divisions, mods, mins,
// maxs and loads are opaque atoms. So equality of expressions is comparison of values. Building
// never depends on context (what is known about a symbol); simplification under facts is in
// facts.h. All arithmetic is 64-bit; an overflow of a coefficient throws Error.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// loop: i0 in a uop, or a named variable of a loop program; size: dA0 or a declared size (KH);
/// param: $stride (the name is kept without the $).
enum class SymbolKind : std::uint8_t { loop, size, param };

/// An interned (kind, name). Cheap to copy; ordered by kind, then by name with numbers compared as
/// numbers (i2 before i10), never by the order of creation.
class Symbol {
 public:
  Symbol(SymbolKind kind, std::string_view name);
  SymbolKind kind() const;
  const std::string& name() const;
  std::string to_string() const;            ///< as written: i0, KH, $stride
  std::uint32_t id() const { return id_; }  ///< for hashing; differs from run to run
  friend bool operator==(Symbol a, Symbol b) { return a.id_ == b.id_; }
  friend std::strong_ordering operator<=>(Symbol a, Symbol b);

 private:
  std::uint32_t id_;
};

struct Atom;
struct Term;

/// An index expression: an immutable value with cheap copies.
class Expr {
 public:
  Expr();                    ///< 0
  Expr(std::int64_t value);  // NOLINT(google-explicit-constructor): constants mix with expressions
  /// Any other integer type.
  template <std::integral T>
  Expr(T value) : Expr(static_cast<std::int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  Expr(Symbol symbol);                                       // NOLINT(google-explicit-constructor)

  static Expr loop(int axis);                ///< i<axis>
  static Expr size(std::string_view name);   ///< KH, or dA0
  static Expr param(std::string_view name);  ///< $name
  static Expr from_atom(Atom atom);          ///< the atom as it is (no folding)

  /// Σ coefficient · Π atoms, sorted; empty for 0.
  std::span<const Term> terms() const;
  std::optional<std::int64_t> constant() const;  ///< its value, if it mentions no atom
  const Atom* as_atom() const;                   ///< the atom, if the expression is just 1·atom
  std::optional<Symbol> as_symbol() const;       ///< the symbol, if the expression is just that
  const std::set<Symbol>& symbols() const;  ///< all symbols mentioned, inside atoms and loads too
  bool mentions(Symbol symbol) const;
  bool has_load() const;  ///< a load atom occurs anywhere inside

  /// Replaces symbols by expressions everywhere, all at once, and makes the result canonical.
  Expr substitute(const std::map<Symbol, Expr>& env) const;
  /// Rebuilds bottom-up, giving each atom (with its operands already rebuilt) to `f`.
  Expr transform(const std::function<Expr(const Atom&)>& f) const;

  std::string to_string() const;  ///< parse_expr reads it back to an equal value
  std::size_t hash() const;

  friend Expr operator+(const Expr& a, const Expr& b);
  friend Expr operator-(const Expr& a, const Expr& b);
  friend Expr operator*(const Expr& a, const Expr& b);
  friend Expr operator/(const Expr& a, const Expr& b);  ///< floor division; by constant 0: Error
  friend Expr operator%(const Expr& a, const Expr& b);  ///< a - b*floor(a/b); by constant 0: Error
  Expr operator-() const;
  friend bool operator==(const Expr& a, const Expr& b);
  friend std::strong_ordering operator<=>(const Expr& a, const Expr& b);  ///< structural, stable

 private:
  struct Node;
  explicit Expr(std::shared_ptr<const Node> node);
  std::shared_ptr<const Node> node_;
  friend struct ExprBuilder;
};

/// Returns the atom's operation applied to its operands, with all folding. Callbacks of `transform`
/// return it for atoms that they leave alone.
Expr rebuild(const Atom& atom);

Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
/// Returns the integer element tensor[index…] used as an index; only loop programs hold these.
Expr load(std::string_view tensor, std::vector<Expr> index);
/// Returns ceil(a / b) for b > 0.
Expr ceil_div(const Expr& a, const Expr& b);

/// A factor that a polynomial treats as one unknown.
struct Atom {
  enum class Kind : std::uint8_t { symbol, div, mod, min, max, load };
  Kind kind;
  std::optional<Symbol> symbol;  ///< symbol
  std::string tensor;            ///< load
  std::vector<Expr> args;        ///< div, mod: {a, b}; min, max: two or more, sorted; load: indices

  friend bool operator==(const Atom& a, const Atom& b);
  friend std::strong_ordering operator<=>(const Atom& a, const Atom& b);
};

/// A term of a polynomial: coefficient · product of atoms (sorted, repeated for powers); without
/// atoms, the constant term.
struct Term {
  std::int64_t coefficient;
  std::vector<Atom> atoms;
  friend bool operator==(const Term& a, const Term& b);
};

/// The decomposition e = factor · v + rest, with v in neither; nullopt if e is not linear in v, or
/// v occurs in an atom.
struct Linear {
  Expr factor;
  Expr rest;
};
std::optional<Linear> linear_in(const Expr& e, Symbol v);

/// The decomposition x = quotient · c + remainder by polynomial terms, for c a single term;
/// constants of x are reduced into [0, |c|) if c is a constant.
struct Split {
  Expr quotient;
  Expr remainder;
};
Split split_by(const Expr& x, const Expr& c);

/// The values of symbols and of loaded elements. Each function throws Error for an argument that it
/// does not know.
struct Environment {
  std::function<std::int64_t(Symbol)> symbol;
  std::function<std::int64_t(const std::string& tensor, std::span<const std::int64_t> index)> load;
};
/// Returns the value; division by zero and overflow throw Error.
std::int64_t evaluate(const Expr& e, const Environment& env);
std::int64_t evaluate(const Expr& e, const std::map<Symbol, std::int64_t>& values);

/// The equality left = right, as written by dA3[=dB3].
struct Constraint {
  Expr left;
  Expr right;
  friend bool operator==(const Constraint&, const Constraint&) = default;
};

/// The result of parsing index text: `i0*$stride + i2 - $pad`, `min(dA0, KH)`, `-i0 + 3`,
/// `dA3[=dB3]`. The expression is the left side of each constraint.
struct ParsedExpr {
  Expr expr;
  std::vector<Constraint> constraints;
};
/// Parses index text. Throws Error "index text: line L, column C: …", counted from the given start.
ParsedExpr parse_expr(std::string_view text, int line = 1, int column = 1);

}  // namespace mote

template <>
struct std::hash<mote::Expr> {
  std::size_t operator()(const mote::Expr& e) const { return e.hash(); }
};
template <>
struct std::hash<mote::Symbol> {
  std::size_t operator()(mote::Symbol s) const { return std::hash<std::uint32_t>()(s.id()); }
};
