// SPDX-License-Identifier: Apache-2.0
#include "schedule/pairs.h"

#include <algorithm>
#include <array>
#include <limits>

#include "ir/dependence.h"
#include "mote/base/overloaded.h"
#include "mote/codegen/walk.h"

namespace mote {
namespace {

constexpr std::int64_t kMaxOfSixteenBits = std::numeric_limits<std::int16_t>::max();
constexpr std::int64_t kMaxSum = std::numeric_limits<std::int32_t>::max();

std::optional<IntegerRange> hull(std::initializer_list<std::optional<std::int64_t>> values) {
  std::optional<IntegerRange> range;
  for (const auto& v : values) {
    if (!v) return std::nullopt;
    range = range ? IntegerRange{std::min(range->least, *v), std::max(range->greatest, *v)}
                  : IntegerRange{*v, *v};
  }
  return range;
}

std::optional<std::int64_t> sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

std::optional<std::int64_t> difference(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

std::optional<IntegerRange> range_of_binary(MapOp op, IntegerRange a, IntegerRange b) {
  switch (op) {
    case MapOp::add:
      return hull({sum(a.least, b.least), sum(a.greatest, b.greatest)});
    case MapOp::sub:
      return hull({difference(a.least, b.greatest), difference(a.greatest, b.least)});
    case MapOp::mul:
      return hull({product(a.least, b.least), product(a.least, b.greatest),
                   product(a.greatest, b.least), product(a.greatest, b.greatest)});
    default:
      return std::nullopt;
  }
}

std::optional<IntegerRange> range_of_op(const LoopProgram& p, const value::Op& op, DType dtype) {
  if (op.op == MapOp::cast) {
    const auto range = range_of(p, op.args[0]);
    const IntegerRange all = integer_range(dtype);
    const bool fits = range && range->least >= all.least && range->greatest <= all.greatest;
    return fits ? *range : all;
  }
  if (op.args.size() != 2) return std::nullopt;
  const auto a = range_of(p, op.args[0]);
  const auto b = range_of(p, op.args[1]);
  return a && b ? range_of_binary(op.op, *a, *b) : std::nullopt;
}

std::optional<IntegerRange> range_of_parameter(const LoopProgram& p, const std::string& name) {
  for (const ParamDecl& d : p.source->params)
    if (d.name == name && d.is_integer && d.lower && d.upper)
      return IntegerRange{*d.lower, *d.upper};
  return std::nullopt;
}

/// Returns the range of the name's value; names are bound once in a program.
std::optional<IntegerRange> range_of_name(const LoopProgram& p, const std::string& name) {
  Value bound;
  for_each(p.body, [&](const Stmt& s) {
    const auto* let = std::get_if<Let>(&s.kind);
    if (let != nullptr && let->name == name) bound = let->value;
  });
  return bound == nullptr ? std::nullopt : range_of(p, bound);
}

std::optional<IntegerRange> range_of_guard(const LoopProgram& p, const value::Guard& g) {
  const auto then = range_of(p, g.then);
  return then && !g.otherwise.is_real() ? hull({then->least, then->greatest, g.otherwise.integer()})
                                        : std::nullopt;
}

/// Returns the greatest absolute value; nullopt if the value does not fit 16 bits.
std::optional<std::int64_t> size_in_sixteen_bits(const LoopProgram& p, const Value& v) {
  const auto range = range_of(p, v);
  if (!range || range->least < -kMaxOfSixteenBits || range->greatest > kMaxOfSixteenBits)
    return std::nullopt;
  return std::max(-range->least, range->greatest);
}

const SharedOperand* operand_in(const TiledReduction& r, const Value& v) {
  const auto* bound = std::get_if<value::Named>(&v->kind);
  if (bound == nullptr) return nullptr;
  for (std::size_t k = 0; k < r.shared.operands.size(); ++k)
    if (bound->name == operand_name(k)) return &r.shared.operands[k];
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
  return a && b ? product(*a, *b) : std::nullopt;
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

std::optional<IntegerRange> range_of(const LoopProgram& p, const Value& v) {
  if (is_real(v->dtype)) return std::nullopt;
  return std::visit(
      Overloaded{[](const value::Constant& c) {
                   return std::optional(IntegerRange{c.number.integer(), c.number.integer()});
                 },
                 [&](const value::Index& index) {
                   const auto symbol = index.e.as_symbol();
                   return symbol ? range_of_parameter(p, symbol->name()) : std::nullopt;
                 },
                 [&](const value::Param& param) { return range_of_parameter(p, param.name); },
                 [&](const value::Load& load) {
                   const bool is_given = find_tensor(p, load.tensor)->role == TensorRole::input;
                   return is_given ? std::optional(integer_range(v->dtype)) : std::nullopt;
                 },
                 [&](const value::Op& op) { return range_of_op(p, op, v->dtype); },
                 [&](const value::Guard& g) { return range_of_guard(p, g); },
                 [](const value::Accumulated&) { return std::optional<IntegerRange>(); },
                 [&](const value::Named& bound) { return range_of_name(p, bound.name); }},
      v->kind);
}

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
