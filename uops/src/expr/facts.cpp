// SPDX-License-Identifier: Apache-2.0
// Stores the given facts, and passes questions to the prover, whose answers it remembers.
#include "mote/uops/facts.h"

#include <optional>
#include <unordered_map>

#include "expr/knowledge.h"
#include "expr/simplify.h"
#include "mote/base/error.h"

namespace mote {

/// A fact that was added, as a key.
struct Facts::Added {
  enum class Kind : std::uint8_t { lower, range, nonneg, zero };
  Kind kind;
  std::optional<Symbol> symbol;
  Expr a;
  Expr b;
  friend auto operator<=>(const Added&, const Added&) = default;
  friend bool operator==(const Added&, const Added&) = default;
};

/// Copies share a state and its proofs. A fact that is added to a shared state makes another state,
/// which is kept: a caller that adds the same fact to the same state, as passes do at each of many
/// guards with the same conditions, finds its proofs again.
struct Facts::State {
  FactBase base;
  std::unique_ptr<Reasoner> reasoner;       // made by the first question
  std::unordered_map<Expr, bool> negative;  // answers, by the expression that was asked about
  std::map<Added, std::shared_ptr<State>> children;

  Reasoner& reason() {
    if (!reasoner) reasoner = std::make_unique<Reasoner>(base);
    return *reasoner;
  }

  void add(const Added& fact) {
    switch (fact.kind) {
      case Added::Kind::lower:
        base.lower[*fact.symbol] = *fact.a.constant();
        return;
      case Added::Kind::range:
        base.ranges[*fact.symbol] = {fact.a, fact.b};
        return;
      case Added::Kind::nonneg:
        base.nonneg.push_back(fact.a);
        return;
      case Added::Kind::zero:
        base.zero.push_back(fact.a);
        return;
    }
  }
};

Facts::Facts() : state_(std::make_shared<State>()) {}
Facts::Facts(const Facts& other) = default;
Facts& Facts::operator=(const Facts& other) = default;
Facts::~Facts() = default;

void Facts::add(const Added& fact) {
  const bool is_shared = state_.use_count() > 1;
  if (!is_shared && state_->children.empty()) {
    state_->add(fact);
    state_->reasoner.reset();
    state_->negative.clear();
    return;
  }
  std::shared_ptr<State>& child = state_->children[fact];
  if (!child) {
    child = std::make_shared<State>(State{state_->base, nullptr, {}, {}});
    child->add(fact);
  }
  state_ = std::shared_ptr<State>(child);  // a copy: the assignment may destroy child's owner
}

void Facts::set_lower(Symbol symbol, std::int64_t bound) {
  add({Added::Kind::lower, symbol, Expr(bound), Expr(0)});
}
void Facts::set_range(Symbol variable, const Expr& begin, const Expr& end) {
  add({Added::Kind::range, variable, begin, end});
}
void Facts::assume_nonneg(const Expr& e) { add({Added::Kind::nonneg, std::nullopt, e, Expr(0)}); }
void Facts::assume_zero(const Expr& e) { add({Added::Kind::zero, std::nullopt, e, Expr(0)}); }

bool Facts::prove_nonneg(const Expr& e) const {
  if (const auto c = e.constant()) return *c >= 0;
  try {
    Reasoner& reasoner = state_->reason();
    if (reasoner.nonneg(e)) return true;
    const Expr simpler = reasoner.simplify(e);
    return simpler != e && reasoner.nonneg(simpler);
  } catch (const Error&) {
    return false;  // a fact whose consequences overflow proves nothing
  }
}

bool Facts::prove_negative(const Expr& e) const {
  const auto known = state_->negative.find(e);
  if (known != state_->negative.end()) return known->second;
  const bool proved = prove_positive(-e);
  state_->negative.emplace(e, proved);
  return proved;
}

bool Facts::prove_zero(const Expr& e) const {
  if (const auto c = e.constant()) return *c == 0;
  if (simplify(e) == Expr(0)) return true;
  return prove_nonneg(e) && prove_nonneg(-e);
}

Expr Facts::simplify(const Expr& e) const {
  if (e.constant() || e.as_symbol()) return e;
  try {
    return state_->reason().simplify(e);
  } catch (const Error&) {
    return e;
  }
}

}  // namespace mote
