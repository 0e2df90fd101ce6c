// SPDX-License-Identifier: Apache-2.0
// Lowers uops to loops by pulling: each output and each materialised node gets one nest that stores
// it; values are pulled through Map and Reindex by composing index maps; reductions become loops
// with an accumulator before the statement that reads it. A value that a body needs twice is bound
// to a name, so that text stays linear in the program.
#include "lower/lower.h"

#include <algorithm>

#include "lower/bind_shared.h"
#include "lower/index_uops.h"
#include "lower/materialise.h"
#include "mote/base/error.h"
#include "mote/codegen/passes.h"
#include "passes/conditions.h"

namespace mote {
namespace {

/// A body under construction: the facts that hold there, the conditions that enclose the value
/// being computed, and the values that it already has.
struct Scope {
  Body body;
  Facts facts;
  Conditions guards;
  SharedValues shared;
};

class Lowering {
 public:
  Lowering(std::shared_ptr<const Program> program, NodeSet materialised)
      : materialised_(std::move(materialised)) {
    out_.name = program->name;
    out_.source = std::move(program);
    reserve_names();
  }

  Lowered run() {
    const Program& p = *out_.source;
    const std::vector<Uop> outputs = roots(p);
    const std::vector<Uop> order = topological(outputs);
    declare(order);
    for (const Uop& u : order)
      if (materialised_.count(u.id())) nest_for(u, tensors_.at(u.id()), true);
    for (const Output& o : p.outputs) nest_for(o.value, o.name, false);
    return {std::move(out_), std::move(temporaries_)};
  }

 private:
  void reserve_names() {
    const Program& p = *out_.source;
    for (const Uop& u : p.inputs) names_.insert(std::get<uop::Input>(u.node().kind).name);
    for (const Output& o : p.outputs) names_.insert(o.name);
    for (const NamedSize& s : p.sizes) names_.insert(s.name);
    for (const SizeRule& r : p.size_rules) names_.insert(r.size.name());
    for (const ParamDecl& d : p.params) names_.insert(d.name);
  }

  std::string fresh(const std::string& hint) {
    if (names_.insert(hint).second) return hint;
    int& number = last_number_.try_emplace(hint, 1).first->second;  // names are never released
    std::string name;
    do name = hint + std::to_string(++number);
    while (!names_.insert(name).second);
    return name;
  }

  void declare(const std::vector<Uop>& order) {
    const Program& p = *out_.source;
    for (const Uop& u : p.inputs) {
      const std::string& name = std::get<uop::Input>(u.node().kind).name;
      tensors_[u.id()] = name;
      out_.tensors.push_back({name, TensorRole::input, u.dtype(), u.shape(), u.node().axis_names});
    }
    for (const Output& o : p.outputs)
      out_.tensors.push_back({o.name, TensorRole::output, o.value.dtype(), o.value.shape(),
                              o.value.node().axis_names});
    for (const Uop& u : order) {
      if (!materialised_.count(u.id())) continue;
      const std::string name = fresh("t");
      tensors_[u.id()] = name;
      temporaries_[name] = u;
      out_.tensors.push_back(
          {name, TensorRole::temporary, u.dtype(), u.shape(), u.node().axis_names});
    }
  }

  /// Makes the nest that stores u: tensor[…] = u[…] for each element.
  void nest_for(const Uop& u, const std::string& tensor, bool compute) {
    if (compute && is_scatter(u)) return scatter_nests(u, tensor);
    Scope scope{{}, base_facts(*out_.source), {}, {}};
    std::vector<Loop> loops;
    std::vector<Expr> index;
    for (std::size_t k = 0; k < u.shape().size(); ++k)
      index.push_back(open_loop(u.node(), k, loops, scope.facts));
    const Value v = value_of(u, index, scope, compute);
    scope.body.push_back({Store{tensor, index, v}});
    finish(named(scope), std::move(loops));
  }

  /// Returns the scope's body, with names for the values that it needs twice.
  Body named(Scope& scope) {
    return bind_shared(std::move(scope.body), scope.shared,
                       [this](const std::string& hint) { return fresh(hint); });
  }

  void finish(Body body, std::vector<Loop> loops) {
    close_loops(std::move(loops), body);
    std::move(body.begin(), body.end(), std::back_inserter(out_.body));
  }

  /// Makes the nests of a scatter: tensor = base; then tensor[to] op= x, for each element of x
  /// whose index is in range. The tensor is a temporary, so it is computed in double, and an output
  /// rounds once.
  void scatter_nests(const Uop& u, const std::string& tensor) {
    if (const auto* s = std::get_if<uop::Scatter>(&u.node().kind)) {
      nest_for(s->base, tensor, false);
      return scatter_nest(tensor, u.shape(), s->op, s->x,
                          [&](const std::vector<Expr>& index, Scope& scope) {
                            std::vector<Expr> to;
                            for (const Expr& e : s->to)
                              to.push_back(scope.facts.simplify(at(e, index)));
                            return to;
                          });
    }
    const auto& s = std::get<uop::SelectScatter>(u.node().kind);
    nest_for(s.base, tensor, false);
    scatter_nest(tensor, u.shape(), s.op, s.x, [&](std::vector<Expr> index, Scope& scope) {
      index[static_cast<std::size_t>(s.axis)] = index_of(value_of(s.index, index, scope), scope);
      return index;
    });
  }

