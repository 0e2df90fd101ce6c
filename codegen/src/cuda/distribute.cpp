// SPDX-License-Identifier: Apache-2.0
// In: a program; out: the same sums in the same order, with loops of fewer statements. For each
// loop at top level whose iterations are independent and have temporaries of their own, these steps
// are taken:
//   - these temporaries get an axis for each of the shared loops;
//   - a loop that ends in folds becomes two, so that its stores are a nest of their own;
//   - such a nest gets limits that are the same in all iterations, if it writes nothing else and
//     nothing that was stored before;
//   - the shared loops are written around each nest, and around the statements between nests;
//   - a name or an accumulator that a later loop reads is stored.
#include "distribute.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "ir/dependence.h"
#include "kept.h"
#include "mote/codegen/walk.h"
#include "rewriting.h"
#include "schedule/iterations.h"
#include "tiles.h"

namespace mote::cuda {
namespace {

/// Returns true for loops in a loop, or in a branch.
bool is_nest(const Stmt& s) {
  if (const auto* branch = std::get_if<If>(&s.kind))
    return std::ranges::any_of(branch->body, is_nest);
  const Loop* loop = as_loop(s);
  return loop != nullptr && holds_loop(loop->body);
}

bool share_any(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& name) { return b.contains(name); });
}

/// Returns true if each iteration stores elements of its own: its variable is among the indices.
bool stores_by_iteration(const Loop& loop) {
  return std::ranges::all_of(accesses(loop.body), [&](const Access& a) {
    return !a.write || std::ranges::find(a.index, Expr(loop.variable)) != a.index.end();
  });
}

class Distribution {
 public:
  /// `names` holds all names that are taken, `tensors` those of the program that is made.
  Distribution(LoopProgram& names, std::vector<TensorDecl>& tensors, const SharedLoops& shared,
               Steps steps)
      : names_(names), given_(tensors), tensors_(tensors), shared_(shared), steps_(steps) {
    for (const Loop* loop : shared.loops) {
      prefix_.emplace_back(loop->variable);
      extents_.push_back(loop->end);
      moving_.insert(loop->variable);
    }
    body_ = shared.loops.back()->body;
  }

  /// Returns the loops in place of the shared ones; nullopt if there is only one nest, or
  /// distribution is not possible.
  std::optional<Body> run() {
    if (!is_plain() || lives_in_shared_loop() || !give_memory()) return std::nullopt;
    split();
    steps_ == Steps::nests ? part() : part_loops();
    if (groups_.size() < 2) return std::nullopt;
    keep_names();
    given_ = tensors_;
    Body out;
    for (Body& group : groups_) out.push_back(around(std::move(group)));
    return out;
  }

 private:
  bool is_plain() const {
    const bool counted = std::ranges::all_of(shared_.loops, [](const Loop* loop) {
      return loop->begin == Expr(0) && loop->step == Expr(1) && !loop->end.has_load();
    });
    bool plain = counted;
    if (steps_ == Steps::loops) return plain && std::ranges::none_of(body_, asks_tensors);
    for_each(body_, [&](const Stmt& s) {
      const auto* branch = std::get_if<If>(&s.kind);
      plain = plain && (branch == nullptr || is_closed(branch->body)) &&
              !std::holds_alternative<StoreReduce>(s.kind);
      for_each_expr(s, [&](const Expr& e) { plain = plain && !e.has_load(); });
    });
    return plain;
  }

  /// Returns true if a temporary lives in iterations of a shared loop, which would become several.
  bool lives_in_shared_loop() const {
    return std::ranges::any_of(
        tensors_, [&](const TensorDecl& t) { return t.per && moving_.contains(*t.per); });
  }

  /// Returns true for a branch whose conditions another step may change.
  static bool asks_tensors(const Stmt& s) {
    const auto* branch = std::get_if<If>(&s.kind);
    return branch != nullptr && std::ranges::any_of(branch->conditions, [](const Condition& c) {
             return c.e.has_load();
           });
  }

  /// Returns true if only stores of the branch are read outside of it: none of its loops folds into
  /// an accumulator that is read after the branch.
  bool is_closed(const Body& branch) const {
    const std::set<std::string> declared = accumulators_declared(branch);
    const auto count = [&](const Body& body) {
      std::size_t reads = 0;
      for_each(body, [&](const Stmt& s) {
        for_each_value(s, [&](const Value& v) {
          const auto* read = std::get_if<value::Accumulated>(&v->kind);
          reads += read != nullptr && declared.contains(read->name) ? 1 : 0;
        });
      });
      return reads;
    };
    return count(branch) == count(body_);
  }

  TensorDecl& declaration(const std::string& tensor) {
    return *std::ranges::find(tensors_, tensor, &TensorDecl::name);
  }

