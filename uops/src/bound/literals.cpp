// SPDX-License-Identifier: Apache-2.0
// Visits operands first: truth values that are literals, or follow from literals, replace the nodes
// that read them.
#include <algorithm>
#include <unordered_map>

#include "bound/value.h"

namespace mote::bounds {
namespace {

class Deciding {
 public:
  Uop of(const Uop& output) {
    for (const Uop& u : topological(std::vector<Uop>{output}))
      if (!made_.contains(u.id())) visit(u);
    return made_.at(output.id());
  }

 private:
  void visit(const Uop& u) {
    std::vector<Uop> args = operands(u);
    bool same = true;
    for (Uop& x : args) {
      const Uop y = made_.at(x.id());
      same = same && y.id() == x.id();
      x = y;
    }
    const auto* m = std::get_if<uop::Map>(&u.node().kind);
    const Uop instead = m != nullptr ? decided(u, *m, args) : Uop();
    made_.emplace(u.id(), instead ? instead : same ? u : with_operands(u, args));
    const auto* s = std::get_if<uop::Scalar>(&u.node().kind);
    if (s != nullptr && u.dtype() == DType::boolean) truths_[u.id()] = s->value.integer() != 0;
  }

  std::optional<bool> truth(const Uop& u) const {
    const auto at = truths_.find(u.id());
    return at == truths_.end() ? std::nullopt : std::optional<bool>(at->second);
  }

  /// Returns the operand that replaces the node; empty if there is none. Notes the node's truth
  /// value if that is certain.
  Uop decided(const Uop& u, const uop::Map& m, const std::vector<Uop>& made) {
    const auto stands = [&](std::size_t k) {
      return made[k].shape() == u.shape() ? made[k] : Uop();
    };
    const std::optional<bool> first = truth(m.args[0]);
    if (m.op == MapOp::where) {
      if (made[1].id() == made[2].id()) return stands(1);
      return first ? stands(*first ? 1 : 2) : Uop();
    }
    if (m.op == MapOp::logical_not && first) truths_[u.id()] = !*first;
    if (m.op != MapOp::logical_and && m.op != MapOp::logical_or) return {};
    const bool settles = m.op == MapOp::logical_or;  // the truth value that decides alone
    for (std::size_t k = 0; k < 2; ++k) {
      const std::optional<bool> known = truth(m.args[k]);
      if (!known) continue;
      if (*known == settles) {
        truths_[u.id()] = settles;
        return {};
      }
      if (const auto other = truth(m.args[1 - k])) truths_[u.id()] = *other;
      return stands(1 - k);
    }
    return {};
  }

  std::unordered_map<const UopNode*, Uop> made_;
  std::unordered_map<const UopNode*, bool> truths_;
};

}  // namespace

std::vector<Uop> without_literals(const std::vector<Uop>& outputs) {
  Deciding deciding;
  std::vector<Uop> all;
  for (const Uop& u : outputs) all.push_back(deciding.of(u));
  return all;
}

}  // namespace mote::bounds
