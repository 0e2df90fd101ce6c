// SPDX-License-Identifier: Apache-2.0
// Turns syntax into values. In: a tree, the names so far, the dtype that is known where it stands;
// out: what the printer would print as that text.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/syntax.h"
#include "ir/text_words.h"
#include "mote/base/error.h"
#include "mote/uops/language.h"

namespace mote::loop_text {
namespace {

using Kind = Syntax::Kind;
using Meaning = Names::Meaning;

/// The operations inside each other that a value may have.
constexpr std::size_t kMaxDepth = 1000;

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
    std::vector<Expr> index;
    for (const Syntax& a : s.args) index.push_back(index_of(a, text_, names_));
    return load_value(s.name, std::move(index), *known->dtype);
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
