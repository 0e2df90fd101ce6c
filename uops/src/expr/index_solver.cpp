// SPDX-License-Identifier: Apache-2.0
// Each rule takes an equation left = right away or makes it simpler; i is a variable of the
// argument that is not solved yet, E the right side:
//   e/c = E, e%c = F          e = E*c + F
//   e/(c*f) = E, (e/c)%f = F  e/c = E*f + F
//   e%(c*f)/c = E, e%c = F    e%(c*f) = E*c + F
//   i = E                     i is E
//   e*c + i = E, 0 <= i < c   i is E%c, e = E/c
//   A*i + rest = E            i is (E - rest)/A if A divides that; rest may have free variables
//   i/c = E                   i is E*c + k, for all 0 <= k < c
//   i%c = E                   i is k*c + E, for all k, if 0 <= E < c
//   nothing unsolved on the left: a condition
#include "expr/index_solver.h"

#include <algorithm>
#include <set>

namespace mote {
namespace {

Symbol loop_symbol(int k) { return *Expr::loop(k).as_symbol(); }

class Solver {
 public:
  explicit Solver(const IndexProblem& p) : p_(p), rank_(static_cast<int>(p.target.size())) {
    // The variables get distinct names: the target's keep i0, i1, …, the argument's follow them.
    std::map<Symbol, Expr> moved;
    for (std::size_t k = 0; k < p.extents.size(); ++k) {
      moved.emplace(loop_symbol(static_cast<int>(k)), Expr::loop(rank_ + static_cast<int>(k)));
      variables_.push_back({p.extents[k], static_cast<int>(k)});
    }
    for (std::size_t a = 0; a < p.to.size(); ++a)
      open_.push_back({p.to[a].substitute(moved), Expr::loop(static_cast<int>(a))});
    for (const IndexEquation& e : p.known) known_.push_back({e.left.substitute(moved), e.right});
    target_facts_ = facts_over(p.target, facts_of(p.params));
    facts_ = target_facts_;
    for (std::size_t k = 0; k < p.extents.size(); ++k)
      facts_.set_range(symbol(static_cast<int>(k)), 0, p.extents[k]);
  }

  std::optional<IndexSolution> run() {
    while (!open_.empty()) {
      const bool progress = pair_quotients() || take_variable() || take_digit() || take_linear() ||
                            expand_quotient() || expand_remainder() || take_condition();
      if (!progress) return std::nullopt;
    }
    return finish();
  }

 private:
  struct Variable {
    Expr extent;
    std::optional<int> axis;  ///< axis of the argument
  };

  Symbol symbol(int variable) const { return loop_symbol(rank_ + variable); }
  Expr loop(int variable) const { return Expr::loop(rank_ + variable); }
  bool solved(int v) const { return solution_.contains(symbol(v)); }
  std::vector<int> unsolved_in(const Expr& e) const {
    std::vector<int> result;
    for (int v = 0; v < static_cast<int>(variables_.size()); ++v)
      if (!solved(v) && !new_.contains(v) && e.mentions(symbol(v))) result.push_back(v);
    return result;
  }

  /// Returns true if a new divisor is >= 1 wherever the target has an element.
  bool positive(const Expr& e) const {
    if (target_facts_.prove_positive(e)) return true;
    for (const Symbol s : e.symbols())
      if (s.kind() == SymbolKind::loop) return false;
    // Sizes are >= 0, and a target extent that e divides is not 0.
    return target_facts_.prove_nonneg(e) && e.terms().size() == 1 &&
           std::any_of(p_.target.begin(), p_.target.end(), [&](const Expr& t) {
             return !t.constant() && split_by(t, e).remainder == Expr(0);
           });
  }

  void solve(int v, const Expr& value) {
    const std::map<Symbol, Expr> step{{symbol(v), value}};
    solution_.emplace(symbol(v), value);
    for (auto& [key, e] : solution_) e = e.substitute(step);
    for (IndexEquation& e : open_) e.left = e.left.substitute(step);
    for (IndexEquation& e : known_) e.left = e.left.substitute(step);
    for (Expr& e : conditions_) e = e.substitute(step);
  }
  void drop(std::size_t k) { open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(k)); }
  int add_variable(const Expr& extent) {
    variables_.push_back({extent, std::nullopt});
    const int v = static_cast<int>(variables_.size()) - 1;
    new_.insert(v);
    facts_.set_range(symbol(v), 0, extent);
    return v;
  }
  /// Adds 0 <= e < c as conditions, expressions that are then 0.
  void keep_inside(const Expr& e, const Expr& c) {
    if (!facts_.prove_nonneg(e)) conditions_.push_back(min(e, 0));
    if (!facts_.prove_nonneg(c - 1 - e)) conditions_.push_back(min(c - 1 - e, 0));
  }

  static const Atom* quotient(const Expr& e, Atom::Kind kind) {
    const Atom* a = e.as_atom();
    return a && a->kind == kind ? a : nullptr;
  }

