// SPDX-License-Identifier: Apache-2.0
// In: a stage whose loops of kind threads have rows; out: the same for blocks. For `threads for r {
// for n { acc += x[r, n] } y[r] = acc }`:
//
//   grid for r { block_threads for n { acc += x[r, n] } block_threads for lane in 0..1 { y[r] = acc
//   } }
#include "share_rows.h"

#include <fmt/format.h>

#include <utility>

#include "ir/dependence.h"
#include "rewriting.h"
#include "rows.h"
#include "schedule/block_accesses.h"

namespace mote::cuda {
namespace {

class RowSharing {
 public:
  explicit RowSharing(const LoopProgram& p) : p_(p), make_(p) {}

  LoopProgram run() {
    Body body = p_.body;
    share(body);
    return std::move(make_).with(std::move(body));
  }

 private:
  void share(Body& body) {
    for (Stmt& s : body) {
      Loop* loop = as_loop(s);
      if (loop == nullptr || loop->kind != LoopKind::threads) {
        if (Body* nested = nested_body(s)) share(*nested);
        continue;
      }
      for (std::size_t below = threads_chain(*loop).size(); true; --below) {
        loop->kind = LoopKind::grid;
        loop->work = 0;
        if (below == 1) break;
        loop = as_loop(loop->body.front());
      }
      BlockAccesses since;
      loop->body = iteration(std::move(loop->body), since);
    }
  }

  /// Returns the statements for all threads of a block. `since`: what they have accessed since they
  /// last waited for each other.
  Body iteration(Body body, BlockAccesses& since) {
    Body all;
    for (Stmt& s : body) {
      auto* branch = std::get_if<If>(&s.kind);
      const BlockAccesses own =
          branch != nullptr ? accesses_of(p_, branch->conditions) : accesses_of(p_, s);
      if (need_barrier(since, own)) {
        all.push_back({Barrier{}});
        since = {};
      }
      since.add(own);
      if (branch != nullptr) {
        BlockAccesses taken = since;
        branch->body = iteration(std::move(branch->body), taken);
        since.add(taken);
      } else if (Loop* loop = as_loop(s)) {
        if (!loop->accumulators.empty()) since = {};
        share_nest(*loop);
      } else if (!own.stored.empty()) {
        s = {Loop{make_.variable("lane"), 0, 1, 1, {}, {std::move(s)}, LoopKind::block_threads}};
      }
      all.push_back(std::move(s));
    }
    return all;
  }

  static void share_nest(Loop& first) {
    Loop* loop = &first;
    for (std::size_t below = nest_of(first).size(); below > 1; --below) {
      if (below == 2) loop->kind = LoopKind::warp;
      loop = as_loop(loop->body.front());
    }
    loop->kind = LoopKind::block_threads;
  }

  const LoopProgram& p_;
  Rewriting make_;
};

/// Returns a refusal if iterations have memory of their own: only single threads can have some.
Refusal why_own_memory(const LoopProgram& p) {
  for (const Access& a : accesses(p.body)) {
    const TensorDecl* t = find_tensor(p, a.tensor);
    if (t != nullptr && t->per)
      return fmt::format("each iteration of {} has {} for itself", t->per->name(), t->name);
  }
  return std::nullopt;
}

}  // namespace

LoopProgram share_rows(const LoopProgram& p, const std::vector<KnownStride>& strides) {
  LoopProgram out = RowSharing(p).run();
  out.strides = strides;
  return out;
}

Refusal take_grid(StageForm& form, const Step& step, std::string& /*effect*/) {
  if (auto why = share_loops(form, step)) return why;
  if (auto why = why_own_memory(form.loops())) return why;
  const Loop& iteration = *shared_by_workers(form.loops().body).back();
  const bool reduces = form.stage.rows.has_value();
  auto strides = reduces ? form.stage.rows : strides_of_rows(form.loops(), iteration, false);
  if (!strides) return why_no_rows(form.loops(), iteration);
  form.worker =
      CudaPerBlock{longest_row(form.stage.body), accumulators_declared(iteration.body).empty()};
  form.version.name = "rows";
  form.version.program = share_rows(form.loops(), *strides);
  return std::nullopt;
}

Schedules grids_to_try(const StageSearch& search) {
  const auto grid = step_of_shared(StepKind::grid, search.start.stage);
  if (!grid || !search.start.stage.rows) return {};
  Schedules all;
  if (search.loops().native && (search.demands_strides() || !search.is_part))
    all.push_back({*grid, {StepKind::row_vectors, {grid->targets.front()}}});
  if (search.has_long_rows || search.demands_strides()) all.push_back({*grid});
  return all;
}

}  // namespace mote::cuda
