// SPDX-License-Identifier: Apache-2.0
#include "ir/integer_range.h"

#include <algorithm>
#include <initializer_list>

#include "mote/base/overloaded.h"
#include "mote/codegen/walk.h"

namespace mote {
namespace {

using Range = std::optional<IntegerRange>;

}  // namespace

bool fits(const Range& range, DType dtype) {
  const IntegerRange all = integer_range(dtype);
  return range && range->least >= all.least && range->greatest <= all.greatest;
}

namespace {

Range hull(std::initializer_list<std::optional<std::int64_t>> values) {
  Range range;
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

Range range_of_binary(MapOp op, IntegerRange a, IntegerRange b) {
  switch (op) {
    case MapOp::add:
      return hull({sum(a.least, b.least), sum(a.greatest, b.greatest)});
    case MapOp::sub:
      return hull({difference(a.least, b.greatest), difference(a.greatest, b.least)});
    case MapOp::mul:
      return hull({product(a.least, b.least), product(a.least, b.greatest),
                   product(a.greatest, b.least), product(a.greatest, b.greatest)});
    case MapOp::max:
      return IntegerRange{std::max(a.least, b.least), std::max(a.greatest, b.greatest)};
    case MapOp::min:
      return IntegerRange{std::min(a.least, b.least), std::min(a.greatest, b.greatest)};
    default:
      return std::nullopt;
  }
}

Range range_of_parameter(const LoopProgram& p, const std::string& name) {
  for (const ParamDecl& d : p.source->params)
    if (d.name == name && d.is_integer && d.lower && d.upper)
      return IntegerRange{*d.lower, *d.upper};
  return std::nullopt;
}

class Ranges {
 public:
  Ranges(const LoopProgram& p, const std::function<Range(const std::string&)>& range_of_name)
      : p_(p), range_of_name_(range_of_name) {}

  Range of(const Value& v) const {
    if (is_real(v->dtype)) return std::nullopt;
    return std::visit(
        Overloaded{[](const value::Constant& c) {
                     return Range(IntegerRange{c.number.integer(), c.number.integer()});
                   },
                   [&](const value::Index& index) {
                     const auto symbol = index.e.as_symbol();
                     return symbol ? range_of_parameter(p_, symbol->name()) : std::nullopt;
                   },
                   [&](const value::Param& param) { return range_of_parameter(p_, param.name); },
                   [&](const value::Load& load) { return of_load(load, v->dtype); },
                   [&](const value::Op& op) { return of_op(op, v->dtype); },
                   [&](const value::Guard& g) { return of_guard(g); },
                   [](const value::Accumulated&) { return Range(); },
                   [&](const value::Named& named) { return range_of_name_(named.name); }},
        v->kind);
  }

 private:
  Range of_load(const value::Load& load, DType dtype) const {
    const TensorDecl* t = find_tensor(p_, load.tensor);  // null: an array of a tile under way
    const bool is_given = t != nullptr && t->role == TensorRole::input;
    return is_given ? Range(integer_range(dtype)) : std::nullopt;
  }

  Range of_op(const value::Op& op, DType dtype) const {
    if (dtype == DType::boolean) return integer_range(dtype);
    if (op.op == MapOp::cast) {
      const Range range = of(op.args[0]);
      return fits(range, dtype) ? range : integer_range(dtype);
    }
    if (op.args.size() == 1) return of_unary(op);
    const std::size_t first = op.op == MapOp::where ? 1 : 0;
    const Range a = of(op.args[first]);
    const Range b = of(op.args[first + 1]);
    if (!a || !b) return std::nullopt;
    if (op.op == MapOp::where) return hull({a->least, a->greatest, b->least, b->greatest});
    return range_of_binary(op.op, *a, *b);
  }

  Range of_unary(const value::Op& op) const {
    const Range x = of(op.args[0]);
    if (!x || (op.op != MapOp::neg && op.op != MapOp::abs)) return std::nullopt;
    const Range negated = range_of_binary(MapOp::sub, {0, 0}, *x);
    if (op.op == MapOp::neg || !negated) return negated;
    return IntegerRange{std::max({x->least, negated->least, std::int64_t{0}}),
                        std::max(x->greatest, negated->greatest)};
  }

  Range of_guard(const value::Guard& g) const {
    const Range then = of(g.then);
    return then && !g.otherwise.is_real()
               ? hull({then->least, then->greatest, g.otherwise.integer()})
               : std::nullopt;
  }

  const LoopProgram& p_;
  const std::function<Range(const std::string&)>& range_of_name_;
};

}  // namespace

Range range_of(const LoopProgram& p, const Value& v,
               const std::function<Range(const std::string&)>& range_of_name) {
  return Ranges(p, range_of_name).of(v);
}

Range range_of(const LoopProgram& p, const Value& v) {
  return range_of(p, v, [&](const std::string& name) {
    Value value;  // names are bound once in a program
    for_each(p.body, [&](const Stmt& s) {
      const auto* let = std::get_if<Let>(&s.kind);
      if (let != nullptr && let->name == name) value = let->value;
    });
    return value == nullptr ? std::nullopt : range_of(p, value);
  });
}

std::set<std::string> short_extrema(const LoopProgram& p, const Body& body) {
  std::set<std::string> known, others;
  for_each(body, [&](const Stmt& s) {
    const auto* fold = std::get_if<Fold>(&s.kind);
    if (fold == nullptr) return;
    const DType dtype = fold->value->dtype;
    const bool is_extremum = fold->op == ReduceOp::max || fold->op == ReduceOp::min;
    const bool is_short = is_integer(dtype) && dtype != DType::i64 && is_extremum;
    const bool is_known = is_short && fits(range_of(p, fold->value), DType::i32);
    (is_known ? known : others).insert(fold->accumulator);
  });
  for (const std::string& name : others) known.erase(name);
  return known;
}

}  // namespace mote
