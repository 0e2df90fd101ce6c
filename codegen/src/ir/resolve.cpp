// SPDX-License-Identifier: Apache-2.0
// Resolves names of a loop program to slots of the machine. In: a verified program and the values
// of its sizes and parameters; out: code. A name has one slot however often it is bound: scopes of
// one name never overlap.
#include <fmt/format.h>

#include <utility>

#include "ir/machine.h"
#include "ir/sides.h"
#include "mote/base/error.h"

namespace mote::machine {
namespace {

class Resolver {
 public:
  Resolver(const LoopProgram& p, const Binding& binding) : p_(p), binding_(binding) {
    for (const TensorDecl& t : p.tensors) {
      tensors_.emplace(t.name, static_cast<int>(tensors_.size()));
    }
  }

  Code run() {
    Code code;
    code.body = body(p_.body);
    code.variables = static_cast<int>(variables_.size());
    code.accumulators = static_cast<int>(accumulators_.size());
    code.lets = static_cast<int>(lets_.size());
    return code;
  }

 private:
  using Slots = std::map<std::string, int>;

  static int slot(Slots& slots, const std::string& name) {
    return slots.emplace(name, static_cast<int>(slots.size())).first->second;
  }

  IndexCode index(const Expr& e) {
    IndexCode code;
    for (const Term& t : e.terms()) {
      TermCode term{t.coefficient, {}};
      for (const Atom& a : t.atoms) {
        if (a.symbol && a.symbol->kind() != SymbolKind::loop) {
          if (__builtin_mul_overflow(term.coefficient, binding_.values.at(*a.symbol),
                                     &term.coefficient)) {
            throw Error(fmt::format("{}: index arithmetic overflows: {}", p_.name, e.to_string()));
          }
        } else {
          term.atoms.push_back(atom(a));
        }
      }
      if (!term.atoms.empty()) {
        code.terms.push_back(std::move(term));
      } else if (__builtin_add_overflow(code.constant, term.coefficient, &code.constant)) {
        throw Error(fmt::format("{}: index arithmetic overflows: {}", p_.name, e.to_string()));
      }
    }
    return code;
  }

  AtomCode atom(const Atom& a) {
    AtomCode code{AtomCode::Kind::variable, -1, indices(a.args)};
    switch (a.kind) {
      case Atom::Kind::symbol:
        code.slot = slot(variables_, a.symbol->name());
        break;
      case Atom::Kind::div:
        code.kind = AtomCode::Kind::div;
        break;
      case Atom::Kind::mod:
        code.kind = AtomCode::Kind::mod;
        break;
      case Atom::Kind::min:
        code.kind = AtomCode::Kind::min;
        break;
      case Atom::Kind::max:
        code.kind = AtomCode::Kind::max;
        break;
      case Atom::Kind::load: {
        const auto tensor = tensors_.find(a.tensor);
        const bool is_tensor = tensor != tensors_.end();
        code.kind = is_tensor ? AtomCode::Kind::load : AtomCode::Kind::let;
        code.slot = is_tensor ? tensor->second : slot(lets_, a.tensor);
        break;
      }
    }
    return code;
  }

  std::vector<IndexCode> indices(const std::vector<Expr>& exprs) {
    std::vector<IndexCode> out;
    out.reserve(exprs.size());
    for (const Expr& e : exprs) out.push_back(index(e));
    return out;
  }

  std::vector<ConditionCode> conditions(const Conditions& all) {
    std::vector<ConditionCode> out;
    for (const Condition& c : all) {
      const Sides sides = sides_of(c);
      out.push_back({c.kind, index(sides.more), index(sides.less), sides.is_strict});
    }
    return out;
  }

