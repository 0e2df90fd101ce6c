// SPDX-License-Identifier: Apache-2.0
// Writes loops that take the elements of panels in the order of memory as one loop; where they copy
// an input whose elements may lie so, if these do.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "c/writer.h"
#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"

namespace mote::emit {
namespace {

/// Returns the loop and those directly below it, down to the first whose body is no single loop, or
/// an unrolled one; empty if one of them is of another kind than serial, other than a last simd
/// loop.
std::vector<const Loop*> chain_from(const Loop& first) {
  std::vector<const Loop*> chain;
  for (const Loop* l = &first; l->kind != LoopKind::unrolled; l = as_loop(l->body.front())) {
    const bool is_last = l->body.size() != 1 || as_loop(l->body.front()) == nullptr;
    const bool is_plain = l->kind == LoopKind::serial || (l->kind == LoopKind::simd && is_last);
    if (!is_plain || l->step != Expr(1) || !l->accumulators.empty() || !l->adjacent_under.empty() ||
        !l->adjacent_under_ones.empty())
      return {};
    chain.push_back(l);
    if (is_last) return chain;
  }
  return chain;
}

/// Returns the step of the chain's first loop along its axis of the temporary: if it is 1, the
/// chain's iterations take the elements in the order of memory. Returns 1 if they all take the same
/// element, and nullopt if no step gives that order.
std::optional<Expr> step_in_order(const TensorDecl& t, const std::vector<Expr>& index,
                                  const std::vector<const Loop*>& chain) {
  const auto moves = [&](const Expr& e) {
    return std::ranges::any_of(chain, [&](const Loop* l) { return e.mentions(l->variable); });
  };
  const auto first = std::ranges::find_if(index, moves);
  if (first == index.end()) return Expr(1);
  if (t.role != TensorRole::temporary) return std::nullopt;
  const auto axis = static_cast<std::size_t>(first - index.begin());
  if (axis + chain.size() > index.size()) return std::nullopt;
  const auto along_first = linear_in(index[axis], chain.front()->variable);
  if (!along_first || along_first->factor.has_load() || moves(along_first->rest))
    return std::nullopt;
  for (std::size_t k = 1; k < chain.size(); ++k) {
    const Loop& l = *chain[k];
    if (index[axis + k] != Expr(l.variable) || l.begin != Expr(0) || l.end != t.shape[axis + k])
      return std::nullopt;
  }
  if (std::any_of(first + static_cast<std::ptrdiff_t>(chain.size()), index.end(), moves))
    return std::nullopt;
  return along_first->factor;
}

bool is_in_order(const TensorDecl& t, const std::vector<Expr>& index,
                 const std::vector<const Loop*>& chain) {
  return step_in_order(t, index, chain) == Expr(1);
}

/// Returns true if a branch in the body holds loops that are not unrolled, or if a condition or a
/// value depends on the chain's variables themselves, not on the elements that they lead to.
bool reads_variables(const Body& body, const std::vector<const Loop*>& chain) {
  bool found = std::ranges::any_of(
      body, [](const Stmt& s) { return nested_body(s) != nullptr && as_loop(s) == nullptr; });
  const auto read = [&](const Expr& e) {
    for (const Loop* l : chain) found = found || e.mentions(l->variable);
  };
  for_each(body, [&](const Stmt& s) {
    if (const auto* branch = std::get_if<If>(&s.kind))
      for (const Condition& c : branch->conditions) read(c.e);
    for_each_value(s, [&](const Value& v) {
      if (const auto* guard = std::get_if<value::Guard>(&v->kind))
        for (const Condition& c : guard->conditions) read(c.e);
      if (const auto* index = std::get_if<value::Index>(&v->kind)) read(index->e);
    });
  });
  return found;
}

struct PanelLoops {
  std::vector<const Loop*> loops;
  std::set<Expr> steps = {};
  /// Ordered panels whose elements the loops take in the order of memory only if those along the
  /// last axis are adjacent.
  std::set<const TensorDecl*> in_rows = {};
};

/// Returns the strides that the text for the loops as one relies on.
std::vector<KnownStride> strides_in_rows(const LoopProgram& p) {
  std::vector<KnownStride> strides;
  for (const TensorDecl& t : p.tensors)
    if (t.ordered_like) strides.push_back({t.name, static_cast<int>(t.shape.size()) - 1, 1});
  return strides;
}

/// Returns true if the loops are two from 0 on over the terms of a tile.
bool have_one_text(const std::vector<const Loop*>& chain) {
  const Body& body = chain.back()->body;
  const Loop* unrolled = body.size() != 1 ? nullptr : as_loop(body.front());
  return chain.size() == 2 && chain.front()->begin == Expr(0) && unrolled != nullptr &&
         unrolled->kind == LoopKind::unrolled;
}

/// Returns true if the loops store a constant in each element of the tensor.
bool fill_all(const TensorDecl& t, const std::vector<const Loop*>& chain) {
  const Body& body = chain.back()->body;
  const auto* store = body.size() != 1 ? nullptr : std::get_if<Store>(&body.front().kind);
  return store != nullptr && store->tensor == t.name && chain.size() == t.shape.size() &&
         std::holds_alternative<value::Constant>(store->value->kind) &&
         chain.front()->begin == Expr(0) && chain.front()->end == t.shape.front();
}

/// Returns the loops whose statements take the elements of panels in the order of memory, from the
/// first on, which are written as one, and the steps of the first that have to be 1 for it; no
/// loops if they are not several.
PanelLoops loops_in_order(const LoopProgram& p, const Loop& first) {
  PanelLoops found;
  if (p.vector_bytes == 0) return found;
  const std::vector<const Loop*> chain = chain_from(first);
  if (chain.size() < 2 || reads_variables(chain.back()->body, chain)) return found;
  for (const Access& a : accesses(chain.back()->body)) {
    const TensorDecl& t = *find_tensor(p, a.tensor);
    const auto step = step_in_order(t, a.index, chain);
    if (!step || mentions_loop(*step) || (step->constant() && *step != Expr(1))) return found;
    if (*step != Expr(1)) found.steps.insert(*step);
    if (t.ordered_like && a.index.back().mentions(chain.back()->variable) && !fill_all(t, chain))
      found.in_rows.insert(&t);
  }
  found.loops = chain;
  return found;
}

}  // namespace

/// Returns the loop in the body of the first that fills rows of a panel with it; null if that is
/// not all that the first does.
const Loop* loop_over_rows(const LoopProgram& p, const Loop& first) {
  const bool is_plain = first.kind == LoopKind::serial && first.step == Expr(1) &&
                        first.accumulators.empty() && first.body.size() == 1;
  const Loop* row = is_plain ? as_loop(first.body.front()) : nullptr;
  if (row == nullptr || row->kind != LoopKind::simd || row->step != Expr(1) ||
      row->begin != Expr(0) || row->end.constant() || row->adjacent_under.empty() ||
      !row->adjacent_under_ones.empty() || row->body.size() != 1)
    return nullptr;
  const auto* store = std::get_if<Store>(&row->body.front().kind);
  const bool fills = store != nullptr &&
                     find_tensor(p, store->tensor)->role == TensorRole::temporary &&
                     is_in_order(*find_tensor(p, store->tensor), store->index, {&first, row});
  return fills ? row : nullptr;
}

/// Returns the axis whose index changes with the variable, and by how much; nullopt unless it is
/// one.
std::optional<std::pair<std::size_t, Expr>> step_along(const std::vector<Expr>& index, Symbol v) {
  std::optional<std::pair<std::size_t, Expr>> found;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    if (!index[axis].mentions(v)) continue;
    const auto linear = linear_in(index[axis], v);
    if (found || !linear || linear->factor.has_load()) return std::nullopt;
    found = {axis, linear->factor};
  }
  return found;
}

