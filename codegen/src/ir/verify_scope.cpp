// SPDX-License-Identifier: Apache-2.0
// Checks the rules for index expressions, conditions and values at one point of a program. In: the
// scope and an expression; out: nothing, or an InternalError that says what is wrong.
#include "ir/verify_scope.h"

#include "ir/told.h"
#include "mote/base/error.h"
#include "mote/codegen/walk.h"

namespace mote::verification {

void Scope::fail(const std::string& what) const {
  std::string where;
  if (current_ != nullptr) {
    const std::string text = to_string(*current_);
    where = fmt::format("`{}`", text.substr(0, text.find('\n')));
    if (!loops_.empty()) where += fmt::format(" in loops {}", fmt::join(loops_, ", "));
    where += ": ";
  }
  throw InternalError(fmt::format("{}: {}{}", p_.name, where, what));
}

void Scope::read(const TensorDecl& t, std::size_t rank) const {
  check(rank == t.shape.size(), "{} has rank {}, its index has {}", t.name, t.shape.size(), rank);
  check(t.role == TensorRole::input || p_.is_part || stored_.contains(t.name),
        "{} is read before any store", t.name);
}

void Scope::expr(const Expr& e) const {
  for (Symbol s : e.symbols()) {
    if (s.kind() != SymbolKind::loop) {
      check(symbols_.contains(s.to_string()), "{} is not a size or integer parameter of the source",
            s.to_string());
      continue;
    }
    const auto found = visible_.find(s.name());
    check(found != visible_.end() && found->second.kind == Name::Kind::variable,
          "variable {} is used outside its loop", s.name());
  }
  for_each_load(e, [this](const Atom& a) { index_load(a); });
}

void Scope::index_load(const Atom& a) const {
  DType dtype = DType::i64;
  if (const TensorDecl* t = find_tensor(p_, a.tensor)) {
    read(*t, a.args.size());
    dtype = t->dtype;
  } else {
    const auto found = visible_.find(a.tensor);
    check(found != visible_.end() && found->second.kind == Name::Kind::let && a.args.empty(),
          "unknown tensor {} in an index", a.tensor);
    dtype = found->second.dtype;
  }
  check(!is_real(dtype), "{} is {}, read as an index", a.tensor, name(dtype));
}

void Scope::conditions(const Conditions& c) const {
  for (const Condition& one : c) expr(one.e);
}

void Scope::value(const Value& v) const {
  check(v != nullptr, "a value is missing");
  std::visit([this, &v](const auto& kind) { node(kind, v->dtype); }, v->kind);
}

void Scope::node(const value::Constant& c, DType dtype) const {
  check(c.number.is_real() == is_real(dtype), "a constant is not a {}", name(dtype));
}

void Scope::node(const value::Index& i, DType dtype) const {
  expr(i.e);
  check(dtype == DType::i64 || is_real(dtype), "an index expression is typed {}", name(dtype));
}

void Scope::node(const value::Param& p, DType dtype) const {
  const std::optional<int> k = find_param(*p_.source, p.name);
  check(k.has_value(), "unknown parameter ${}", p.name);
  check(is_real(dtype) || p_.source->params[static_cast<std::size_t>(*k)].is_integer,
        "real parameter ${} is typed {}", p.name, name(dtype));
}

void Scope::node(const value::Load& l, DType dtype) const {
  const TensorDecl* t = find_tensor(p_, l.tensor);
  if (t == nullptr) fail(fmt::format("unknown tensor {}", l.tensor));
  for (const Expr& e : l.index) expr(e);
  read(*t, l.index.size());
  check(dtype == t->dtype, "{} is {}, read as {}", l.tensor, name(t->dtype), name(dtype));
}

void Scope::node(const value::Op& op, DType dtype) const {
  check(static_cast<int>(op.args.size()) == arity(op.op), "{} with {} arguments", name(op.op),
        op.args.size());
  std::vector<DType> dtypes;
  for (const Value& a : op.args) {
    value(a);
    dtypes.push_back(a->dtype);
  }
  check(dtypes.back() == op.arg_dtype, "{} of {} has an argument of {}", name(op.op),
        name(op.arg_dtype), name(dtypes.back()));
  DType expected = dtype;
  try {
    expected = result_dtype(op.op, dtypes, dtype);
  } catch (const Error& e) {
    fail(e.what());
  }
  check(expected == dtype, "{} gives {}, typed {}", name(op.op), name(expected), name(dtype));
}

void Scope::node(const value::Guard& g, DType dtype) const {
  conditions(g.conditions);
  value(g.then);
  check(g.then->dtype == dtype && g.otherwise.is_real() == is_real(dtype),
        "the two sides of a guard have different dtypes");
}

void Scope::node(const value::Accumulated& a, DType dtype) const {
  const auto found = visible_.find(a.name);
  check(found != visible_.end() && found->second.kind != Name::Kind::variable &&
            found->second.kind != Name::Kind::let,
        "accumulator {} is read outside the body of its loop", a.name);
  check(found->second.kind == Name::Kind::closed_accumulator,
        "accumulator {} is read before its loop has ended", a.name);
  const DType expected = result_dtype(found->second.op, found->second.dtype);
  check(dtype == expected, "accumulator {} is {}, read as {}", a.name, name(expected), name(dtype));
}

void Scope::node(const value::Named& b, DType dtype) const {
  const auto found = visible_.find(b.name);
  check(found != visible_.end() && found->second.kind == Name::Kind::let,
        "{} is used out of its scope", b.name);
  check(dtype == found->second.dtype, "{} is {}, read as {}", b.name, name(found->second.dtype),
        name(dtype));
}

}  // namespace mote::verification
