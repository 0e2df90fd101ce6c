// SPDX-License-Identifier: Apache-2.0
// In: the loops of a stage; out: one loop over its iterations, in which each tensor is read and
// stored at the iteration's own index, so that without gaps adjacent iterations access adjacent
// elements. For `threads for r { for n { y[r, n] = x[r, n] } }`:
//
//   threads for flat_start in 0..count step 4 { simd for flat in flat_start..min(count, … + 4) {
//     y[flat] = x[flat] } }
#include "vector_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/dependence.h"
#include "mote/base/dtype.h"
#include "mote/codegen/walk.h"
#include "rewriting.h"

namespace mote::cuda {
namespace {

class VectorFinder {
 public:
  VectorFinder(const LoopProgram& p, const Body& stage) : p_(p), stage_(stage) {}

  std::optional<VectorForm> run() {
    if (!find_loops() || !has_plain_iterations() || !part_accesses()) return std::nullopt;
    flatten();
    if (mentions_old_variables()) return std::nullopt;
    return std::move(form_);
  }

 private:
  bool find_loops() {
    const auto is_name = [](const Stmt& s) { return std::holds_alternative<Let>(s.kind); };
    if (stage_.empty() || !std::all_of(stage_.begin(), stage_.end() - 1, is_name)) return false;
    const auto* first = std::get_if<Loop>(&stage_.back().kind);
    if (first == nullptr || first->kind != LoopKind::threads) return false;
    const std::vector<const Loop*> chain = threads_chain(*first);
    for (const Loop* loop : chain) {
      if (loop->begin != Expr(0) || loop->step != Expr(1) || loop->end.has_load()) return false;
      if (mentions_variables(loop->end)) return false;
      variables_.push_back(loop->variable);
      location_.emplace_back(loop->variable);
      form_.extents.push_back(loop->end);
    }
    round_ = chain.back();
    return true;
  }

  bool has_plain_iterations() const {
    return std::ranges::all_of(round_->body, [](const Stmt& s) {
      return std::holds_alternative<Let>(s.kind) || std::holds_alternative<Store>(s.kind);
    });
  }

  /// Separates elements at the iteration's own index from all others, which must be scalars.
  bool part_accesses() {
    std::set<std::string> loads, stores, others;
    for (const Access& a : accesses(round_->body)) {
      const TensorDecl* t = find_tensor(p_, a.tensor);
      if (t == nullptr || t->shape.empty()) {
        if (a.write && (t == nullptr || t->role != TensorRole::temporary)) return false;
        continue;
      }
      if (t->role == TensorRole::temporary) return false;
      if (a.index == location_)
        (a.write ? stores : loads).insert(a.tensor);
      else if (!a.write)
        others.insert(a.tensor);
      else
        return false;
    }
    std::size_t widest = 0;
    for (const TensorDecl& t : p_.tensors) {
      const bool is_stored = stores.contains(t.name);
      if (is_stored && loads.contains(t.name)) return false;
      if (!is_stored && !loads.contains(t.name)) continue;
      if (others.contains(t.name)) return false;
      (is_stored ? form_.stores : form_.loads).push_back(t.name);
      widest = std::max(widest, static_cast<std::size_t>(size_of(t.dtype)));
    }
    if (form_.stores.empty()) return false;
    form_.elements = kVectorBytes / static_cast<int>(widest);
    return true;
  }

  void flatten() {
    Rewriting make(p_);
    const Symbol flat = make.variable("flat"), start = make.variable("flat_start");
    const std::vector<std::string> tensors = form_.vector_tensors();
    const auto is_by_vectors = [&](const std::string& tensor) {
      return std::ranges::find(tensors, tensor) != tensors.end();
    };
    Expr count = form_.iterations();
    if (!count.as_symbol()) count = make.size("count", count);
    const Expr begin(start);
    Loop each{flat, begin, min(count, begin + form_.elements), 1, {}, round_->body, LoopKind::simd};
    rewrite_values(each.body, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      return load != nullptr && is_by_vectors(load->tensor)
                 ? load_value(load->tensor, {Expr(flat)}, v->dtype)
                 : v;
    });
    for (Stmt& s : each.body)
      if (auto* store = std::get_if<Store>(&s.kind);
          store != nullptr && is_by_vectors(store->tensor))
        store->index = {Expr(flat)};
    Body body(stage_.begin(), stage_.end() - 1);
    body.push_back(
        {Loop{start, 0, count, form_.elements, {}, {{std::move(each)}}, LoopKind::threads}});
    form_.program = std::move(make).with(std::move(body));
    for (TensorDecl& t : form_.program.tensors) {
      if (!is_by_vectors(t.name)) continue;
      t.shape = {count};
      t.axis_names.clear();
      form_.program.strides.push_back({t.name, 0, 1});
    }
  }

  bool mentions_variables(const Expr& e) const {
    return std::ranges::any_of(variables_, [&](Symbol v) { return e.mentions(v); });
  }

  bool mentions_old_variables() const {
    bool found = false;
    for_each(std::get<Loop>(form_.program.body.back().kind).body, [&](const Stmt& s) {
      for_each_expr(s, [&](const Expr& e) { found = found || mentions_variables(e); });
    });
    return found;
  }

  const LoopProgram& p_;
  const Body& stage_;
  VectorForm form_{};
  std::vector<Symbol> variables_;  ///< variables of the loops
  std::vector<Expr> location_;     ///< the variables as an index
  const Loop* round_ = nullptr;
};

}  // namespace

std::vector<std::string> VectorForm::vector_tensors() const {
  std::vector<std::string> all = loads;
  all.insert(all.end(), stores.begin(), stores.end());
  return all;
}

Expr VectorForm::iterations() const {
  Expr count = 1;
  for (const Expr& e : extents) count = count * e;
  return count;
}

std::optional<VectorForm> vectorise_elements(const LoopProgram& p, const Body& stage) {
  return VectorFinder(p, stage).run();
}

Refusal take_thread_vectors(StageForm& form, const Step& /*step*/, std::string& effect) {
  auto vectors = vectorise_elements(form.loops(), form.stage.body);
  if (!vectors)
    return "an iteration must store elements at its own index, in the order of the loops from 0 on "
           "by 1, computed from others there and from scalars";
  form.worker = CudaPerVector{vectors->vector_tensors(), vectors->extents};
  for (const std::string& tensor : vectors->vector_tensors())
    add_vector(effect, vectors->elements, tensor);
  form.iterations = ceil_div(vectors->iterations(), vectors->elements);
  form.version.name = "vectors";
  form.version.program = std::move(vectors->program);
  return std::nullopt;
}

Schedules thread_vectors_to_try(const StageSearch& search) {
  const auto shared = step_of_shared(StepKind::thread_vectors, search.start.stage);
  if (!search.loops().native || !shared) return {};
  return {{{StepKind::thread_vectors, {shared->targets.front()}}}};
}

void add_vector(std::string& effect, int elements, const std::string& tensor) {
  effect += fmt::format("{}{} elements of {}", effect.empty() ? "" : ", ", elements, tensor);
}

}  // namespace mote::cuda
