// SPDX-License-Identifier: Apache-2.0
// Makes domains: it decides which sizes are free, and which derived sizes are chosen in place of
// the size that they grow with.
#include "mote/oracle/domain.h"

#include <algorithm>
#include <set>
#include <utility>

namespace mote {
namespace {

enum class Trend : std::uint8_t { constant, grows, unknown };

/// Finds how e changes with v, which is at least 0.
class Trends {
 public:
  Trends(const Facts& facts, Symbol v) : facts_(facts), v_(v) {}

  Trend of(const Expr& e) const {
    Trend trend = Trend::constant;
    for (const Term& term : e.terms()) {
      const Trend t = of(term);
      if (t == Trend::unknown) return t;
      if (t == Trend::grows) trend = t;
    }
    return trend;
  }

 private:
  Trend of(const Term& term) const {
    int growing = 0;
    bool others_positive = term.coefficient > 0;
    for (const Atom& atom : term.atoms) {
      const Expr e = Expr::from_atom(atom);
      if (!e.mentions(v_)) {
        others_positive = others_positive && facts_.prove_positive(e);
      } else if (of(atom) == Trend::grows) {
        ++growing;
      } else {
        return Trend::unknown;
      }
    }
    if (growing == 0) return Trend::constant;
    return growing == 1 && others_positive ? Trend::grows : Trend::unknown;
  }
  Trend of(const Atom& atom) const {
    if (atom.kind == Atom::Kind::symbol) return Trend::grows;
    if (atom.kind != Atom::Kind::div) return Trend::unknown;
    const bool divides = !atom.args[1].mentions(v_) && facts_.prove_positive(atom.args[1]);
    return divides ? of(atom.args[0]) : Trend::unknown;
  }

  const Facts& facts_;
  Symbol v_;
};

class DomainMaker {
 public:
  explicit DomainMaker(std::shared_ptr<const Program> program) : facts_(facts_of(program->params)) {
    domain_.program = std::move(program);
  }

  Domain run() {
    for (const SizeRule& rule : p().size_rules) domain_.least[rule.size] = 0;
    for (const SizeRule& rule : p().size_rules) {  // divisors of sizes are at least 1
      for (const Symbol s : rule.scale.symbols()) {
        if (domain_.least.contains(s)) domain_.least[s] = 1;
      }
    }
    const std::vector<Uop> outputs = roots(p());
    const std::vector<Uop> nodes = topological(outputs);
    for (const Uop& u : nodes) {
      require_operands(u);
      require_divisors(u);
    }
    for (const NamedSize& s : p().sizes) add_derived(s.name, s.value, 0);
    for (const Uop& input : p().inputs) require_extents(input);
    for (const Uop& u : nodes) require_extents(u);
    for (const SizeRule& rule : p().size_rules) {
      if (std::ranges::find(domain_.pivots, rule.size) != domain_.pivots.end()) continue;
      domain_.knobs.push_back(
          {rule.size.name(), Expr(rule.size), domain_.least.at(rule.size), std::nullopt, false});
    }
    for (const Uop& u : nodes) note_reduced(u);
    order_pivots();
    return std::move(domain_);
  }

 private:
  const Program& p() const { return *domain_.program; }

  void note_reduced(const Uop& u) {
    const auto* r = std::get_if<uop::Reduce>(&u.node().kind);
    if (r == nullptr) return;
    for (const int axis : r->axes) {
      const Expr& extent = r->x.shape()[static_cast<std::size_t>(axis)];
      for (Knob& k : domain_.knobs)
        for (const Symbol s : k.value.symbols())
          k.reduced = k.reduced || (domain_.least.contains(s) && extent.mentions(s));
    }
  }

  /// Requires an element for argmax and argmin.
  void require_operands(const Uop& u) {
    const auto* r = std::get_if<uop::Reduce>(&u.node().kind);
    if (r == nullptr || (r->op != ReduceOp::argmax && r->op != ReduceOp::argmin)) return;
    for (const int axis : r->axes) {
      const Expr& extent = r->x.shape()[static_cast<std::size_t>(axis)];
      if (facts_.prove_positive(extent)) continue;
      bool product = extent.terms().size() == 1;  // a product of sizes, which must be at least 1
      for (const Symbol s : extent.symbols()) {
        if (product && domain_.least.contains(s)) domain_.least[s] = 1;
      }
      if (!extent.as_symbol()) add_derived(extent.to_string(), extent, 1);
    }
  }

  /// Requires sizes by which an index is divided to be at least 1.
  void require_divisors(const Uop& u) {
    if (const auto* r = std::get_if<uop::Reindex>(&u.node().kind)) {
      for (const Expr& e : r->from) require_divisors(e);
    }
    if (const auto* i = std::get_if<uop::Iota>(&u.node().kind)) require_divisors(i->value);
    for (const Expr& e : u.shape()) require_divisors(e);
  }
  void require_divisors(const Expr& e) {
    for (const Term& term : e.terms()) {
      for (const Atom& atom : term.atoms) {
        for (const Expr& arg : atom.args) require_divisors(arg);
        if (atom.kind != Atom::Kind::div && atom.kind != Atom::Kind::mod) continue;
        for (const Symbol s : atom.args[1].symbols()) {
          if (domain_.least.contains(s)) domain_.least[s] = 1;
        }
      }
    }
  }

  void require_extents(const Uop& u) {
    for (const Expr& e : u.shape()) {
      if (!facts_.prove_nonneg(e)) add_derived(e.to_string(), e, 0);
    }
  }

  void add_derived(const std::string& name, const Expr& value, std::int64_t least) {
    for (Knob& k : domain_.knobs) {
      if (k.value != value) continue;
      k.least = std::max(k.least, least);
      return;
    }
    if (const std::optional<Symbol> pivot = find_pivot(value)) {
      domain_.knobs.push_back({name, value, least, pivot, false});
      auto& pivots = domain_.pivots;
      if (std::ranges::find(pivots, *pivot) == pivots.end()) pivots.push_back(*pivot);
    }
  }

  /// Orders pivots so that one whose derived sizes mention another comes after it, if possible.
  void order_pivots() {
    std::vector<Symbol> waiting = std::exchange(domain_.pivots, {});
    const auto waits = [&](Symbol pivot) {
      return std::ranges::any_of(domain_.knobs, [&](const Knob& k) {
        return k.pivot == pivot && std::ranges::any_of(waiting, [&](Symbol other) {
                 return other != pivot && k.value.mentions(other);
               });
      });
    };
    while (!waiting.empty()) {
      auto next = std::ranges::find_if_not(waiting, waits);
      if (next == waiting.end()) next = waiting.begin();
      domain_.pivots.push_back(*next);
      waiting.erase(next);
    }
  }

  /// A free size with which the value grows: an existing pivot if there is one, otherwise the first
  /// such size.
  std::optional<Symbol> find_pivot(const Expr& value) const {
    std::optional<Symbol> found;
    for (const SizeRule& rule : p().size_rules) {
      if (!value.mentions(rule.size)) continue;
      if (Trends(facts_, rule.size).of(value) != Trend::grows) continue;
      const auto& pivots = domain_.pivots;
      if (std::ranges::find(pivots, rule.size) != pivots.end()) return rule.size;
      if (!found) found = rule.size;
    }
    return found;
  }

  Facts facts_;
  Domain domain_;
};

}  // namespace

Domain make_domain(std::shared_ptr<const Program> program) {
  return DomainMaker(std::move(program)).run();
}

}  // namespace mote
