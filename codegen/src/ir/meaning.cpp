// SPDX-License-Identifier: Apache-2.0
// Turns syntax into index expressions, conditions and values. In: a tree, the names so far, the
// dtype that is known where it stands; out: what the printer would print as that text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ir/syntax.h"
#include "ir/text_words.h"
#include "mote/base/error.h"
#include "mote/base/near_names.h"
#include "mote/uops/compare.h"
#include "mote/uops/language.h"

namespace mote::loop_text {
namespace {

using Kind = Syntax::Kind;
using Meaning = Names::Meaning;

/// The operations inside each other that a value may have.
constexpr std::size_t kMaxDepth = 1000;

[[noreturn]] void fail_unknown(const Syntax& s, const Cursor& text, const Names& names) {
  const std::vector<std::string> known = names.all();
  text.fail(s.at, fmt::format("unknown name '{}'{} (known: {})", s.name,
                              did_you_mean(s.name, known), fmt::join(known, ", ")));
}

// ---- index expressions

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
        return load(s.name, all(s.args));
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

// ---- values

class ValueReader {
 public:
  ValueReader(const Cursor& text, const Names& names) : text_(text), names_(names) {}

  Value read(const Syntax& s, std::optional<DType> known, std::size_t depth) const {
    if (depth > kMaxDepth) text_.fail(s.at, fmt::format("nested deeper than {}", kMaxDepth));
    if (s.is_index()) return index(s, s, known);
    switch (s.kind) {
      case Kind::number:
        return number(s, known);
      case Kind::param:
        return param_value(s.name, known.value_or(s.told.dtype));
      case Kind::name:
        return name(s);
      case Kind::element:
        return element(s);
      case Kind::negative:
        return operation(s, MapOp::neg, known, depth);
      case Kind::logical_not:
        return operation(s, MapOp::logical_not, known, depth);
      case Kind::call:
        return call(s, known, depth);
      case Kind::chain:
        return chain(s, known, depth);
      case Kind::guard:
        break;
    }
    Value then = read(s.args[1], known, depth + 1);
    const Number otherwise = number_of(s, text_, then->dtype);
    return guard_value(conditions_of(s.args[0], text_, names_), std::move(then), otherwise);
  }

 private:
  Value index(const Syntax& s, const Syntax& e, std::optional<DType> known) const {
    const DType dtype = known.value_or(DType::i64);
    if (dtype != DType::i64 && !is_real(dtype))
      text_.fail(s.at, fmt::format("expected {}, got an index expression, which is an i64: write "
                                   "{}(…)",
                                   mote::name(dtype), mote::name(dtype)));
    return index_value(index_of(e, text_, names_), dtype);
  }

  Value number(const Syntax& s, std::optional<DType> known) const {
    if (!known)
      text_.fail(s.at, fmt::format("the dtype of {} is not known here: write f32({}), for example",
                                   s.literal.text, s.literal.text));
    return constant(number_of(s, text_, *known), *known);
  }

  Value name(const Syntax& s) const {
    const Meaning* known = names_.find(s.name);
    if (known == nullptr) fail_unknown(s, text_, names_);
    if (known->kind == Meaning::Kind::tensor)
      text_.fail(s.at, fmt::format("{} is a tensor: expected {}[…]", s.name, s.name));
    if (known->kind == Meaning::Kind::let) return named_value(s.name, *known->dtype);
    if (!known->dtype)
      text_.fail(s.at, fmt::format("nothing has been folded into {}, so that its dtype is not "
                                   "known: write {} = {} of f32, for example, behind `with`",
                                   s.name, s.name, mote::name(known->op)));
    return accumulated_value(s.name, result_dtype(known->op, *known->dtype));
  }

