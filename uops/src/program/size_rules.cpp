// SPDX-License-Identifier: Apache-2.0
// Derives size rules: solves extents of input axes for one unknown size at a time.
#include "program/size_rules.h"

#include "graph/node.h"

namespace mote {
namespace {

bool is_broadcast(const Uop& input, std::size_t axis) {
  return std::get<uop::Input>(input.node().kind).broadcast[axis];
}

bool mentions_sizes(const Expr& e) {
  for (const Symbol s : e.symbols())
    if (s.kind() == SymbolKind::size) return true;
  return false;
}

class Deriver {
 public:
  Deriver(const std::vector<Uop>& inputs, std::set<Symbol> unknown)
      : inputs_(inputs), unknown_(std::move(unknown)) {}

  std::vector<SizeRule> run() {
    while (next_linear(false) || next_broadcast() || next_linear(true)) {
    }
    return rules_;
  }
  const std::set<Symbol>& unknown() const { return unknown_; }

 private:
  // Solves the first axis whose extent has one unknown and is linear in it.
  bool next_linear(bool size_factors) {
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      for (std::size_t axis = 0; axis < inputs_[k].shape().size(); ++axis)
        if (!is_broadcast(inputs_[k], axis) && solve_axis(k, axis, size_factors)) return true;
    return false;
  }

  bool solve_axis(std::size_t k, std::size_t axis, bool size_factors) {
    const Expr& extent = inputs_[k].shape()[axis];
    std::optional<Symbol> size;
    for (const Symbol s : extent.symbols()) {
      if (!unknown_.contains(s)) continue;
      if (size) return false;
      size = s;
    }
    if (!size) return false;
    const std::optional<Linear> linear = linear_in(extent, *size);
    if (!linear || linear->factor == Expr(0)) return false;
    if (!size_factors && mentions_sizes(linear->factor)) return false;
    add({*size, static_cast<int>(k), static_cast<int>(axis), linear->factor, linear->rest, {}});
    return true;
  }

  // Takes a size that is the extent of flagged axes only.
  bool next_broadcast() {
    for (const Symbol size : unknown_) {
      std::vector<std::pair<int, int>> candidates;
      for (std::size_t k = 0; k < inputs_.size(); ++k)
        for (std::size_t axis = 0; axis < inputs_[k].shape().size(); ++axis)
          if (inputs_[k].shape()[axis] == Expr(size) && is_broadcast(inputs_[k], axis))
            candidates.emplace_back(static_cast<int>(k), static_cast<int>(axis));
      if (candidates.empty()) continue;
      const auto [input, axis] = candidates.front();
      add({size, input, axis, Expr(1), Expr(0), std::move(candidates)});
      return true;
    }
    return false;
  }

  void add(SizeRule rule) {
    unknown_.erase(rule.size);
    rules_.push_back(std::move(rule));
  }

  const std::vector<Uop>& inputs_;
  std::set<Symbol> unknown_;
  std::vector<SizeRule> rules_;
};

}  // namespace

std::vector<SizeRule> derive_size_rules(const std::vector<Uop>& inputs, std::set<Symbol>& sizes) {
  Deriver deriver(inputs, sizes);
  std::vector<SizeRule> rules = deriver.run();
  sizes = deriver.unknown();
  return rules;
}

}  // namespace mote
