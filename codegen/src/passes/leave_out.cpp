// SPDX-License-Identifier: Apache-2.0
// Finds for each statement the outputs that need it, backwards from their stores through the
// tensors, names and accumulators that it gives a value. A statement that only optional outputs
// need gets a branch around it, as far out as it can stand; a name that is read in several branches
// has its value under a guard instead. In: loops as they will be emitted; out: loops that compute
// the same if every output is present.
#include "passes/leave_out.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "ir/dependence.h"
#include "mote/base/error.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/codegen/passes.h"
#include "passes/compile.h"

namespace mote {
namespace {

using Mask = std::uint64_t;  ///< bit k: output k

const std::string kWanted = "?";  ///< what names of the parameters wanted() begin with

class Needs {
 public:
  explicit Needs(const LoopProgram& p) {
    Mask bit = 1;
    for (const TensorDecl& t : p.tensors) {
      if (t.role != TensorRole::output) continue;
      if (bit == 0) throw InternalError(p.name + " has more than 64 outputs");
      of_[t.name] = bit;
      bit <<= 1U;
    }
    while (spread(p.body)) {
    }
  }

  Mask of(const std::string& name) const {
    const auto found = of_.find(name);
    return found == of_.end() ? 0 : found->second;
  }

  Mask of(const Stmt& s) const {
    if (const Body* body = nested_body(s)) {
      Mask all = 0;
      for (const Stmt& inner : *body) all |= of(inner);
      return all;
    }
    if (const auto* store = std::get_if<Store>(&s.kind)) return of(store->tensor);
    if (const auto* store = std::get_if<StoreReduce>(&s.kind)) return of(store->tensor);
    if (const auto* fold = std::get_if<Fold>(&s.kind)) return of(fold->accumulator);
    return of(std::get<Let>(s.kind).name);
  }

 private:
  bool add(const std::string& name, Mask mask) {
    Mask& known = of_[name];
    const bool is_new = (mask & ~known) != 0;
    known |= mask;
    return is_new;
  }

  /// Propagates the needs; returns true if a name turned out to be needed by more outputs.
  bool spread(const Body& body) {
    bool changed = false;
    for (const Stmt& s : body) {
      if (const Body* nested = nested_body(s)) changed = spread(*nested) || changed;
      const Mask mask = of(s);
      for_each_expr(s, [&](const Expr& e) {
        for_each_load(e, [&](const Atom& a) { changed = add(a.tensor, mask) || changed; });
      });
      for_each_value(s, [&](const Value& v) {
        if (const auto* x = std::get_if<value::Load>(&v->kind))
          changed = add(x->tensor, mask) || changed;
        if (const auto* x = std::get_if<value::Named>(&v->kind))
          changed = add(x->name, mask) || changed;
        if (const auto* x = std::get_if<value::Accumulated>(&v->kind))
          changed = add(x->name, mask) || changed;
      });
    }
    return changed;
  }

  std::map<std::string, Mask> of_;  ///< names of all kinds, which are distinct
};

class LeaveOut {
 public:
  LeaveOut(const LoopProgram& p, const std::vector<std::string>& optional) : p_(p), needs_(p) {
    for (const TensorDecl& t : p.tensors) {
      if (t.role != TensorRole::output) continue;
      outputs_.push_back(t.name);
      all_ |= needs_.of(t.name);
      if (std::ranges::find(optional, t.name) == optional.end()) always_ |= needs_.of(t.name);
    }
  }

  Body run() const { return under(p_.body, all_); }

  /// Returns the outputs that need the tensor; none if every call needs it.
  std::vector<std::string> needing(const std::string& tensor) const {
    const Mask mask = needs_.of(tensor);
    std::vector<std::string> found;
    if (is_needed(mask, all_)) return found;
    for (const std::string& output : outputs_)
      if ((mask & needs_.of(output)) != 0) found.push_back(output);
    return found;
  }