  template <typename To>
  void scatter_nest(const std::string& tensor, const std::vector<Expr>& shape, ScatterOp op,
                    const Uop& x, To to) {
    Scope scope{{}, base_facts(*out_.source), {}, {}};
    std::vector<Loop> loops;
    std::vector<Expr> index;
    for (std::size_t k = 0; k < x.shape().size(); ++k)
      index.push_back(open_loop(x.node(), k, loops, scope.facts));
    const std::vector<Expr> location = to(index, scope);
    Conditions inside;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const Conditions c = in_range(location[k], shape[k]);
      inside.insert(inside.end(), c.begin(), c.end());
    }
    const auto kept = clean(inside, scope.facts);
    if (!kept) return;
    scope.facts = assuming(scope.facts, *kept);
    scope.guards = *kept;
    const Value v = value_of(x, index, scope);
    scope.body.push_back({StoreReduce{tensor, location, op, v}});
    Body body = named(scope);
    if (!kept->empty()) {
      Body inner;
      inner.push_back(std::move(body.back()));
      body.back() = {If{*kept, std::move(inner)}};
    }
    finish(std::move(body), std::move(loops));
  }

  /// Opens a loop over axis k of the node, unless its extent is 1, and returns the index along it.
  Expr open_loop(const UopNode& node, std::size_t k, std::vector<Loop>& loops, Facts& facts) {
    const Expr extent = facts.simplify(node.shape[k]);
    if (extent.constant() == 1) return Expr(0);
    const std::string hint = node.axis_names.size() > k && !node.axis_names[k].empty()
                                 ? node.axis_names[k]
                                 : std::string(1, "ijklmnopqrstuvw"[k % 15]);
    const Symbol variable(SymbolKind::loop, fresh(hint));
    facts.set_range(variable, Expr(0), extent);
    loops.push_back(Loop{variable, Expr(0), extent, Expr(1), {}, {}});
    return Expr(variable);
  }

  static void close_loops(std::vector<Loop> loops, Body& body) {
    for (; !loops.empty(); loops.pop_back()) {
      loops.back().body = std::move(body);
      body.clear();
      body.push_back({std::move(loops.back())});
    }
  }

  /// Returns the value of u at the index; `compute` is true if u's own tensor is being stored.
  Value value_of(const Uop& u, const std::vector<Expr>& index, Scope& scope, bool compute = false) {
    const auto& kind = u.node().kind;
    if (const auto* s = std::get_if<uop::Scalar>(&kind)) return constant(s->value, u.dtype());
    if (const auto* q = std::get_if<uop::Param>(&kind)) return param_value(q->name, u.dtype());
    const auto tensor = tensors_.find(u.id());
    if (tensor != tensors_.end() && !compute) return load_value(tensor->second, index, u.dtype());
    if (Value known = scope.shared.find(u, index, scope.guards)) return known;
    const Value v = computed(u, index, scope);
    scope.shared.add(u, index, scope.guards, v);
    return v;
  }

  Value computed(const Uop& u, const std::vector<Expr>& index, Scope& scope) {
    const auto& kind = u.node().kind;
    if (const auto* i = std::get_if<uop::Iota>(&kind))
      return index_value(scope.facts.simplify(at(i->value, index)), u.dtype());
    if (const auto* r = std::get_if<uop::Reindex>(&kind)) return reindexed(*r, index, scope);
    if (const auto* m = std::get_if<uop::Map>(&kind)) return mapped_value(u, *m, index, scope);
    if (const auto* d = std::get_if<uop::Reduce>(&kind)) return reduced(u, *d, index, scope);
    if (const auto* s = std::get_if<uop::Select>(&kind)) return selected(*s, index, scope);
    if (const auto* g = std::get_if<uop::StopGradient>(&kind)) return value_of(g->x, index, scope);
    throw InternalError("lower: unexpected " + describe(u));
  }

  /// Returns the value computed if the conditions hold, otherwise a constant.
  template <typename F>
  Value under(const Conditions& conditions, const Number& otherwise, DType dtype, Scope& scope,
              F compute) {
    const auto kept = clean(conditions, scope.facts);
    if (!kept) return constant(otherwise, dtype);
    if (kept->empty()) return compute();
    const Facts outer = scope.facts;
    const std::size_t depth = scope.guards.size();
    scope.facts = assuming(scope.facts, *kept);
    scope.guards.insert(scope.guards.end(), kept->begin(), kept->end());
    const Value v = compute();
    scope.guards.resize(depth);
    scope.facts = outer;
    return guarded(*kept, v, otherwise, scope.facts);
  }

  Value reindexed(const uop::Reindex& r, const std::vector<Expr>& index, Scope& scope) {
    std::vector<Expr> from;
    Conditions inside;
    for (std::size_t k = 0; k < r.from.size(); ++k) {
      from.push_back(scope.facts.simplify(at(r.from[k], index)));
      const Conditions c = in_range(from.back(), r.x.shape()[k]);
      inside.insert(inside.end(), c.begin(), c.end());
    }
    return under(inside, r.fill, r.x.dtype(), scope, [&] { return value_of(r.x, from, scope); });
  }