  Value element(const Syntax& s) const {
    const Meaning* known = names_.find(s.name);
    if (known == nullptr) fail_unknown(s, text_, names_);
    if (known->kind != Meaning::Kind::tensor)
      text_.fail(s.at, fmt::format("{} is no tensor, and has no elements", s.name));
    return load_value(s.name, IndexReader(text_, names_).all(s.args), *known->dtype);
  }

  Value call(const Syntax& s, std::optional<DType> known, std::size_t depth) const {
    if (s.name == words::kIndex) return index(s, s.args.front(), s.dtype ? s.dtype : known);
    if (const std::optional<DType> dtype = parse_dtype(s.name)) {
      const Syntax& of = s.args.front();
      if (of.kind == Kind::number || of.kind == Kind::param)
        return read(of, *dtype, depth + 1);  // it only states the dtype
      const Value v = read(of, std::nullopt, depth + 1);
      return op_value(MapOp::cast, {v}, v->dtype, *dtype);
    }
    return operation(s, *find_map_op(s.name), known, depth);
  }

  Value operation(const Syntax& s, MapOp op, std::optional<DType> known, std::size_t depth) const {
    if (s.args.size() != static_cast<std::size_t>(arity(op)))
      text_.fail(s.at, fmt::format("{} of {} values: expected {}", mote::name(op), s.args.size(),
                                   arity(op)));
    std::vector<Told> told;
    for (const Syntax& a : s.args) told.push_back(a.told);
    const std::optional<DType> of_args = known_of_arguments(op, known, told);
    std::vector<Value> args;
    for (const Syntax& a : s.args)
      args.push_back(
          read(a, op == MapOp::where && args.empty() ? DType::boolean : of_args, depth + 1));
    return made(s, op, std::move(args));
  }

  Value chain(const Syntax& s, std::optional<DType> known, std::size_t depth) const {
    const std::size_t first = std::max<std::size_t>(s.index_count, 1);
    std::vector<Told> told = {s.index_count > 0 ? Told::weakly(DType::i64) : s.args[0].told};
    for (std::size_t k = first; k < s.args.size(); ++k) told.push_back(s.args[k].told);
    const std::optional<DType> of_args = known_of_arguments(s.operators.back(), known, told);
    std::size_t below = depth + told.size() - 1;  // the first operator is the innermost
    Value out = s.index_count > 1 ? index(s, s.index_part(), of_args)
                                  : read(s.args.front(), of_args, below);
    for (std::size_t k = first; k < s.args.size(); ++k, --below) {
      if (s.operators[k - 1] == MapOp::mod)
        text_.fail(s.at, "'%' is an operator of index expressions: expected mod(…, …)");
      out = made(s, s.operators[k - 1], {out, read(s.args[k], of_args, below)});
    }
    return out;
  }

  Value made(const Syntax& s, MapOp op, std::vector<Value> args) const {
    std::vector<DType> dtypes;
    for (const Value& a : args) dtypes.push_back(a->dtype);
    try {
      const DType dtype = result_dtype(op, dtypes, dtypes.back());
      return op_value(op, std::move(args), dtypes.back(), dtype);
    } catch (const Error& error) {
      text_.fail(s.at, error.what());
    }
  }

  const Cursor& text_;
  const Names& names_;
};

}  // namespace

Expr index_of(const Syntax& s, const Cursor& text, const Names& names) {
  return IndexReader(text, names).read(s);
}

Conditions conditions_of(const Syntax& s, const Cursor& text, const Names& names) {
  Conditions out;
  add_conditions(s, text, names, out);
  return out;
}

Value value_of(const Syntax& s, const Cursor& text, const Names& names,
               std::optional<DType> known) {
  return ValueReader(text, names).read(s, known, 0);
}

Number number_of(const Syntax& s, const Cursor& text, DType dtype) {
  if (is_real(dtype)) return s.literal.real;
  if (!s.literal.is_integer)
    text.fail(s.at, fmt::format("{} is no {}", s.literal.text, name(dtype)));
  return s.literal.integer;
}

}  // namespace mote::loop_text
