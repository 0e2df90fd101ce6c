// SPDX-License-Identifier: Apache-2.0
// Turns syntax into index expressions and conditions. In: a tree, the names so far; out: what the
// printer would print as that text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/syntax.h"
#include "mote/base/error.h"
#include "mote/base/near_names.h"
#include "mote/uops/compare.h"

namespace mote::loop_text {
namespace {

using Kind = Syntax::Kind;
using Meaning = Names::Meaning;

class IndexReader {
 public:
  IndexReader(const Cursor& text, const Names& names) : text_(text), names_(names) {}

  Expr read(const Syntax& s) const {
    switch (s.kind) {
      case Kind::number:
        if (s.literal.is_integer) return s.literal.integer;
        break;
      case Kind::name:
        return named(s);
      case Kind::param:
        if (!s.reads_as_index)
          text_.fail(s.at, fmt::format("parameter ${} is real, and no index", s.name));
        return Expr(Symbol(SymbolKind::param, s.name));
      case Kind::element:
        return apply(s, [&] { return load(s.name, all(s.args)); });
      case Kind::negative:
        return apply(s, [&] { return -read(s.args.front()); });
      case Kind::call:
        if (s.name != "min" && s.name != "max") break;
        return apply(s, [&] {
          return rebuild(
              {s.name == "min" ? Atom::Kind::min : Atom::Kind::max, {}, {}, all(s.args)});
        });
      case Kind::chain:
        return chain(s);
      case Kind::logical_not:
      case Kind::guard:
        break;
    }
    text_.fail(s.at, fmt::format("expected an index expression, got {}", described(s)));
  }

  std::vector<Expr> all(const std::vector<Syntax>& args) const {
    std::vector<Expr> out;
    for (const Syntax& a : args) out.push_back(read(a));
    return out;
  }

 private:
  static std::string described(const Syntax& s) {
    if (s.kind == Kind::number) return s.literal.text;
    if (s.kind == Kind::call) return s.name + "(…)";
    if (s.kind == Kind::guard) return "a choice";
    return "a condition";
  }

  Expr named(const Syntax& s) const {
    const Meaning* known = names_.find(s.name);
    if (known != nullptr && known->kind == Meaning::Kind::variable)
      return Expr(Symbol(SymbolKind::loop, s.name));
    const auto size = names_.sizes.find(s.name);
    if (known == nullptr && size != names_.sizes.end()) return size->second;
    if (known == nullptr) fail_unknown(s, text_, names_);
    text_.fail(s.at, fmt::format("{} is no index: expected a variable or a size, or {}[] for its "
                                 "value",
                                 s.name, s.name));
  }

  Expr chain(const Syntax& s) const {
    Expr out = read(s.args.front());
    for (std::size_t k = 0; k < s.operators.size(); ++k) {
      const Expr right = read(s.args[k + 1]);
      out = apply(s, [&] { return joined(s, s.operators[k], out, right); });
    }
    return out;
  }

  Expr joined(const Syntax& s, MapOp op, const Expr& a, const Expr& b) const {
    switch (op) {
      case MapOp::add:
        return a + b;
      case MapOp::sub:
        return a - b;
      case MapOp::mul:
        return a * b;
      case MapOp::div:
        return a / b;
      case MapOp::mod:
        return a % b;
      default:
        text_.fail(s.at, fmt::format("expected an index expression, got the operator '{}'",
                                     info(op).infix->symbol));
    }
  }

  /// Runs an operation of the algebra; its errors get the position.
  template <typename Operation>
  Expr apply(const Syntax& s, const Operation& operation) const {
    try {
      return operation();
    } catch (const Error& error) {
      constexpr std::string_view kPrefix = "index expression: ";
      const std::string_view what = error.what();
      if (what.starts_with(kPrefix)) text_.fail(s.at, std::string(what.substr(kPrefix.size())));
      throw;
    }
  }

  const Cursor& text_;
  const Names& names_;
};

void add_conditions(const Syntax& s, const Cursor& text, const Names& names, Conditions& out) {
  if (s.kind == Kind::chain && s.operators.front() == MapOp::logical_and) {
    for (const Syntax& a : s.args) add_conditions(a, text, names, out);
    return;
  }
  const bool is_relation = s.kind == Kind::chain && is_comparison(s.operators.front()) &&
                           s.operators.front() != MapOp::ne;
  if (!is_relation)
    text.fail(s.at, "expected a condition on index expressions: one of < <= > >= == between two");
  const Expr a = index_of(s.args[0], text, names);
  const Expr b = index_of(s.args[1], text, names);
  try {
    switch (s.operators.front()) {
      case MapOp::lt:
        return out.push_back({Condition::Kind::nonneg, b - a - 1});
      case MapOp::le:
        return out.push_back({Condition::Kind::nonneg, b - a});
      case MapOp::gt:
        return out.push_back({Condition::Kind::nonneg, a - b - 1});
      case MapOp::ge:
        return out.push_back({Condition::Kind::nonneg, a - b});
      default:
        return out.push_back({Condition::Kind::zero, a - b});
    }
  } catch (const Error& error) {
    text.fail(s.at, error.what());
  }
}

}  // namespace

void fail_unknown(const Syntax& s, const Cursor& text, const Names& names) {
  const std::vector<std::string> known = names.all();
  text.fail(s.at, fmt::format("unknown name '{}'{} (known: {})", s.name,
                              did_you_mean(s.name, known), fmt::join(known, ", ")));
}

Expr index_of(const Syntax& s, const Cursor& text, const Names& names) {
  return IndexReader(text, names).read(s);
}

Conditions conditions_of(const Syntax& s, const Cursor& text, const Names& names) {
  Conditions out;
  add_conditions(s, text, names, out);
  return out;
}

}  // namespace mote::loop_text