  /// The form of e/d given the other equation, whose left is a remainder: e/d is whole/part, and
  /// that remainder is whole%part.
  struct Digit {
    Expr whole, part;
  };
  static std::optional<Digit> digit_of(const Atom& div, const IndexEquation& other) {
    const Atom* mod = quotient(other.left, Atom::Kind::mod);
    if (!mod) return std::nullopt;
    const Expr &whole = mod->args[0], &part = mod->args[1];
    if (whole == div.args[0] && part == div.args[1]) return Digit{whole, part};
    const Atom* within = quotient(div.args[0], Atom::Kind::mod);
    if (within && within->args[0] == whole && part == div.args[1] &&
        split_by(within->args[1], part).remainder == Expr(0))
      return Digit{div.args[0], part};
    const Atom* inner = quotient(whole, Atom::Kind::div);
    if (!inner || inner->args[0] != div.args[0] || inner->args[1] * part != div.args[1])
      return std::nullopt;
    return Digit{whole, part};
  }

  bool pair_quotients() {
    for (std::size_t a = 0; a < open_.size(); ++a) {
      const Atom* div = quotient(open_[a].left, Atom::Kind::div);
      if (!div || !unsolved_in(div->args[1]).empty()) continue;
      const auto matches = [&](const IndexEquation& other) {
        return digit_of(*div, other).has_value();
      };
      const auto known = std::find_if(known_.begin(), known_.end(), matches);
      const auto open = std::find_if(open_.begin(), open_.end(), matches);
      if (known == known_.end() && open == open_.end()) continue;
      const bool is_known = known != known_.end();
      const Digit digit = *digit_of(*div, is_known ? *known : *open);
      const Expr remainder = is_known ? known->right : open->right;
      if (!is_known) keep_inside(remainder, digit.part);
      open_[a] = {digit.whole, open_[a].right * digit.part + remainder};
      if (!is_known) open_.erase(open);
      return true;
    }
    return false;
  }

  bool take_variable() {
    for (std::size_t a = 0; a < open_.size(); ++a)
      for (const int v : unsolved_in(open_[a].left))
        if (open_[a].left == loop(v)) {
          const Expr value = open_[a].right;
          drop(a);
          solve(v, value);
          return true;
        }
    return false;
  }

  bool take_digit() {
    for (IndexEquation& open : open_) {
      const IndexEquation equation = open;
      const std::vector<int> inside = unsolved_in(equation.left);
      for (const int w : inside) {
        const auto linear = linear_in(equation.left, symbol(w));
        if (!linear || linear->factor != Expr(1) || unsolved_in(linear->rest).empty()) continue;
        for (const Term& term : linear->rest.terms()) {
          const std::optional<Expr> c = factor_without_variables(term);
          if (!c || !positive(*c) ||
              !facts_.prove_nonneg(*c - variables_[static_cast<std::size_t>(w)].extent))
            continue;
          const Split split = split_by(linear->rest, *c);
          if (split.remainder != Expr(0) && !unsolved_in(split.remainder).empty()) continue;
          const Expr rest = equation.right - split.remainder;
          open = {split.quotient, rest / *c};
          solve(w, rest % *c);
          return true;
        }
      }
    }
    return false;
  }
  /// Returns the term without the atoms that mention unsolved variables; nullopt if that is a
  /// number <= 1, or if there is no such atom.
  std::optional<Expr> factor_without_variables(const Term& term) const {
    Expr c = term.coefficient;
    bool found = false;
    for (const Atom& atom : term.atoms) {
      const Expr e = Expr::from_atom(atom);
      if (unsolved_in(e).empty())
        c = c * e;
      else
        found = true;
    }
    if (!found || (c.constant() && *c.constant() <= 1)) return std::nullopt;
    return c;
  }

  bool take_linear() {
    for (std::size_t a = 0; a < open_.size(); ++a) {
      const IndexEquation equation = open_[a];
      std::optional<int> best;
      Linear chosen;  // factor * best = rest
      for (const int v : unsolved_in(equation.left)) {
        const auto linear = linear_in(equation.left, symbol(v));
        if (!linear || !unsolved_in(linear->factor).empty()) continue;
        const bool minus = is_negative(linear->factor);
        const Expr factor = minus ? -linear->factor : linear->factor;
        if (factor != Expr(1) && !positive(factor)) continue;
        if (best && !better(v, factor, *best, chosen.factor, equation.right)) continue;
        best = v;
        chosen = {factor, minus ? linear->rest - equation.right : equation.right - linear->rest};
      }
      if (!best) continue;
      drop(a);
      if (chosen.factor != Expr(1)) conditions_.push_back(chosen.rest % chosen.factor);
      solve(*best, chosen.rest / chosen.factor);
      return true;
    }
    return false;
  }
  static bool is_negative(const Expr& e) {
    return e.terms().size() == 1 && e.terms()[0].coefficient < 0;
  }
  /// Returns true if v should be solved first: the variable whose extent follows from the target's
  /// (rows rather than taps), then the one with the greater factor.
  bool better(int v, const Expr& factor, int other, const Expr& other_factor,
              const Expr& right) const {
    const auto related = [&](int w) {
      for (std::size_t t = 0; t < p_.target.size(); ++t) {
        if (!right.mentions(loop_symbol(static_cast<int>(t)))) continue;
        for (const Symbol s : p_.target[t].symbols())
          if (variables_[static_cast<std::size_t>(w)].extent.mentions(s)) return true;
      }
      return false;
    };
    if (related(v) != related(other)) return related(v);
    return factor.constant().value_or(0) > other_factor.constant().value_or(0);
  }

