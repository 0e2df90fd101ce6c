// SPDX-License-Identifier: Apache-2.0
// Checks the invariants of loop programs in the order of execution. In: a program; out: nothing, or
// an InternalError that names the program, the loop or statement, and the error in it.
#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "ir/verify_scope.h"
#include "mote/codegen/loops.h"
#include "passes/leave_out.h"
#include "schedule/iterations.h"

namespace mote {
namespace {

using verification::Name;

class Verifier : verification::Scope {
 public:
  explicit Verifier(const LoopProgram& p) : Scope(p) {}
  void run();

 private:
  void source();
  void order(const TensorDecl& t);
  void interface(TensorRole role, const std::vector<std::pair<std::string, DType>>& declared);
  void global(const std::string& name, std::string_view what);
  void introduce(const std::string& name, Name meaning);

  void body(const Body& b);
  void statement(const Stmt& s);
  void operator()(const Loop& loop);
  void operator()(const If& branch);
  void operator()(const Store& store);
  void operator()(const StoreReduce& store);
  void operator()(const Fold& fold);
  void operator()(const Let& let);
  void operator()(const Barrier& /*barrier*/) {}
  void operator()(const WaitForCopies& wait) {
    check(wait.pending >= 0, "it waits for {} copies", wait.pending);
  }
  const TensorDecl& written(const std::string& tensor, const std::vector<Expr>& index,
                            const Value& v) const;

