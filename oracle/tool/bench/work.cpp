// SPDX-License-Identifier: Apache-2.0
// A loop is walked by its values only if limits or conditions below depend on it; otherwise its
// body counts once, times the number of iterations.
#include "bench/work.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

#include "mote/codegen/passes.h"
#include "mote/codegen/walk.h"
#include "schedule/scan.h"

namespace mote::tool {
namespace {

struct Count {
  double operations = 0;
  std::map<std::string, double> reads;  ///< by tensor

  void add(const Count& other, double times) {
    operations += other.operations * times;
    for (const auto& [tensor, number] : other.reads) reads[tensor] += number * times;
  }
};

bool is_arithmetic(MapOp op) {
  switch (op) {
    case MapOp::add:
    case MapOp::sub:
    case MapOp::mul:
    case MapOp::div:
    case MapOp::mod:
    case MapOp::min:
    case MapOp::max:
    case MapOp::recip:
      return true;
    default:
      return is_transcendental(op);
  }
}

bool has_loads(const Expr& e) {
  bool found = false;
  for_each_load(e, [&](const Atom&) { found = true; });
  return found;
}

void add_symbols(std::set<Symbol>& all, const Expr& e) {
  for (const Symbol& s : e.symbols()) all.insert(s);
}

class WorkCounter {
 public:
  explicit WorkCounter(std::map<Symbol, std::int64_t> values) : values_(std::move(values)) {}

  Count count(const Body& body) {
    Count total;
    for (const Stmt& s : body) total.add(count(s), 1);
    return total;
  }

 private:
  Count count(const Stmt& s) {
    if (const auto* loop = std::get_if<Loop>(&s.kind)) return count(*loop);
    if (const auto* branch = std::get_if<If>(&s.kind))
      return holds(branch->conditions) ? count(branch->body) : Count();
    Count leaf;
    std::unordered_set<const ValueNode*> seen;
    for_each_value(s, [&](const Value& v) {
      const auto* op = std::get_if<value::Op>(&v->kind);
      if (op != nullptr && is_arithmetic(op->op) && seen.insert(v.get()).second) ++leaf.operations;
    });
    const bool folds =
        std::holds_alternative<Fold>(s.kind) || std::holds_alternative<StoreReduce>(s.kind);
    if (folds) ++leaf.operations;
    for_each_access(s, [&](const std::string& tensor, const std::vector<Expr>&, bool write) {
      if (!write) ++leaf.reads[tensor];
    });
    return leaf;
  }

  Count count(const Loop& loop) {
    const std::int64_t begin = evaluate(loop.begin, values_);
    const std::int64_t end = evaluate(loop.end, values_);
    const std::int64_t step = evaluate(loop.step, values_);
    Count total;
    if (begin >= end) return total;
    if (steering(loop).contains(loop.variable)) {
      for (std::int64_t at = begin; at < end; at += step) {
        values_[loop.variable] = at;
        total.add(count(loop.body), 1);
      }
    } else {
      values_[loop.variable] = begin;
      total.add(count(loop.body), static_cast<double>((end - begin + step - 1) / step));
    }
    values_.erase(loop.variable);
    return total;
  }

  /// The symbols on which limits and conditions in the loop's body depend.
  const std::set<Symbol>& steering(const Loop& loop) {
    const auto [at, is_new] = steering_.try_emplace(&loop);
    if (!is_new) return at->second;
    std::set<Symbol> symbols;
    for_each(loop.body, [&](const Stmt& s) {
      if (const auto* inner = std::get_if<Loop>(&s.kind)) {
        for (const Expr* e : {&inner->begin, &inner->end, &inner->step}) add_symbols(symbols, *e);
      } else if (const auto* branch = std::get_if<If>(&s.kind)) {
        for (const Condition& c : branch->conditions)
          if (!has_loads(c.e)) add_symbols(symbols, c.e);
      }
    });
    return steering_[&loop] = std::move(symbols);
  }

  bool holds(const Conditions& conditions) const {
    return std::ranges::all_of(conditions, [&](const Condition& c) {
      if (has_loads(c.e)) return true;
      const std::int64_t value = evaluate(c.e, values_);
      return c.kind == Condition::Kind::zero ? value == 0 : value >= 0;
    });
  }

  std::map<Symbol, std::int64_t> values_;
  std::map<const Loop*, std::set<Symbol>> steering_;
};

/// The number of distinct elements in memory: an axis that repeats has one.
double distinct(const CaseTensor& t) {
  double count = 1;
  for (std::size_t k = 0; k < t.shape.size(); ++k) {
    const bool repeats =
        std::ranges::find(t.layout.repeated, static_cast<int>(k)) != t.layout.repeated.end();
    count *= repeats ? 1 : static_cast<double>(t.shape[k]);
  }
  return count;
}

/// The program of the outputs that the case asks for.
std::shared_ptr<const Program> asked(const Case& c) {
  if (std::ranges::none_of(c.outputs, &CaseTensor::left_out)) return c.program;
  auto program = std::make_shared<Program>(*c.program);
  std::vector<Output> outputs;
  for (std::size_t k = 0; k < c.outputs.size(); ++k)
    if (!c.outputs[k].left_out) outputs.push_back(program->outputs[k]);
  program->outputs = std::move(outputs);
  return program;
}

}  // namespace

OpWork work_of(const Case& c) {
  LoopProgram loops = compile(asked(c));
  scan_prefixes(loops);
  const Count count = WorkCounter(c.binding.values).count(loops.body);
  OpWork work{.operations = count.operations};
  for (const CaseTensor& t : c.inputs) {
    const auto reads = count.reads.find(t.name);
    if (reads == count.reads.end()) continue;
    work.read_bytes += std::min(distinct(t), reads->second) * static_cast<double>(size_of(t.dtype));
  }
  for (const CaseTensor& t : c.outputs)
    if (!t.left_out) work.written_bytes += distinct(t) * static_cast<double>(size_of(t.dtype));
  return work;
}

}  // namespace mote::tool