  bool expand_quotient() {
    for (IndexEquation& equation : open_) {
      const Atom* div = quotient(equation.left, Atom::Kind::div);
      if (!div || unsolved_in(div->args[0]).empty() || !fixed(div->args[1])) continue;
      const Expr e = div->args[0], c = div->args[1];
      if (!facts_.prove_nonneg(c)) continue;
      equation = {e, equation.right * c + loop(add_variable(c))};
      return true;
    }
    return false;
  }

  bool expand_remainder() {
    for (IndexEquation& equation : open_) {
      const Atom* mod = quotient(equation.left, Atom::Kind::mod);
      if (!mod || !fixed(mod->args[1])) continue;
      const std::vector<int> inside = unsolved_in(mod->args[0]);
      if (inside.size() != 1 || mod->args[0] != loop(inside[0])) continue;
      const Expr e = mod->args[0], c = mod->args[1], right = equation.right;
      if (!positive(c)) continue;
      keep_inside(right, c);
      const Expr& extent = variables_[static_cast<std::size_t>(inside[0])].extent;
      const Split whole = split_by(extent, c);
      const Expr rounds = whole.remainder == Expr(0) ? whole.quotient : ceil_div(extent, c);
      equation = {e, loop(add_variable(rounds)) * c + right};
      return true;
    }
    return false;
  }
  static bool fixed(const Expr& e) {
    const auto& symbols = e.symbols();
    return std::none_of(symbols.begin(), symbols.end(),
                        [](Symbol s) { return s.kind() == SymbolKind::loop; });
  }

  bool take_condition() {
    for (std::size_t a = 0; a < open_.size(); ++a) {
      if (!unsolved_in(open_[a].left).empty()) continue;
      const Expr difference = open_[a].left - open_[a].right;
      if (!facts_.prove_zero(difference)) conditions_.push_back(difference);
      drop(a);
      return true;
    }
    return false;
  }

  // ---- the result

  IndexSolution finish() {
    std::vector<int> free;
    for (int v = 0; v < static_cast<int>(variables_.size()); ++v)
      if (!solved(v)) free.push_back(v);
    // Variables that conditions mention go outside, so that the conditions can be tested there.
    std::stable_sort(free.begin(), free.end(),
                     [&](int a, int b) { return mentioned(a) && !mentioned(b); });
    std::map<Symbol, Expr> order;
    Facts facts = facts_;
    IndexSolution s;
    for (std::size_t n = 0; n < free.size(); ++n) {
      const Variable& v = variables_[static_cast<std::size_t>(free[n])];
      order.emplace(symbol(free[n]), Expr::loop(rank_ + static_cast<int>(n)));
      s.free.push_back({v.extent, v.axis});
    }
    for (std::size_t n = 0; n < free.size(); ++n)
      facts.set_range(loop_symbol(rank_ + static_cast<int>(n)), 0, s.free[n].extent);
    for (std::size_t k = 0; k < p_.extents.size(); ++k) {
      const int v = static_cast<int>(k);
      const Expr e = solved(v) ? solution_.at(symbol(v)) : loop(v);
      s.index.push_back(facts.simplify(e.substitute(order)));
    }
    for (const Expr& c : conditions_) {
      const Expr e = facts.simplify(c.substitute(order));
      if (e != Expr(0) &&
          std::find(s.conditions.begin(), s.conditions.end(), e) == s.conditions.end())
        s.conditions.push_back(e);
    }
    return s;
  }
  bool mentioned(int v) const {
    return std::any_of(conditions_.begin(), conditions_.end(),
                       [&](const Expr& c) { return c.mentions(symbol(v)); });
  }

  const IndexProblem& p_;
  int rank_;  ///< rank of the target
  std::vector<Variable> variables_;
  std::set<int> new_;  ///< free variables that rules made
  std::vector<IndexEquation> open_, known_;
  std::map<Symbol, Expr> solution_;  ///< values mention no key
  std::vector<Expr> conditions_;
  Facts facts_;         ///< facts within the loops over the target and the argument
  Facts target_facts_;  ///< facts within the loops over the target
};

}  // namespace

std::optional<IndexSolution> solve_index(const IndexProblem& problem) {
  return Solver(problem).run();
}

}  // namespace mote
