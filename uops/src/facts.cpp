// Facts: what is told, questions to the prover, and what was answered before.
#include "mote/uops/facts.h"

#include "facts_simplify.h"
#include "knowledge.h"
#include "mote/base/error.h"

namespace mote {

struct Facts::State {
  FactBase base;
  std::unique_ptr<Reasoner> reasoner;  // made by the first question after a fact changed

  Reasoner& reason() {
    if (!reasoner) reasoner = std::make_unique<Reasoner>(base);
    return *reasoner;
  }
};

Facts::Facts() : state_(std::make_unique<State>()) {}
Facts::Facts(const Facts& other) : Facts() { state_->base = other.state_->base; }
Facts& Facts::operator=(const Facts& other) {
  if (this != &other) *state_ = State{other.state_->base, nullptr};
  return *this;
}
Facts::~Facts() = default;

void Facts::set_lower(Symbol symbol, std::int64_t bound) {
  state_->base.lower[symbol] = bound;
  state_->reasoner.reset();
}
void Facts::set_range(Symbol variable, const Expr& begin, const Expr& end) {
  state_->base.ranges[variable] = {begin, end};
  state_->reasoner.reset();
}
void Facts::assume_nonneg(const Expr& e) {
  state_->base.nonneg.push_back(e);
  state_->reasoner.reset();
}
void Facts::assume_zero(const Expr& e) {
  state_->base.zero.push_back(e);
  state_->reasoner.reset();
}

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