  std::map<std::string, std::string_view> fixed_;  ///< names with the whole program as scope
  std::set<std::string> bound_;                    ///< every loop variable so far
};

void Verifier::global(const std::string& name, std::string_view what) {
  const auto [known, is_new] = fixed_.emplace(name, what);
  check(is_new, "{} {} has the name of a {}", what, name, known->second);
}

void Verifier::interface(TensorRole role,
                         const std::vector<std::pair<std::string, DType>>& declared) {
  std::vector<std::pair<std::string, DType>> here;
  for (const TensorDecl& t : p_.tensors) {
    if (t.role == role) here.emplace_back(t.name, t.dtype);
  }
  const auto text = [](const std::vector<std::pair<std::string, DType>>& all) {
    std::string out;
    for (const auto& [tensor, dtype] : all) out += fmt::format(" {} {}", tensor, name(dtype));
    return out;
  };
  check(here == declared, "{} are{}, the source's are{}",
        role == TensorRole::input ? "inputs" : "outputs", text(here), text(declared));
}

void Verifier::source() {
  check(p_.source != nullptr, "the program has no source");
  std::vector<std::pair<std::string, DType>> inputs;
  std::vector<std::pair<std::string, DType>> outputs;
  for (const Uop& u : p_.source->inputs) {
    inputs.emplace_back(std::get<uop::Input>(u.node().kind).name, u.dtype());
  }
  for (const Output& o : p_.source->outputs) outputs.emplace_back(o.name, o.value.dtype());
  interface(TensorRole::input, inputs);
  interface(TensorRole::output, outputs);
  for (const SizeRule& rule : p_.source->size_rules) symbols_.insert(rule.size.to_string());
  for (const NamedSize& size : p_.source->sizes) symbols_.insert(size.name);
  for (const TensorDecl& t : p_.tensors) global(t.name, "tensor");
  for (const std::string& size : symbols_) fixed_.emplace(size, "size");
  for (const ParamDecl& param : p_.source->params) {
    if (param.is_integer) symbols_.insert(Symbol(SymbolKind::param, param.name).to_string());
  }
  for (const Output& output : p_.source->outputs) symbols_.insert(wanted(output.name).to_string());
}

void Verifier::order(const TensorDecl& t) {
  const AxesOfInput& axes = *t.ordered_like;
  const TensorDecl* like = find_tensor(p_, axes.tensor);
  check(
      t.role == TensorRole::temporary && t.memory == TensorMemory::automatic && t.shape.size() >= 2,
      "{} has no two axes that may be ordered like another tensor's", t.name);
  const auto is_axis = [&](int axis) {
    return axis >= 0 && static_cast<std::size_t>(axis) < like->shape.size();
  };
  check(like != nullptr && like->role == TensorRole::input && is_axis(axes.last_but_one) &&
            is_axis(axes.last) && axes.last_but_one != axes.last,
        "{} is ordered like axes {} and {} of {}, which no input has", t.name, axes.last_but_one,
        axes.last, axes.tensor);
}

void Verifier::run() {
  source();
  for (const TensorDecl& t : p_.tensors) {
    for (const Expr& e : t.shape) {
      check(!e.has_load(), "shape of {} reads a tensor: {}", t.name, e.to_string());
      expr(e);
    }
    if (t.ordered_like) order(t);
  }
  for (const Condition& c : p_.demands)
    check(!c.e.has_load(), "a demand reads a tensor: {}", c.e.to_string());
  conditions(p_.demands);
  body(p_.body);
  current_ = nullptr;
  for (const TensorDecl& t : p_.tensors)
    check(t.role != TensorRole::output || p_.is_part || stored_.contains(t.name),
          "output {} is never stored", t.name);
}

void Verifier::introduce(const std::string& name, Name meaning) {
  check(!visible_.contains(name), "{} is bound twice", name);
  const auto fixed = fixed_.find(name);
  if (fixed != fixed_.end()) fail(fmt::format("{} is the name of a {}", name, fixed->second));
  visible_.emplace(name, meaning);
}

void Verifier::body(const Body& b) {
  const std::map<std::string, Name> outside = visible_;
  for (const Stmt& s : b) statement(s);
  visible_ = outside;
}

void Verifier::statement(const Stmt& s) {
  const Stmt* outer = std::exchange(current_, &s);
  std::visit([this](const auto& kind) { (*this)(kind); }, s.kind);
  current_ = outer;
}

void Verifier::operator()(const Loop& loop) {
  for (const Expr* e : {&loop.begin, &loop.end, &loop.step}) expr(*e);
  const std::optional<std::int64_t> step = loop.step.constant();
  check(!step || *step >= 1, "the step is not positive");
  check(loop.variable.kind() == SymbolKind::loop, "the variable is not a loop symbol");
  const std::string& variable = loop.variable.name();
  check(bound_.insert(variable).second, "variable {} is bound twice", variable);
  for (const LoopDigit& d : loop.digits)
    for (const Expr* e : {&d.begin, &d.end, &d.step}) expr(*e);
  introduce(variable, {Name::Kind::variable});
  if (!loop.digits.empty()) expr(loop.number);
  for (const LoopDigit& d : loop.digits) {
    check(bound_.insert(d.variable.name()).second, "variable {} is bound twice", d.variable.name());
    introduce(d.variable.name(), {Name::Kind::variable});
  }
  for (const Accumulator& a : loop.accumulators) {
    introduce(a.name, {Name::Kind::open_accumulator, a.dtype, a.op});
  }
  for (const PrefetchedElement& e : loop.prefetched) {
    const TensorDecl* t = find_tensor(p_, e.tensor);
    check(t != nullptr && t->role == TensorRole::input, "{} is prefetched, but is no input",
          e.tensor);
    check(e.index.size() == t->shape.size(), "a prefetched element of {} has {} indices, not {}",
          e.tensor, e.index.size(), t->shape.size());
    for (const Expr& index : e.index) expr(index);
  }
  loops_.push_back(variable);
  body(loop.body);
  loops_.pop_back();
  visible_.erase(variable);
  for (const LoopDigit& d : loop.digits) visible_.erase(d.variable.name());
  for (const Accumulator& a : loop.accumulators) {
    visible_.at(a.name).kind = Name::Kind::closed_accumulator;
  }
}

void Verifier::operator()(const If& branch) {
  conditions(branch.conditions);
  const std::map<std::string, Name> outside = visible_;
  for (const Stmt& s : branch.body) statement(s);
  std::map<std::string, Name> after = outside;
  for (const auto& [known, meaning] : visible_) {
    if (meaning.kind == Name::Kind::closed_accumulator) after.emplace(known, meaning);
  }
  visible_ = std::move(after);
}

const TensorDecl& Verifier::written(const std::string& tensor, const std::vector<Expr>& index,
                                    const Value& v) const {
  const TensorDecl* t = find_tensor(p_, tensor);
  if (t == nullptr) fail(fmt::format("unknown tensor {}", tensor));
  check(t->role != TensorRole::input, "input {} is written", tensor);
  check(index.size() == t->shape.size(), "{} has rank {}, its index has {}", tensor,
        t->shape.size(), index.size());
  for (const Expr& e : index) expr(e);
  value(v);
  check(v->dtype == t->dtype, "{} is {}, the value is {}", tensor, name(t->dtype), name(v->dtype));
  return *t;
}

void Verifier::operator()(const Store& store) {
  written(store.tensor, store.index, store.value);
  stored_.insert(store.tensor);
}

void Verifier::operator()(const StoreReduce& store) {
  const TensorDecl& t = written(store.tensor, store.index, store.value);
  read(t, store.index.size());
}

void Verifier::operator()(const Fold& fold) {
  const auto found = visible_.find(fold.accumulator);
  check(found != visible_.end() && found->second.kind == Name::Kind::open_accumulator,
        "accumulator {} is folded outside its loop", fold.accumulator);
  const Name& a = found->second;
  check(a.op == fold.op, "accumulator {} is a {}, folded by {}", fold.accumulator, name(a.op),
        name(fold.op));
  value(fold.value);
  expr(fold.position);
  check(fold.value->dtype == a.dtype, "accumulator {} folds {}, the value is {}", fold.accumulator,
        name(a.dtype), name(fold.value->dtype));
}

void Verifier::operator()(const Let& let) {
  value(let.value);
  introduce(let.name, {Name::Kind::let, let.value->dtype});
}

}  // namespace

void verify(const LoopProgram& p) {
  Verifier(p).run();
  verify_iterations(p);
  verify_blocks(p);
}

}  // namespace mote
