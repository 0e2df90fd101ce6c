// SPDX-License-Identifier: Apache-2.0
// In: loops as they will be emitted; out: stages. Steps, in this order:
//   - a branch around several statements becomes one around each of them;
//   - names bound at top level become scalar temporaries, except those that need no tensor;
//   - outermost loops with independent iterations are marked, each a stage; the rest is gathered;
//   - an accumulator that a later stage reads is stored in a scalar temporary after its loop;
//   - a scalar temporary that two stages access gets an axis of extent 1, so that it is memory;
//   - a stage that runs in order and reduces rows becomes one iteration, for a block.
#include "stages.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "ir/dependence.h"
#include "kept.h"
#include "rows.h"
#include "schedule/iterations.h"

namespace mote::cuda {
namespace {

bool needs_tensor(const Value& value) {
  bool found = false;
  for_each_value(value, [&](const Value& v) {
    const auto* index = std::get_if<value::Index>(&v->kind);
    const auto* guard = std::get_if<value::Guard>(&v->kind);
    found = found || std::holds_alternative<value::Load>(v->kind) ||
            std::holds_alternative<value::Accumulated>(v->kind) ||
            (index != nullptr && index->e.has_load()) ||
            (guard != nullptr && std::ranges::any_of(guard->conditions, [](const Condition& c) {
               return c.e.has_load();
             }));
  });
  return found;
}

bool is_in_branch_only(const Stmt& s) { return std::holds_alternative<If>(s.kind); }

class Cut {
 public:
  explicit Cut(const LoopProgram& p) { out_.program = p; }

  Stages run() {
    out_.program.body = spread(std::exchange(program().body, {}));
    bind_in_tensors();
    part();
    keep_accumulators();
    keep_scalars();
    share_single();
    finish();
    return std::move(out_);
  }

 private:
  LoopProgram& program() { return out_.program; }

  /// Moves a branch around each of its statements, if nothing in it changes the conditions.
  static Body spread(Body body) {
    Body out;
    for (Stmt& s : body) {
      auto* branch = std::get_if<If>(&s.kind);
      if (branch == nullptr || !can_ask_again(*branch)) {
        out.push_back(std::move(s));
        continue;
      }
      for (Stmt& inner : spread(std::move(branch->body))) {
        const auto* let = std::get_if<Let>(&inner.kind);
        if (let != nullptr && !needs_tensor(let->value))
          out.push_back(std::move(inner));
        else
          out.push_back({If{branch->conditions, {std::move(inner)}}});
      }
    }
    return out;
  }

  static bool can_ask_again(const If& branch) {
    const std::set<std::string> written = tensors_written(branch.body);
    bool changes = false;
    for (const Condition& c : branch.conditions)
      for_each_load(c.e, [&](const Atom& a) { changes = changes || written.contains(a.tensor); });
    return !changes;
  }

  /// Returns the statement under the branches that hold nothing else.
  static Stmt& innermost(Stmt& s) {
    auto* branch = std::get_if<If>(&s.kind);
    return branch != nullptr && branch->body.size() == 1 ? innermost(branch->body[0]) : s;
  }

  std::string add_scalar(const std::string& hint, DType dtype) {
    std::string name = fresh_name(program(), hint);
    program().tensors.push_back({name, TensorRole::temporary, dtype, {}, {}});
    return name;
  }

  void bind_in_tensors() {
    for (Stmt& outermost : program().body) {
      Stmt& s = innermost(outermost);
      const auto* let = std::get_if<Let>(&s.kind);
      if (let == nullptr || !needs_tensor(let->value)) continue;
      const Let was = *let;
      const std::string tensor = add_scalar(was.name, was.value->dtype);
      s = {Store{tensor, {}, was.value}};
      read_from_tensor(program().body, was.name, tensor, {});
    }
  }

  void part() {
    for (Stmt& s : program().body) {
      Stmt& inner = innermost(s);
      const auto* let = std::get_if<Let>(&inner.kind);
      if (let != nullptr) {
        lets_.push_back(*let);
        continue;
      }
      auto shared = is_in_branch_only(inner) ? std::nullopt : shared_loops(program(), inner);
      if (shared) leave_loops_in_iterations(*shared);
      std::optional<std::vector<KnownStride>> rows;
      if (shared && program().native && shared->own.empty())
        rows = strides_of_rows(program(), *shared->loops.back());
      if (shared) mark(*shared, *as_loop(inner));
      if (shared || out_.stages.empty() || !out_.stages.back().in_order)
        out_.stages.push_back({{}, !shared, shared ? as_loop(inner)->work : Expr(1)});
      out_.stages.back().body.push_back(s);
      out_.stages.back().rows = std::move(rows);
    }
  }

