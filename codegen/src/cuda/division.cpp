// SPDX-License-Identifier: Apache-2.0
// In: a stage; out: its statements as stages of their own: a scatter by output range, or each split
// reduction followed by the statements that need its result, with stores in loops of their own.
#include <set>
#include <string>
#include <utility>

#include "c/writer.h"
#include "distribute.h"
#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "rewriting.h"
#include "scatter_by_range.h"
#include "split_reduction.h"
#include "stages.h"

namespace mote::cuda {
namespace {

void unmark(Body& body) {
  for (Stmt& s : body) {
    if (Loop* loop = as_loop(s)) {
      loop->kind = LoopKind::serial;
      loop->work = 0;
    }
    if (Body* nested = nested_body(s)) unmark(*nested);
  }
}

std::set<std::string> tensors_touched(const Body& body) {
  std::set<std::string> all;
  for (const Access& a : accesses(body)) all.insert(a.tensor);
  return all;
}

/// Returns the tensors that other stages access.
std::set<std::string> others_touched(const Stages& all, std::size_t stage) {
  std::set<std::string> touched;
  for (std::size_t k = 0; k < all.stages.size(); ++k)
    if (k != stage) touched.merge(tensors_touched(all.stages[k].body));
  return touched;
}

/// Adds a scalar for each name that the other stages use, so that none is given anew, and returns
/// these names.
std::set<std::string> reserve_names(LoopProgram& alone, const LoopProgram& whole) {
  const std::set<std::string> own = names_used(alone);
  std::set<std::string> reserved;
  for (const std::string& name : names_used(whole)) {
    if (own.contains(name)) continue;
    reserved.insert(name);
    alone.tensors.push_back({name, TensorRole::temporary, DType::f32, {}, {}});
  }
  return reserved;
}

/// Returns the number of terms that one of the shared iterations goes over.
Expr terms_of_iterations(const Body& stage) {
  Expr terms = 0;
  for (const Loop* loop : first_of_threads(stage))
    for (const Loop* inner : emit::loops_in(threads_chain(*loop).back()->body))
      terms = max(terms, terms_of(*inner));
  return terms;
}

std::optional<SplitReduction> scattered(const LoopProgram& p, const std::set<std::string>& others) {
  const auto expanded = with_own_memory(p, others);
  if (!expanded) return scattered_by_range(p);
  const auto steps = distributed(*expanded, Steps::loops);
  return scattered_by_range(steps ? *steps : *expanded);
}

}  // namespace

std::optional<Division> divided(const Stages& all, std::size_t stage) {
  LoopProgram alone = all.program;
  alone.is_part = true;
  alone.body = all.stages[stage].body;
  unmark(alone.body);
  const std::set<std::string> reserved = reserve_names(alone, all.program);
  std::optional<SplitReduction> made;
  if (all.stages[stage].in_order) {
    made = scattered(alone, others_touched(all, stage));
    const Symbol one(SymbolKind::loop, fresh_name(alone, "one"));
    alone.body = {{Loop{one, 0, 1, 1, {}, std::move(alone.body)}}};
  }
  if (!made) {
    const auto steps = distributed(alone, Steps::loops);
    made = with_split_reduction(steps ? *steps : alone);
    if (!made && steps) made = SplitReduction{*steps, terms_of_iterations(all.stages[stage].body)};
  }
  if (!made) return std::nullopt;
  Division out{cut(made->program), made->terms};
  std::erase_if(out.parts.program.tensors,
                [&](const TensorDecl& t) { return reserved.contains(t.name); });
  verify(out.parts.program);
  return out;
}

}  // namespace mote::cuda