  ValueCode value(const Value& v) {
    ValueCode code;
    code.dtype = v->dtype;
    std::visit([this, &code](const auto& kind) { this->fill(kind, code); }, v->kind);
    return code;
  }
  static void fill(const value::Constant& c, ValueCode& code) { code.number = c.number; }
  void fill(const value::Index& i, ValueCode& code) {
    code.kind = ValueCode::Kind::index;
    code.index = indices({i.e});
  }
  void fill(const value::Param& p, ValueCode& code) {
    code.number = binding_.params.at(p.name);
    if (is_real(code.dtype)) code.number = store_as(code.number, DType::f64);
    if (code.dtype == DType::boolean) code.number = store_as(code.number, DType::boolean);
  }
  void fill(const value::Load& l, ValueCode& code) {
    code.kind = ValueCode::Kind::load;
    code.slot = tensors_.at(l.tensor);
    code.index = indices(l.index);
  }
  void fill(const value::Op& op, ValueCode& code) {
    code.kind = ValueCode::Kind::op;
    code.op = op.op;
    code.arg_dtype = op.arg_dtype;
    for (const Value& a : op.args) code.args.push_back(value(a));
  }
  void fill(const value::Guard& g, ValueCode& code) {
    code.kind = ValueCode::Kind::guard;
    code.number = g.otherwise;
    code.conditions = conditions(g.conditions);
    code.args.push_back(value(g.then));
  }
  void fill(const value::Accumulated& a, ValueCode& code) {
    code.kind = ValueCode::Kind::accumulated;
    code.slot = slot(accumulators_, a.name);
  }
  void fill(const value::Named& b, ValueCode& code) {
    code.kind = ValueCode::Kind::let;
    code.slot = slot(lets_, b.name);
  }

  std::vector<StmtCode> body(const Body& b) {
    std::vector<StmtCode> out;
    out.reserve(b.size());
    for (const Stmt& s : b) {
      std::visit([this, &out](const auto& kind) { out.push_back(statement(kind)); }, s.kind);
    }
    return out;
  }
  StmtCode statement(const Loop& loop) {
    StmtCode code;
    code.slot = slot(variables_, loop.variable.name());
    code.is_ahead = loop.kind == LoopKind::ahead;
    code.index = indices({loop.begin, loop.end, loop.step});
    for (const LoopDigit& d : loop.digits)
      code.digits.push_back(slot(variables_, d.variable.name()));
    for (const Expr& value : digit_values(loop)) code.index.push_back(index(value));
    for (std::size_t k = 0; k < p_.tensors.size(); ++k)
      if (p_.tensors[k].per == loop.variable) code.tensors.push_back(static_cast<int>(k));
    for (const Accumulator& a : loop.accumulators) {
      code.accumulators.push_back({slot(accumulators_, a.name), a.op, a.dtype});
    }
    code.body = body(loop.body);
    for (const PrefetchedElement& e : loop.prefetched) {
      StmtCode prefetch;
      prefetch.kind = StmtCode::Kind::prefetch;
      prefetch.slot = tensors_.at(e.tensor);
      prefetch.index = indices(e.index);
      code.body.insert(code.body.begin(), std::move(prefetch));
    }
    return code;
  }
  StmtCode statement(const If& branch) {
    StmtCode code;
    code.kind = StmtCode::Kind::branch;
    code.conditions = conditions(branch.conditions);
    code.body = body(branch.body);
    for (const StmtCode& s : code.body) {
      code.accumulators.insert(code.accumulators.end(), s.accumulators.begin(),
                               s.accumulators.end());
    }
    return code;
  }
  StmtCode statement(const Store& store) {
    return valued(StmtCode::Kind::store, tensors_.at(store.tensor), store.value,
                  indices(store.index));
  }
  StmtCode statement(const StoreReduce& store) {
    StmtCode code = valued(StmtCode::Kind::store_reduce, tensors_.at(store.tensor), store.value,
                           indices(store.index));
    code.scatter = store.op;
    return code;
  }
  StmtCode statement(const Fold& fold) {
    StmtCode code = valued(StmtCode::Kind::fold, slot(accumulators_, fold.accumulator), fold.value,
                           indices({fold.position}));
    code.op = fold.op;
    return code;
  }
  StmtCode statement(const Let& let) {
    return valued(StmtCode::Kind::let, slot(lets_, let.name), let.value, {});
  }
  static StmtCode statement(const Barrier& /*barrier*/) {
    StmtCode code;
    code.kind = StmtCode::Kind::barrier;
    return code;
  }
  static StmtCode statement(const WaitForCopies& wait) {
    StmtCode code;
    code.kind = StmtCode::Kind::wait;
    code.pending = wait.pending;
    return code;
  }
  StmtCode valued(StmtCode::Kind kind, int slot, const Value& v, std::vector<IndexCode> index) {
    StmtCode code;
    code.kind = kind;
    code.slot = slot;
    code.dtype = v->dtype;
    code.index = std::move(index);
    code.value = value(v);
    return code;
  }

  const LoopProgram& p_;
  const Binding& binding_;
  Slots tensors_;
  Slots variables_;
  Slots accumulators_;
  Slots lets_;
};

}  // namespace

Code resolve(const LoopProgram& p, const Binding& binding) { return Resolver(p, binding).run(); }

}  // namespace mote::machine