  /// Shares no loop in iterations that have memory of their own: a tile's array is one.
  void leave_loops_in_iterations(SharedLoops& shared) {
    for (const TensorDecl& t : program().tensors) {
      const auto with_own = std::ranges::find_if(
          shared.loops, [&](const Loop* loop) { return t.per == loop->variable; });
      if (with_own != shared.loops.end()) shared.loops.erase(with_own + 1, shared.loops.end());
    }
  }

  void mark(const SharedLoops& shared, Loop& first) {
    Expr iterations = 1;
    for (const Loop* loop : shared.loops)
      iterations = iterations * max(0, ceil_div(loop->end - loop->begin, loop->step));
    const Symbol last = shared.loops.back()->variable;
    for (TensorDecl& t : program().tensors)
      if (shared.own.contains(t.name) && !t.per) t.per = last;
    mark_threads(first, shared.loops.size());
    first.work = iterations;
  }

  void keep_accumulators() {
    for (std::size_t k = 0; k < out_.stages.size(); ++k) {
      std::map<std::string, Accumulator> declared;
      for_each(out_.stages[k].body, [&](const Stmt& s) {
        if (const Loop* loop = as_loop(s))
          for (const Accumulator& a : loop->accumulators) declared.emplace(a.name, a);
      });
      for (const auto& [name, a] : declared) {
        std::string tensor;
        for (std::size_t later = k + 1; later < out_.stages.size(); ++later) {
          Body& body = out_.stages[later].body;
          if (!accumulators_read(body).contains(name)) continue;
          if (tensor.empty()) {
            tensor = add_scalar(name, dtype_of(a));
            out_.stages[k].body.push_back(
                {Store{tensor, {}, accumulated_value(name, dtype_of(a))}});
          }
          read_from_tensor(body, name, tensor, {});
        }
      }
    }
  }

  void keep_scalars() {
    for (TensorDecl& t : program().tensors) {
      if (t.role != TensorRole::temporary || !t.shape.empty()) continue;
      const auto touches = [&](const Stage& s) {
        return std::ranges::any_of(accesses(s.body),
                                   [&](const Access& a) { return a.tensor == t.name; });
      };
      if (std::ranges::count_if(out_.stages, touches) < 2) continue;
      t.shape = {Expr(1)};
      t.axis_names = {""};
      for (Stage& s : out_.stages)
        move_tensor(s.body, t.name, t.name,
                    [](const auto& /*none*/) { return std::vector<Expr>{Expr(0)}; });
    }
  }

  void share_single() {
    for (Stage& stage : out_.stages) {
      if (!stage.in_order || !program().native) continue;
      LoopProgram alone = program();
      const Symbol one(SymbolKind::loop, name_in_no_stage("one"));
      alone.body = {{Loop{one, 0, 1, 1, {}, stage.body}}};
      auto rows = strides_of_rows(alone, *as_loop(alone.body.front()));
      if (!rows) continue;
      Loop& loop = *as_loop(alone.body.front());
      loop.kind = LoopKind::threads;
      loop.work = 1;
      stage = {std::move(alone.body), false, 1, std::move(rows)};
    }
  }

  std::string name_in_no_stage(const std::string& hint) const {
    LoopProgram all = out_.program;
    for (const Stage& stage : out_.stages)
      all.body.insert(all.body.end(), stage.body.begin(), stage.body.end());
    return fresh_name(all, hint);
  }

  /// Puts the names that a stage reads before its statements, and all names once in the program.
  void finish() {
    Body all;
    for (const Let& let : lets_) all.push_back({let});
    for (Stage& stage : out_.stages) {
      all.insert(all.end(), stage.body.begin(), stage.body.end());
      Body body;
      std::set<std::string> read = names_read(stage.body);
      for (std::size_t k = lets_.size(); k-- > 0;) {
        const Stmt let = {lets_[k]};
        if (!read.contains(lets_[k].name)) continue;
        read.merge(names_read(let));
        body.insert(body.begin(), let);
      }
      body.insert(body.end(), stage.body.begin(), stage.body.end());
      stage.body = std::move(body);
    }
    program().body = std::move(all);
  }

  Stages out_;
  std::vector<Let> lets_;  ///< the names that need no tensor
};

}  // namespace

Stages cut(const LoopProgram& p) { return Cut(p).run(); }

}  // namespace mote::cuda