  std::string fresh(const std::string& hint) {
    std::string name = fresh_name(names_, hint);
    names_.tensors.push_back({name, TensorRole::temporary, DType::f32, {}, {}});
    return name;
  }

  bool give_memory() {
    bool any = false;
    for (const std::string& name : shared_.own) {
      TensorDecl& t = declaration(name);
      any = any || !t.shape.empty();
      t.shape.insert(t.shape.begin(), extents_.begin(), extents_.end());
      t.axis_names.insert(t.axis_names.begin(), extents_.size(), "");
    }
    for (const std::string& name : shared_.own)
      move_tensor(body_, name, name, [&](const std::vector<Expr>& index) {
        std::vector<Expr> prefixed = prefix_;
        prefixed.insert(prefixed.end(), index.begin(), index.end());
        return prefixed;
      });
    return any || steps_ == Steps::loops;
  }

  void split() {
    Body out;
    for (Stmt& s : body_) {
      if (!is_nest(s) || as_loop(s) == nullptr) {
        out.push_back(std::move(s));
        continue;
      }
      Loop nest = *as_loop(s);
      std::optional<Loop> folds = take_folds(nest);
      // Further iterations could overwrite elements that an earlier step has stored.
      const bool stores_first = !share_any(tensors_written(out), tensors_written(nest.body));
      if (nest.accumulators.empty() && stores_first) widen(nest);
      out.push_back({std::move(nest)});
      if (folds) out.push_back({*std::move(folds)});
    }
    body_ = std::move(out);
  }

  /// Returns the folds that the loop ends in as a loop of their own, if all values that they read
  /// are stored by then, each element once. Otherwise returns nullopt and leaves the loop as it
  /// was.
  std::optional<Loop> take_folds(Loop& loop) {
    const auto is_fold = [](const Stmt& s) { return std::holds_alternative<Fold>(s.kind); };
    const auto first = std::find_if_not(loop.body.rbegin(), loop.body.rend(), is_fold).base();
    if (first == loop.body.begin() || first == loop.body.end()) return std::nullopt;
    Loop stores = loop, folds = loop;
    stores.accumulators.clear();
    stores.body.assign(loop.body.begin(), first);
    folds.body.assign(first, loop.body.end());
    const Effects before = effects_of(stores.body), after = effects_of(folds.body);
    if (!outer_folds(stores).empty() || share_any(before.declared, after.used)) return std::nullopt;
    if (!stores_by_iteration(stores)) return std::nullopt;
    const Symbol variable(SymbolKind::loop, fresh(loop.variable.name()));
    rewrite_exprs(folds.body, [&](const Expr& e) {
      return e.substitute({{loop.variable, Expr(variable)}});
    });
    folds.variable = variable;
    loop = std::move(stores);
    return folds;
  }

  /// Moves the limits to ones that do not depend on the shared loops, if the loop stores only the
  /// iterations' own temporaries, each further iteration stores elements of its own, and all reads
  /// are in range.
  void widen(Loop& loop) const {
    const auto forget = [](const Expr&) {};
    const auto begin = fixed_limit(loop.begin, Atom::Kind::max, moving_, forget);
    const auto end = fixed_limit(loop.end, Atom::Kind::min, moving_, forget);
    const std::set<std::string> written = tensors_written(loop.body);
    if (!begin || !end || !std::ranges::includes(shared_.own, written) ||
        !stores_by_iteration(loop))
      return;
    Facts facts = base_facts(*names_.source);
    for (const Loop* outer : shared_.loops) facts.set_range(outer->variable, 0, outer->end);
    facts.set_range(loop.variable, *begin, *end);
    for_each(loop.body, [&](const Stmt& s) {
      if (const Loop* inner = as_loop(s))
        facts.set_range(inner->variable, inner->begin, inner->end);
    });
    bool inside = true;
    for (const Access& a : accesses(loop.body)) {
      const TensorDecl& t = *std::ranges::find(tensors_, a.tensor, &TensorDecl::name);
      for (std::size_t axis = 0; axis < a.index.size(); ++axis)
        inside = inside && (!a.index[axis].mentions(loop.variable) ||
                            (facts.prove_nonneg(a.index[axis]) &&
                             facts.prove_positive(t.shape[axis] - a.index[axis])));
    }
    if (!inside) return;
    loop.begin = *begin;
    loop.end = *end;
  }

  void part() {
    bool after_nest = true;
    for (Stmt& s : body_) {
      const bool nest = is_nest(s);
      if (nest || after_nest) groups_.emplace_back();
      groups_.back().push_back(std::move(s));
      after_nest = nest;
    }
  }