 private:
  /// Returns the body for calls that have one of the outputs in `context`.
  Body under(const Body& body, Mask context) const {
    Body out;
    Mask open = 0;  ///< mask of the branch that `out` ends with
    for (const Stmt& s : body) {
      const Mask mask = needs_.of(s);
      const bool runs = mask == 0 || is_needed(mask, context);
      if (runs || is_name(s)) {
        out.push_back(runs ? nested(s, context) : guarded(s, mask));
        open = 0;
        continue;
      }
      if (open != mask) out.push_back({If{conditions(mask), {}}});
      open = mask;
      std::get<If>(out.back().kind).body.push_back(nested(s, mask));
    }
    return out;
  }

  /// Returns true if each call that has one of the outputs in `context` has one in the mask.
  bool is_needed(Mask mask, Mask context) const {
    return (mask & always_) != 0 || (context & ~mask) == 0;
  }

  /// Returns the statement for such calls. A loop fetches no element ahead of a tensor that one of
  /// them may lack.
  Stmt nested(Stmt s, Mask context) const {
    if (Body* body = nested_body(s)) *body = under(*body, context);
    if (auto* loop = std::get_if<Loop>(&s.kind))
      std::erase_if(loop->prefetched, [&](const PrefetchedElement& e) {
        return !is_needed(needs_.of(e.tensor), context);
      });
    return s;
  }

  /// Returns true for a Let, or a store that may declare its scalar.
  bool is_name(const Stmt& s) const {
    const auto* store = std::get_if<Store>(&s.kind);
    return std::holds_alternative<Let>(s.kind) ||
           (store != nullptr && store->index.empty() &&
            find_tensor(p_, store->tensor)->role == TensorRole::temporary);
  }

  Stmt guarded(Stmt s, Mask mask) const {
    auto* let = std::get_if<Let>(&s.kind);
    Value& value = let != nullptr ? let->value : std::get<Store>(s.kind).value;
    if (!reads_elements(value)) return s;
    const Number zero = is_real(value->dtype) ? Number(0.0) : Number(std::int64_t{0});
    value = guard_value(conditions(mask), value, zero);
    return s;
  }

  Conditions conditions(Mask mask) const {
    Expr count = 0;
    for (const std::string& output : outputs_)
      if ((mask & needs_.of(output)) != 0) count = count + Expr(wanted(output));
    return {{Condition::Kind::nonneg, count - 1}};
  }

  const LoopProgram& p_;
  Needs needs_;
  std::vector<std::string> outputs_;
  Mask all_ = 0;
  Mask always_ = 0;  ///< the outputs that every call has
};

}  // namespace

Symbol wanted(const std::string& output) { return {SymbolKind::param, kWanted + output}; }

bool is_wanted_output(Symbol s) { return s.name().starts_with(kWanted); }

std::set<Symbol> wanted_in(const Body& body) {
  std::set<Symbol> found;
  const auto add = [&](const Conditions& conditions) {
    for (const Condition& c : conditions)
      for (const Symbol s : c.e.symbols())
        if (is_wanted_output(s)) found.insert(s);
  };
  for_each(body, [&](const Stmt& s) {
    if (const auto* branch = std::get_if<If>(&s.kind)) add(branch->conditions);
    for_each_value(s, [&](const Value& v) {
      if (const auto* guard = std::get_if<value::Guard>(&v->kind)) add(guard->conditions);
    });
  });
  return found;
}

LoopProgram compile_for_calls(const std::shared_ptr<const Program>& program,
                              const std::vector<std::string>& optional_outputs) {
  if (optional_outputs.empty() || program->outputs.size() == 1) return compile(program);
  return compile_uncoalesced(program);
}

std::vector<std::string> outputs_needing(const LoopProgram& p, const std::string& tensor,
                                         const std::vector<std::string>& optional) {
  return optional.empty() ? std::vector<std::string>{} : LeaveOut(p, optional).needing(tensor);
}

LoopProgram leave_out(LoopProgram p, const std::vector<std::string>& optional) {
  if (optional.empty()) return p;
  p.body = LeaveOut(p, optional).run();
  return p;
}

}  // namespace mote
