// SPDX-License-Identifier: Apache-2.0
// Answers questions about a loop program as a whole: its tensors, unused names, facts about the
// source's sizes and parameters, and the counts by which forms are compared.
#include "mote/codegen/loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "mote/codegen/walk.h"

namespace mote {
const TensorDecl* find_tensor(const LoopProgram& p, std::string_view name) {
  const auto found = std::find_if(p.tensors.begin(), p.tensors.end(),
                                  [name](const TensorDecl& t) { return t.name == name; });
  return found == p.tensors.end() ? nullptr : &*found;
}

Expr count_of(const LoopDigit& digit) {
  return max(0, ceil_div(digit.end - digit.begin, digit.step));
}

std::vector<Expr> digit_values(const Loop& loop) {
  std::vector<Expr> values(loop.digits.size());
  Expr left = loop.number;
  for (std::size_t k = values.size(); k-- > 0;) {
    const LoopDigit& d = loop.digits[k];
    const Expr count = count_of(d);
    values[k] = d.begin + d.step * (k == 0 ? left : left % count);
    if (k > 0) left = left / count;
  }
  return values;
}

std::set<std::string> names_used(const LoopProgram& p) {
  std::set<std::string> used;
  for (const TensorDecl& t : p.tensors) used.insert(t.name);
  for_each(p.body, [&used](const Stmt& s) {
    if (const auto* let = std::get_if<Let>(&s.kind)) used.insert(let->name);
    if (const auto* loop = std::get_if<Loop>(&s.kind)) {
      used.insert(loop->variable.name());
      for (const LoopDigit& d : loop->digits) used.insert(d.variable.name());
      for (const Accumulator& a : loop->accumulators) used.insert(a.name);
    }
  });
  if (p.source) {
    for (const ParamDecl& param : p.source->params) used.insert(param.name);
    for (const NamedSize& size : p.source->sizes) used.insert(size.name);
    for (const SizeRule& rule : p.source->size_rules) used.insert(rule.size.name());
  }
  return used;
}

std::string fresh_name(const LoopProgram& p, std::string_view hint) {
  const std::set<std::string> used = names_used(p);
  std::string stem(hint.empty() ? "t" : hint);
  if (!used.contains(stem)) return stem;
  if (std::isdigit(static_cast<unsigned char>(stem.back())) != 0) stem += '_';
  for (int k = 2;; ++k) {
    std::string name = fmt::format("{}{}", stem, k);
    if (!used.contains(name)) return name;
  }
}

Facts base_facts(const Program& source) { return facts_of(source.params); }

LoopCount count(const LoopProgram& p) {
  LoopCount n;
  for (const TensorDecl& t : p.tensors) {
    if (t.role != TensorRole::temporary || t.shape.empty()) continue;
    ++n.temporaries;
    n.temporary_axes += static_cast<int>(t.shape.size());
  }
  for (const Stmt& s : p.body) n.nests += std::holds_alternative<Loop>(s.kind) ? 1 : 0;
  for_each(p.body, [&n](const Stmt& s) {
    n.loops += std::holds_alternative<Loop>(s.kind) ? 1 : 0;
    n.conditions += std::holds_alternative<If>(s.kind) ? 1 : 0;
    n.scatters += std::holds_alternative<StoreReduce>(s.kind) ? 1 : 0;
    for_each_value(s, [&n](const Value& v) {
      n.conditions += std::holds_alternative<value::Guard>(v->kind) ? 1 : 0;
    });
  });
  return n;
}

}  // namespace mote