/// Returns the loops, from the first on, that are written as one in every call.
std::vector<const Loop*> Writer::loops_over_panels(const Loop& first) const {
  PanelLoops found = loops_in_order(p_, first);
  return found.steps.empty() && found.in_rows.empty() ? std::move(found.loops)
                                                      : std::vector<const Loop*>{};
}

/// Writes the two loops over the terms of a tile once: where the test holds, the first has one
/// iteration, and the second those of both. The rows are read by pointers, since an index of each
/// row would change in both loops.
void Writer::loops_with_ends(const std::vector<const Loop*>& chain, const std::string& test,
                             const Facts& facts) {
  const Loop& first = *chain.front();
  const Loop& second = *chain.back();
  const auto limits = limits_;
  const std::string as_one = names_.fresh("as_one");
  line(fmt::format("const int64_t {} = {};", as_one, test));
  const auto end_of = [&](const Loop& l, const Expr& if_one) {
    const std::string name = names_.fresh(names_.symbol(l.variable) + "_end");
    line(fmt::format("const int64_t {} = {} ? {} : {};", name, as_one,
                     printer_.expr(if_one, facts).text, limit(l.end, name, facts).text));
    return Text{name};
  };
  const Text end = end_of(first, 1);
  limits_[&second.end] = end_of(second, first.end * second.end);
  limits_[&first.end] = end;
  row_pointers_ = pointers_to_rows(chain, facts);
  loop_apart(first, facts);
  row_pointers_ = {};
  limits_ = limits;
}

