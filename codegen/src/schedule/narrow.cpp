// SPDX-License-Identifier: Apache-2.0
#include "schedule/narrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "schedule/sign.h"

namespace mote {
namespace {

constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNowhereInPart = std::numeric_limits<std::int32_t>::max();

/// The value `condition ? position : kNowhere`, whose position changes by 1 with each iteration.
struct FoundPosition {
  Value condition;
  Linear position;
};

class Narrowing {
 public:
  Narrowing(LoopProgram& p, std::int64_t part)
      : p_(p), part_(part), facts_(with_upper_bounds(*p.source)) {}

  void run(Body& body) {
    for (Stmt& s : body) {
      if (Loop* loop = as_loop(s))
        if (const auto found = position_of(*loop)) s = {in_parts(std::move(*loop), *found)};
      if (Body* inner = nested_body(s)) run(*inner);
    }
  }

  std::vector<std::string> steps;

 private:
  std::optional<FoundPosition> position_of(const Loop& loop) const {
    const bool is_one = loop.kind == LoopKind::simd && loop.body.size() == 1 &&
                        loop.accumulators.size() == 1 && loop.step == Expr(1) &&
                        loop.digits.empty();
    if (!is_one || loop.begin.has_load() || loop.end.has_load()) return std::nullopt;
    const auto* fold = std::get_if<Fold>(&loop.body.front().kind);
    const auto* where = fold == nullptr ? nullptr : std::get_if<value::Op>(&fold->value->kind);
    if (where == nullptr || fold->op != ReduceOp::min || where->op != MapOp::where)
      return std::nullopt;
    const auto* index = std::get_if<value::Index>(&where->args[1]->kind);
    const auto* none = std::get_if<value::Constant>(&where->args[2]->kind);
    if (index == nullptr || none == nullptr || fold->value->dtype != DType::i64 ||
        none->number.integer() != kNowhere || index->e.has_load())
      return std::nullopt;
    const auto position = linear_in(index->e, loop.variable);
    if (!position || (position->factor != Expr(1) && !flip_of(position->factor, facts_)))
      return std::nullopt;
    return FoundPosition{where->args[0], *position};
  }

  Loop in_parts(Loop loop, const FoundPosition& found) {
    const Accumulator all = loop.accumulators.front();
    const Symbol part(SymbolKind::loop, fresh_name(p_, loop.variable.name() + "_part"));
    const std::string in_part = fresh_name(p_, all.name + "_part");
    const Linear& at = found.position;
    Loop parts{part, loop.begin, loop.end, Expr(part_), {all}, {}};
    loop.accumulators = {{in_part, ReduceOp::min, DType::i32}};
    loop.begin = Expr(part);
    loop.end = min(Expr(part) + Expr(part_), parts.end);
    const Value within =
        cast(index_value(at.factor * (Expr(loop.variable) - Expr(part))), DType::i32);
    const Value nowhere = constant(kNowhereInPart, DType::i32);
    loop.body.front() = {Fold{
        in_part, ReduceOp::min,
        op_value(MapOp::where, {found.condition, within, nowhere}, DType::i32, DType::i32), 0}};
    steps.push_back(fmt::format("{} compares the positions of {} iterations at a time in 32 bits",
                                loop.variable.name(), part_));
    const Value least = accumulated_value(in_part, DType::i32);
    const Value is_found = op_value(MapOp::lt, {least, nowhere}, DType::i32, DType::boolean);
    const Value position = op_value(
        MapOp::add, {cast(least, DType::i64), index_value(at.rest + at.factor * Expr(part))},
        DType::i64, DType::i64);
    parts.body.push_back({std::move(loop)});
    parts.body.push_back(
        {Fold{all.name, ReduceOp::min,
              op_value(MapOp::where, {is_found, position, constant(kNowhere, DType::i64)},
                       DType::i64, DType::i64),
              0}});
    return parts;
  }

  static Value cast(const Value& v, DType to) { return op_value(MapOp::cast, {v}, v->dtype, to); }

  LoopProgram& p_;
  const std::int64_t part_;
  const Facts facts_;
};

}  // namespace

std::vector<std::string> narrow_positions(LoopProgram& p, std::int64_t part) {
  Narrowing narrowing(p, part);
  narrowing.run(p.body);
  return std::move(narrowing.steps);
}

}  // namespace mote