  /// Groups the statements after a reduction with it, and the names before it too; a loop that
  /// stores is a group of its own.
  void part_loops() {
    enum class Open : std::uint8_t { none, names, reduction, scalars };
    Open open = Open::none;
    for (Stmt& s : body_) {
      const bool is_name = std::holds_alternative<Let>(s.kind);
      const bool loops = holds_loop({s});
      const bool reduces = loops && !accumulators_declared({s}).empty();
      const bool joins = loops ? reduces && open == Open::names : open != Open::none;
      if (!joins) groups_.emplace_back();
      groups_.back().push_back(std::move(s));
      if (loops)
        open = reduces ? Open::reduction : Open::none;
      else if (open == Open::none || open == Open::names)
        open = is_name ? Open::names : Open::scalars;
    }
  }

  void keep_names() {
    for (std::size_t k = 0; k + 1 < groups_.size(); ++k) {
      std::vector<std::pair<std::string, Value>> declared;
      for (const Stmt& s : groups_[k]) {
        if (const auto* let = std::get_if<Let>(&s.kind))
          declared.emplace_back(let->name, named_value(let->name, let->value->dtype));
        for (const Accumulator& a : accumulators_of(s))
          declared.emplace_back(a.name, accumulated_value(a.name, dtype_of(a)));
      }
      for (const auto& [name, value] : declared) keep(k, name, value);
    }
  }

  /// Returns the accumulators that can be read after the statement.
  static std::vector<Accumulator> accumulators_of(const Stmt& s) {
    if (const Loop* loop = as_loop(s)) return loop->accumulators;
    std::vector<Accumulator> all;
    if (const auto* branch = std::get_if<If>(&s.kind))
      for (const Stmt& inner : branch->body)
        for (const Accumulator& a : accumulators_of(inner)) all.push_back(a);
    return all;
  }

  void keep(std::size_t group, const std::string& name, const Value& value) {
    std::string tensor;
    for (std::size_t later = group + 1; later < groups_.size(); ++later) {
      Body& body = groups_[later];
      if (!names_read(body).contains(name) && !accumulators_read(body).contains(name)) continue;
      if (tensor.empty()) {
        tensor = fresh(name);
        tensors_.push_back({tensor, TensorRole::temporary, value->dtype, extents_,
                            std::vector<std::string>(extents_.size())});
        groups_[group].push_back({Store{tensor, prefix_, value}});
      }
      read_from_tensor(body, name, tensor, prefix_);
    }
  }

  /// Wraps a body in the shared loops, with variables of their own; a branch that all iterations
  /// take alike stays outside of them.
  Stmt around(Body body) {
    if (auto* branch = body.size() == 1 ? std::get_if<If>(&body.front().kind) : nullptr) {
      const bool is_moving = std::ranges::any_of(branch->conditions, [&](const Condition& c) {
        return std::ranges::any_of(moving_, [&](Symbol v) { return c.e.mentions(v); });
      });
      if (!is_moving) {
        If out = *branch;
        out.body = {around(std::move(branch->body))};
        return {std::move(out)};
      }
    }
    std::map<Symbol, Expr> renamed;
    std::vector<Symbol> variables;
    for (const Loop* loop : shared_.loops) {
      variables.emplace_back(SymbolKind::loop, fresh(loop->variable.name()));
      renamed.emplace(loop->variable, Expr(variables.back()));
    }
    rewrite_exprs(body, [&](const Expr& e) { return e.substitute(renamed); });
    for (std::size_t k = variables.size(); k-- > 0;) {
      Loop loop = *shared_.loops[k];
      loop.variable = variables[k];
      loop.body = std::move(body);
      body = {{std::move(loop)}};
    }
    return std::move(body.front());
  }

  LoopProgram& names_;
  std::vector<TensorDecl>& given_;
  std::vector<TensorDecl> tensors_;
  const SharedLoops& shared_;
  Steps steps_;
  std::vector<Expr> prefix_, extents_;
  std::set<Symbol> moving_;
  Body body_;
  std::vector<Body> groups_;
};

/// Takes one step: iterations that are distributed may hold loops whose iterations can be
/// distributed too.
std::optional<LoopProgram> distributed_once(const LoopProgram& p, Steps steps) {
  LoopProgram out = p, names = p;
  bool any = false;
  out.body = replaced(p.body, [&](const Stmt& s, Body& all) {
    const auto shared = shared_loops(p, s);
    std::optional<Body> made;
    if (shared && shared->own.empty() == (steps == Steps::loops))
      made = Distribution(names, out.tensors, *shared, steps).run();
    any = any || made;
    if (made)
      all.insert(all.end(), made->begin(), made->end());
    else
      all.push_back(s);
  });
  if (!any) return std::nullopt;
  return out;
}

}  // namespace

std::optional<LoopProgram> distributed(const LoopProgram& p, Steps steps) {
  std::optional<LoopProgram> out;
  while (auto next = distributed_once(out ? *out : p, steps)) out = std::move(next);
  if (out && steps == Steps::nests) verify(*out);
  return out;
}

}  // namespace mote::cuda