  Value mapped_value(const Uop& u, const uop::Map& m, const std::vector<Expr>& index,
                     Scope& scope) {
    if (m.op == MapOp::where) {
      const auto* otherwise = std::get_if<uop::Scalar>(&m.args[2].node().kind);
      const auto conditions = otherwise ? as_conditions(m.args[0], index) : std::nullopt;
      if (conditions)
        return under(*conditions, otherwise->value, u.dtype(), scope,
                     [&] { return value_of(m.args[1], index, scope); });
    }
    std::vector<Value> args;
    args.reserve(m.args.size());
    for (const Uop& a : m.args) args.push_back(value_of(a, index, scope));
    return mapped(m.op, std::move(args), m.args.back().dtype(), u.dtype());
  }

  /// Adds a statement that must precede the value being computed, under the enclosing conditions.
  static void before(Scope& scope, Stmt s) {
    if (scope.guards.empty()) {
      scope.body.push_back(std::move(s));
    } else {
      Body body;
      body.push_back(std::move(s));
      scope.body.push_back({If{scope.guards, std::move(body)}});
    }
  }

  Value reduced(const Uop& u, const uop::Reduce& r, const std::vector<Expr>& index, Scope& scope) {
    Scope inner{{}, scope.facts, {}, {}};
    std::vector<Loop> loops;
    std::vector<Expr> full;
    Expr position(0);
    std::size_t next = 0;
    for (std::size_t k = 0; k < r.x.shape().size(); ++k) {
      if (std::find(r.axes.begin(), r.axes.end(), static_cast<int>(k)) == r.axes.end()) {
        full.push_back(index[next++]);
        continue;
      }
      full.push_back(open_loop(r.x.node(), k, loops, inner.facts));
      position = position * r.x.shape()[k] + full.back();
    }
    if (loops.empty()) {  // every axis has extent 1: one iteration, to hold the accumulator
      const Symbol variable(SymbolKind::loop, fresh("once"));
      loops.push_back(Loop{variable, Expr(0), Expr(1), Expr(1), {}, {}});
    }
    const std::string accumulator = fresh(std::string(name(r.op)));
    loops.front().accumulators.push_back({accumulator, r.op, r.x.dtype()});
    const Value v = value_of(r.x, full, inner);
    inner.body.push_back({Fold{accumulator, r.op, v, inner.facts.simplify(position)}});
    Body body = named(inner);
    close_loops(std::move(loops), body);
    before(scope, std::move(body.front()));
    return accumulated_value(accumulator, u.dtype());
  }

  Value selected(const uop::Select& s, const std::vector<Expr>& index, Scope& scope) {
    const auto axis = static_cast<std::size_t>(s.axis);
    const Value position = value_of(s.index, index, scope);
    std::vector<Expr> from = index;
    from[axis] = index_of(position, scope);
    return under(in_range(from[axis], s.x.shape()[axis]), s.fill, s.x.dtype(), scope,
                 [&] { return value_of(s.x, from, scope); });
  }

  /// Adds the range of an input's element: it holds no more than its dtype does; a temporary may.
  void assume_range(const Expr& e, const value::Load& l, DType dtype, Facts& facts) const {
    if (find_tensor(out_, l.tensor)->role != TensorRole::input || size_of(dtype) > 1) return;
    const IntegerRange range = integer_range(dtype);
    facts.assume_nonneg(e - range.least);
    facts.assume_nonneg(range.greatest - e);
  }

  /// Returns an integer value as an index expression: a load stays a load, others get a name.
  Expr index_of(const Value& v, Scope& scope) {
    if (const auto* i = std::get_if<value::Index>(&v->kind)) return i->e;
    if (const auto* l = std::get_if<value::Load>(&v->kind)) {
      const Expr e = load(l->tensor, l->index);
      assume_range(e, *l, v->dtype, scope.facts);
      return e;
    }
    const std::string name = fresh("at");
    scope.body.push_back(
        {Let{name, guarded(scope.guards, v, std::int64_t{0}, base_facts(*out_.source))}});
    return load(name, {});
  }

  LoopProgram out_;
  NodeSet materialised_;
  std::map<const UopNode*, std::string> tensors_;
  std::map<std::string, Uop> temporaries_;
  std::set<std::string> names_;
  std::map<std::string, int> last_number_;  ///< by hint: names up to this number are taken
};

}  // namespace

Lowered lower_with(std::shared_ptr<const Program> program, NodeSet materialised) {
  return Lowering(std::move(program), std::move(materialised)).run();
}

LoopProgram lower(std::shared_ptr<const Program> program) {
  NodeSet materialised = choose_materialised(*program, {}).nodes;
  return lower_with(std::move(program), std::move(materialised)).program;
}

LoopProgram lower_per_uop(std::shared_ptr<const Program> program) {
  NodeSet materialised = all_materialised(*program);
  return lower_with(std::move(program), std::move(materialised)).program;
}

}  // namespace mote