/// Writes the loops as one where the steps are 1, and as they are where not; returns false if there
/// are no such loops.
bool Writer::loops_in_order_or_apart(const Loop& first, const Facts& facts) {
  if (apart_ == &first) return false;
  const PanelLoops found = loops_in_order(p_, first);
  if (found.loops.empty()) return false;
  std::vector<std::string> tests;
  for (const Expr& step : found.steps)
    tests.push_back(fmt::format("{} == 1", within(printer_.expr(step, facts), kEquality)));
  for (const TensorDecl* t : found.in_rows)
    tests.push_back(fmt::format("{} == 1", printer_.named_stride(t->name, t->shape.size() - 1)));
  const std::string test = fmt::format("{}", fmt::join(tests, " && "));
  if (!found.in_rows.empty() && have_one_text(found.loops)) {
    loops_with_ends(found.loops, test, facts);
    return true;
  }
  in_two_forms(
      test, [&] { loop_over_panels(found.loops, facts); }, [&] { loop_apart(first, facts); });
  return true;
}

/// Writes a loop that the program does not hold. What is known by the addresses of its parts is
/// forgotten afterwards, since other loops may get these addresses.
void Writer::loop_of_its_own(const Loop& l, const Facts& facts) {
  const auto limits = limits_;
  const auto rows = rows_ahead_;
  loop(l, facts);
  limits_ = limits;
  rows_ahead_ = rows;
}

/// Writes the loop without taking it and the one in it together.
void Writer::loop_apart(const Loop& l, const Facts& facts) {
  apart_ = &l;
  loop(l, facts);
  apart_ = nullptr;
}

void Writer::loop_over_panels(const std::vector<const Loop*>& chain, const Facts& facts) {
  Body body = chain.back()->body;
  Expr inner = 1;
  std::string hint;
  std::map<Symbol, Expr> at_start;
  for (const Loop* l : chain) {
    hint += (hint.empty() ? "" : "_") + l->variable.name();
    at_start.emplace(l->variable, 0);
    if (l != chain.front()) inner = inner * l->end;
  }
  const Symbol flat(SymbolKind::loop, names_.fresh(hint));
  names_.add_local(flat.name());
  at_start[chain.back()->variable] = Expr(flat);
  substitute(body, at_start);
  const Loop& first = *chain.front();
  printer_.assume(strides_in_rows(p_));
  loop_of_its_own(
      {flat, first.begin * inner, first.end * inner, 1, {}, std::move(body), chain.back()->kind},
      facts);
  printer_.assume({});
}

/// Returns the test whether the loop and the one in it, which copy to a panel, take the elements of
/// the input as one run, as windows of NHWC do; empty if no strides make them do so.
std::string Writer::test_of_one_run(const Loop& first) const {
  const Loop* row = p_.vector_bytes == 0 || apart_ == &first ? nullptr : loop_over_rows(p_, first);
  if (row == nullptr || reads_variables(row->body, {&first, row})) return "";
  const Facts facts = base_facts(*p_.source);
  std::vector<std::string> tests = {adjacent_test(*row, 1)};
  for (const Access& a : accesses(row->body)) {
    if (a.write) continue;
    const TensorDecl& t = *find_tensor(p_, a.tensor);
    const auto from_row = step_along(a.index, first.variable);
    const auto in_row = step_along(a.index, row->variable);
    if (!from_row && !in_row && t.role != TensorRole::temporary) continue;
    if (t.role != TensorRole::input || !from_row || !in_row || from_row->first == in_row->first ||
        in_row->second != Expr(1))
      return "";
    const std::string& stride = printer_.named_stride(t.name, from_row->first);
    const Text step = printer_.expr(from_row->second, facts);
    tests.push_back(fmt::format("{}{} == {}",
                                from_row->second == Expr(1) ? "" : within(step, kProduct) + " * ",
                                stride, printer_.expr(row->end, facts).text));
    if (std::find(tests.begin(), tests.end() - 1, tests.back()) != tests.end() - 1)
      tests.pop_back();
  }
  return fmt::format("{}", fmt::join(tests, " && "));
}

void Writer::loops_in_one_run(const Loop& first, const std::string& test, const Facts& facts) {
  const Loop& row = *as_loop(first.body.front());
  const Symbol flat(SymbolKind::loop,
                    names_.fresh(first.variable.name() + "_" + row.variable.name()));
  names_.add_local(flat.name());
  Body body = row.body;
  substitute(body, {{first.variable, 0}, {row.variable, Expr(flat)}});
  const auto in_one_run = [&] {
    printer_.assume(row.adjacent_under);
    loop_of_its_own(
        {flat, first.begin * row.end, first.end * row.end, 1, {}, std::move(body), LoopKind::simd},
        facts);
    printer_.assume({});
  };
  in_two_forms(test, in_one_run, [&] { copy_in_lines_or_apart(first, facts); });
}

}  // namespace mote::emit
