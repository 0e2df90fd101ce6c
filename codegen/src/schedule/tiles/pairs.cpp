// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/pairs.h"

#include <algorithm>
#include <array>
#include <limits>

#include "ir/integer_range.h"
#include "mote/codegen/walk.h"

namespace mote {
namespace {

constexpr std::int64_t kMaxOfSixteenBits = std::numeric_limits<std::int16_t>::max();
constexpr std::int64_t kMaxSum = std::numeric_limits<std::int32_t>::max();

/// Returns the greatest absolute value; nullopt if the value does not fit 16 bits.
std::optional<std::int64_t> size_in_sixteen_bits(const LoopProgram& p, const Value& v) {
  const auto range = range_of(p, v);
  if (!range || range->least < -kMaxOfSixteenBits || range->greatest > kMaxOfSixteenBits)
    return std::nullopt;
  return std::max(-range->least, range->greatest);
}

const SharedOperand* operand_in(const TiledReduction& r, const Value& v) {
  const auto* named = std::get_if<value::Named>(&v->kind);
  if (named == nullptr) return nullptr;
  for (std::size_t k = 0; k < r.shared.operands.size(); ++k)
    if (named->name == operand_name(k)) return &r.shared.operands[k];
  return nullptr;
}

/// Returns the greatest absolute value of a term that is a product of an operand of each side.
std::optional<std::int64_t> size_of_product(const LoopProgram& p, const TiledReduction& r,
                                            const Value& term) {
  const auto* op = std::get_if<value::Op>(&term->kind);
  if (op == nullptr || op->op != MapOp::mul) return std::nullopt;
  const std::array operands = {operand_in(r, op->args[0]), operand_in(r, op->args[1])};
  if (operands[0] == nullptr || operands[1] == nullptr || operands[0]->side == operands[1]->side)
    return std::nullopt;
  const auto a = size_in_sixteen_bits(p, operands[0]->value);
  const auto b = size_in_sixteen_bits(p, operands[1]->value);
  return a && b ? std::optional(*a * *b) : std::nullopt;  // of 16 bits each
}

/// Returns true if a condition depends on the variable.
bool is_in_condition(const TiledReduction& r, Symbol variable) {
  const auto mentions_it = [&](const Conditions& all) {
    return std::ranges::any_of(all, [&](const Condition& c) { return c.e.mentions(variable); });
  };
  bool found = mentions_it(r.nest.conditions);
  for (const SharedOperand& o : r.shared.operands)
    for_each_value(o.value, [&](const Value& v) {
      const auto* guard = std::get_if<value::Guard>(&v->kind);
      found = found || (guard != nullptr && mentions_it(guard->conditions));
    });
  return found;
}

/// Returns the last loop that no condition depends on, else the last: windows, along which
/// conditions leave terms out, are short.
LoopRange& long_loop(TiledReduction& r) {
  const auto last =
      std::ranges::find_if(r.nest.loops.rbegin(), r.nest.loops.rend(),
                           [&](const LoopRange& l) { return !is_in_condition(r, l.variable); });
  return last == r.nest.loops.rend() ? r.nest.loops.back() : *last;
}

}  // namespace

std::optional<TiledReduction> in_pairs(const LoopProgram& p, TiledReduction r) {
  std::int64_t greatest = 1;
  for (const Value& term : r.shared.terms) {
    const auto size = size_of_product(p, r, term);
    if (!size) return std::nullopt;
    greatest = std::max(greatest, *size);
  }
  Expr count = 1;
  for (const LoopRange& l : r.nest.loops) count = count * (l.end - l.begin);
  LoopRange& loop = long_loop(r);
  if (std::ranges::any_of(r.shared.other_conditions,
                          [&](const Condition& c) { return c.e.mentions(loop.variable); }))
    return std::nullopt;
  const Expr terms = loop.end - loop.begin;
  const std::map<Symbol, Expr> element = {
      {loop.variable, loop.begin + 2 * Expr(loop.variable) + Expr(kHalf)}};
  for (SharedOperand& o : r.shared.operands) o.value = substitute(o.value, element);
  for (Conditions* conditions : {&r.shared.vector_conditions, &r.shared.row_conditions})
    for (Condition& c : *conditions) c.e = c.e.substitute(element);
  loop = {loop.variable, 0, ceil_div(terms, 2)};
  r.pairs = PairLoop{loop.variable, terms};
  r.demands.push_back({Condition::Kind::nonneg, kMaxSum / greatest - count});
  return r;
}

}  // namespace mote
