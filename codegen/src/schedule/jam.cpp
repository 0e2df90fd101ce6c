// SPDX-License-Identifier: Apache-2.0
#include "schedule/jam.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "schedule/iterations.h"
#include "schedule/tile.h"

namespace mote {
namespace {

/// The most nodes of a term: a costly one gains nothing.
constexpr int kMaxNodes = 8;

bool is_cheap(const Value& v) {
  int nodes = 0;
  bool cheap = true;
  for_each_value(v, [&](const Value& node) {
    ++nodes;
    const auto* op = std::get_if<value::Op>(&node->kind);
    const bool is_arithmetic = op == nullptr || op->op == MapOp::add || op->op == MapOp::sub ||
                               op->op == MapOp::mul || op->op == MapOp::max || op->op == MapOp::min;
    cheap = cheap && is_arithmetic && !std::holds_alternative<value::Guard>(node->kind);
  });
  return cheap && nodes <= kMaxNodes;
}

class Jam {
 public:
  Jam(LoopProgram& p, std::int64_t rows) : p_(p), rows_(rows), facts_(base_facts(*p.source)) {}

  void run(Body& body) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      Body* inner = nested_body(body[k]);
      if (inner == nullptr) continue;
      Loop* loop = as_loop(body[k]);
      if (loop == nullptr || !is_reduction_of_rows(*loop)) {
        const Facts before = facts_;
        if (loop != nullptr) facts_.set_range(loop->variable, loop->begin, loop->end);
        run(*inner);
        facts_ = before;
        continue;
      }
      Body parts = jammed(*loop);
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(k));
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(k), parts.begin(), parts.end());
      k += parts.size() - 1;
    }
  }

  std::vector<std::string> steps;

 private:
  /// Returns true for a serial loop over rows around one simd loop, whose statements reduce into
  /// elements that are the same for each row, and read nothing that they write.
  bool is_reduction_of_rows(const Loop& rows) const {
    if (rows.kind != LoopKind::serial || rows.step != Expr(1) || !rows.accumulators.empty() ||
        rows.body.size() != 1 || (rows.begin != Expr(0) && !rows.begin.as_symbol()) ||
        !facts_.prove_nonneg(rows.end - rows.begin))
      return false;
    const Loop* lanes = as_loop(rows.body.front());
    if (lanes == nullptr || lanes->kind != LoopKind::simd || !lanes->accumulators.empty() ||
        lanes->begin.mentions(rows.variable) || lanes->end.mentions(rows.variable) ||
        !outer_folds(*lanes).empty())
      return false;
    const std::set<std::string> written = tensors_written(lanes->body);
    for (const Access& a : accesses(lanes->body))
      if (!a.write && written.contains(a.tensor)) return false;
    if (std::ranges::all_of(lanes->body, [&](const Stmt& s) { return adds_kept_values(s); }))
      return false;
    return std::ranges::all_of(lanes->body, [&](const Stmt& s) {
      const auto* sum = std::get_if<StoreReduce>(&s.kind);
      return sum != nullptr && sum->op != ScatterOp::set && is_cheap(sum->value) &&
             std::ranges::none_of(sum->index, [&](const Expr& e) {
               return e.has_load() || e.mentions(rows.variable);
             });
    });
  }

  /// Returns true if the statement adds an element of a temporary: partial sums are few.
  bool adds_kept_values(const Stmt& s) const {
    const auto* sum = std::get_if<StoreReduce>(&s.kind);
    const auto* load = sum == nullptr ? nullptr : std::get_if<value::Load>(&sum->value->kind);
    return load != nullptr && find_tensor(p_, load->tensor)->role == TensorRole::temporary;
  }

  Body jammed(const Loop& rows) {
    const Symbol first = fresh(rows.variable.name() + "_rows");
    const Symbol left = fresh(rows.variable.name() + "_left");
    steps.push_back(fmt::format("jam {} rows of {}", rows_, rows.variable.name()));
    Loop many{first, rows.begin, rows.end - (rows_ - 1), rows_, {}, rows.body};
    Loop& lanes = *as_loop(many.body.front());
    const Body one = std::move(lanes.body);
    lanes.body.clear();
    if (may_meet_inputs(one)) {
      lanes.body = in_names(one, rows.variable, Expr(first));
    } else {
      for (std::int64_t row = 0; row < rows_; ++row)
        append(lanes.body, one, rows.variable, Expr(first) + row);
    }
    const Expr whole = rows.begin + (rows.end - rows.begin) / rows_ * rows_;
    Loop rest{left, rows.begin == Expr(0) ? whole : max(rows.begin, whole), rows.end, 1, {}, {}};
    append(rest.body, rows.body, rows.variable, Expr(left));
    Loop& last = *as_loop(rest.body.front());
    const Symbol lane = fresh(last.variable.name());
    substitute(last.body, {{last.variable, Expr(lane)}});
    last.variable = lane;
    Body parts;
    parts.push_back({std::move(many)});
    parts.push_back({std::move(rest)});
    return parts;
  }

  /// Returns true if a compiler, which does not know that the arrays of the sums are apart from the
  /// inputs, would store the sums after each row. Each of them adds to an array of its own.
  bool may_meet_inputs(const Body& sums) const {
    std::set<std::string> arrays;
    return std::ranges::all_of(sums, [&](const Stmt& s) {
      const auto& sum = std::get<StoreReduce>(s.kind);
      const TensorDecl& t = *find_tensor(p_, sum.tensor);
      return t.role == TensorRole::temporary && !t.per && is_real(t.dtype) &&
             sum.op == ScatterOp::add && arrays.insert(t.name).second;
    });
  }

  /// Returns the statements for all rows: each sum has a name until it has the last one's term.
  Body in_names(const Body& sums, Symbol variable, const Expr& first) {
    Body out, stores;
    std::vector<Value> now(sums.size());
    for (std::int64_t row = 0; row < rows_; ++row) {
      Body terms = sums;
      substitute(terms, {{variable, first + row}});
      for (std::size_t k = 0; k < terms.size(); ++k) {
        const auto& term = std::get<StoreReduce>(terms[k].kind);
        const DType dtype = find_tensor(p_, term.tensor)->dtype;
        if (row == 0) now[k] = load_value(term.tensor, term.index, dtype);
        now[k] = op_value(MapOp::add, {now[k], term.value}, dtype, dtype);
        if (row + 1 == rows_) {
          stores.push_back({Store{term.tensor, term.index, now[k]}});
        } else {
          const std::string name = fresh(term.tensor + "_value").name();
          out.push_back({Let{name, now[k]}});
          now[k] = named_value(name, dtype);
        }
      }
    }
    std::ranges::move(stores, std::back_inserter(out));
    return out;
  }

  static void append(Body& to, Body statements, Symbol variable, const Expr& by) {
    substitute(statements, {{variable, by}});
    std::ranges::move(statements, std::back_inserter(to));
  }

  Symbol fresh(const std::string& hint) { return Tiler::fresh_variable(p_, hint, used_); }

  const LoopProgram& p_;
  const std::int64_t rows_;
  Facts facts_;  ///< of the loops around
  std::set<std::string> used_;
};

}  // namespace

std::vector<std::string> jam_rows(LoopProgram& p, std::int64_t rows) {
  Body body = p.body;
  Jam jam(p, rows);
  jam.run(body);
  p.body = std::move(body);
  return std::move(jam.steps);
}

}  // namespace mote
