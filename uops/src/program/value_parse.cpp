// SPDX-License-Identifier: Apache-2.0
// Parses values by precedence climbing. Literals and parameters stay untyped until they meet a
// tensor, and take its dtype.
#include "program/value_parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/node.h"
#include "mote/base/error.h"
#include "mote/base/near_names.h"
#include "mote/uops/language.h"
#include "program/language.h"
#include "program/value_typing.h"

namespace mote {
namespace {

constexpr int kLoosest = text::kOr;  // the level of the loosest operator

class Parser {
 public:
  Parser(ProgramCursor& text, const Scope& scope, Positions& positions)
      : text_(text), scope_(scope), typing_(text, positions) {}

  Uop run() {
    const std::size_t start = text_.position();
    return typing_.typed(start, infix(kLoosest));
  }

 private:
  struct Nest {  // counts how deep texts nest
    explicit Nest(Parser& p) : parser(p) {
      if (++parser.nesting_ > kMaxValueNesting)
        parser.text_.fail(parser.text_.position(),
                          fmt::format("nested deeper than {}", kMaxValueNesting));
    }
    ~Nest() { --parser.nesting_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;
    Parser& parser;
  };

  // ---- operators

  Value infix(int least) {
    const Nest nest(*this);
    Value left = unary();
    int last_level = 0;
    while (const InfixOperator* op = next_infix()) {
      if (op->level < least) break;
      const std::size_t at = text_.position();
      if (op->level == text::kRelation && last_level == text::kRelation)
        text_.fail(at, "comparisons do not chain, join them by &&");
      text_.expect(op->symbol);
      Value right = infix(op->level + 1);
      left = typing_.combine(op->op, at, {std::move(left), std::move(right)});
      last_level = op->level;
    }
    return left;
  }

  const InfixOperator* next_infix() {
    for (const InfixOperator& op : infix_operators())
      if (text_.peek(op.symbol)) return &op;
    return nullptr;
  }

  Value unary() {
    const Nest nest(*this);
    const std::size_t at = text_.position();
    if (!text_.peek("-")) return postfix(primary());
    text_.expect("-");
    const std::string_view word = text_.peek_word();
    if (text_.at_number() || word == "inf" || word == "nan") return literal(at, true);
    return typing_.combine(MapOp::neg, at, {unary()});
  }

  Value postfix(Value v) {
    while (text_.peek("[")) {
      const std::size_t at = text_.position();
      v = {reindexed(at, typing_.typed(at, v)), nullptr};
    }
    return v;
  }

  // Parses x[i0, i1 over N, C else -inf].
  Uop reindexed(std::size_t at, const Uop& x) {
    text_.open("[");
    std::vector<IndexText> from;
    if (text_.peek_word() != "over") {
      do {
        IndexText index = index_text(",");
        from.push_back(std::move(index));
      } while (text_.accept(","));
    }
    if (!text_.accept_word("over")) text_.expected("',' or 'over'");
    const Shape shape = text_.axes();
    const Number fill = fill_or_zero(x.dtype());
    text_.close("]");
    return typing_.build(at, [&] { return reindex(x, shape, from, fill); });
  }

  Number fill_or_zero(DType dtype) {
    if (!text_.accept_word("else")) return Number(0);
    const std::size_t at = text_.position();
    const Uop u = typing_.typed(at, signed_literal(), dtype);
    return std::get<uop::Scalar>(u.node().kind).value;
  }

  // ---- primaries

  Value primary() {
    const std::size_t at = text_.position();
    if (text_.peek("(")) {
      text_.open("(");
      Value v = infix(kLoosest);
      text_.close(")");
      return v;
    }
    if (text_.at_number()) return literal(at, false);
    if (text_.accept("$")) return parameter(at);
    const std::string word(text_.peek_word());
    if (word.empty()) text_.expected("a value");
    if (is_constant_word(word)) return literal(at, false);
    if (is_reserved_word(word)) return call(at, word);
    const auto found = scope_.values.find(word);
    if (found == scope_.values.end()) unknown(at, word);
    text_.accept_word(word);
    return {found->second, nullptr};
  }

  [[noreturn]] void unknown(std::size_t at, const std::string& word) {
    text_.accept_word(word);
    if (text_.peek("(")) unknown_function(at, word);
    std::vector<std::string> meant = scope_.order;
    const LanguageWords words = language_words();
    if (text_.peek("["))
      for (const auto* list : {&words.reductions, &words.forms})
        meant.insert(meant.end(), list->begin(), list->end());
    text_.fail(at, fmt::format("unknown name '{}'{} ({})", word, did_you_mean(word, meant),
                               scope_.order.empty()
                                   ? "none is known yet"
                                   : fmt::format("known: {}", fmt::join(scope_.order, ", "))));
  }

  [[noreturn]] void unknown_function(std::size_t at, const std::string& word) const {
    const LanguageWords words = language_words();
    std::vector<std::string> known;
    for (const auto* list : {&words.functions, &words.reductions, &words.forms, &words.dtypes})
      for (const std::string_view one : *list)  // max is a function and a reduction
        if (std::ranges::find(known, one) == known.end()) known.emplace_back(one);
    const std::string near = did_you_mean(word, known);
    text_.fail(at, near.empty() ? fmt::format("unknown function '{}' (known: {})", word,
                                              fmt::join(known, ", "))
                                : fmt::format("unknown function '{}'{}", word, near));
  }

  Value signed_literal() {
    const std::size_t at = text_.position();
    return literal(at, text_.accept("-"));
  }

  // Parses a number, inf, nan, true or false; a minus sign has been read if `negative`.
  Value literal(std::size_t at, bool negative) {
    for (const bool b : {false, true})
      if (!negative && text_.accept_word(b ? "true" : "false")) return typing_.boolean(at, b);
    return typing_.number(at, text_.literal(negative));
  }

  Value parameter(std::size_t at) {
    const std::string word = text_.word("a parameter's name");
    const bool known = std::any_of(scope_.params.begin(), scope_.params.end(),
                                   [&](const ParamDecl& p) { return p.name == word; });
    if (!known) {
      std::vector<std::string> names;
      for (const ParamDecl& p : scope_.params) names.push_back(p.name);
      text_.fail(at, fmt::format("unknown parameter '${}'{} ({})", word, did_you_mean(word, names),
                                 names.empty() ? "none is declared"
                                               : fmt::format("known: {}", fmt::join(names, ", "))));
    }
    return {Uop(), [word](DType d) { return param(word, d); }};
  }

  // ---- calls

  Value call(std::size_t at, const std::string& word) {
    text_.accept_word(word);
    if (const std::optional<ValueForm> form = find_value_form(word))
      return {formed(at, *form), nullptr};
    if (const std::optional<DType> dtype = scope_.dtype(word)) {
      const Value v = single_argument();  // for a literal it only states the dtype
      if (!v.uop) return {typing_.typed(at, v, *dtype), nullptr};
      return {typing_.build(at, [&] { return cast(v.uop, *dtype); }), nullptr};
    }
    if (is_reduction(word) && (text_.peek("[") || !find_map_op(word)))
      return {reduction(at, word), nullptr};
    const std::optional<MapOp> op = find_map_op(word);
    if (!op || *op == MapOp::cast) text_.fail(at, fmt::format("'{}' cannot stand here", word));
    return typing_.combine(*op, at, arguments());
  }

  Uop formed(std::size_t at, ValueForm form) {
    switch (form) {
      case ValueForm::iota:
        return iota_call(at);
      case ValueForm::select:
        return select_call(at);
      case ValueForm::scatter:
        return scatter_call(at);
      case ValueForm::select_scatter:
        return select_scatter_call(at);
      case ValueForm::stop_gradient:
        break;
    }
    const Uop x = typing_.typed(at, single_argument());
    return typing_.build(at, [&] { return stop_gradient(x); });
  }

  std::vector<Value> arguments() {
    std::vector<Value> args;
    text_.open("(");
    do args.push_back(infix(kLoosest));
    while (text_.accept(","));
    text_.close(")");
    return args;
  }

  Value single_argument() {
    text_.open("(");
    Value v = infix(kLoosest);
    text_.close(")");
    return v;
  }

  IndexText index_text(std::string_view stops) {
    ParsedExpr parsed = text_.index(stops);
    IndexText index(parsed.expr);
    index.constraints = std::move(parsed.constraints);
    return index;
  }

  Uop iota_call(std::size_t at) {
    text_.open("(");
    const IndexText index = index_text("");
    if (!text_.accept_word("over")) text_.expected("'over'");
    const Shape shape = text_.axes();
    text_.close(")");
    return typing_.build(at, [&] { return iota(index, shape); });
  }

  // Parses select[1](x, index else -1).
  Uop select_call(std::size_t at) {
    text_.open("[");
    const int axis = axis_number();
    text_.close("]");
    text_.open("(");
    const Uop x = typing_.typed(at, infix(kLoosest));
    text_.expect(",");
    const Uop index = typing_.typed(at, infix(kLoosest));
    const Number fill = fill_or_zero(x.dtype());
    text_.close(")");
    return typing_.build(at, [&] { return select(x, axis, index, fill); });
  }

  std::pair<Uop, Uop> base_and_x(std::size_t at) {
    const Uop base = typing_.typed(at, infix(kLoosest));
    text_.expect(",");
    return {base, typing_.typed(at, infix(kLoosest), base.dtype())};
  }

  // Parses scatter[add](base, x to 2*i0, i1).
  Uop scatter_call(std::size_t at) {
    text_.open("[");
    const ScatterOp op = scatter_op();
    text_.close("]");
    text_.open("(");
    const std::pair<Uop, Uop> operands = base_and_x(at);
    if (!text_.accept_word("to")) text_.expected("'to'");
    std::vector<IndexText> to;
    while (!text_.peek(")")) {
      if (!to.empty()) text_.expect(",");
      to.push_back(index_text(","));
    }
    text_.close(")");
    return typing_.build(at, [&] { return scatter(op, operands.first, operands.second, to); });
  }

  // Parses select_scatter[1, add](base, x, index).
  Uop select_scatter_call(std::size_t at) {
    text_.open("[");
    const int axis = axis_number();
    text_.expect(",");
    const ScatterOp op = scatter_op();
    text_.close("]");
    text_.open("(");
    const std::pair<Uop, Uop> operands = base_and_x(at);
    text_.expect(",");
    const Uop index = typing_.typed(at, infix(kLoosest));
    text_.close(")");
    return typing_.build(
        at, [&] { return select_scatter(op, operands.first, operands.second, axis, index); });
  }

  ScatterOp scatter_op() {
    const std::size_t at = text_.position();
    const std::string word = text_.word("add, mul, max, min or set");
    const std::optional<ScatterOp> op = find_scatter_op(word);
    if (!op)
      text_.fail(at, fmt::format("unknown scatter op '{}'{} (known: add, mul, max, min, set)", word,
                                 did_you_mean(word, scatter_op_names())));
    return *op;
  }

  static std::vector<std::string> scatter_op_names() {
    const LanguageWords words = language_words();
    return {words.scatter_ops.begin(), words.scatter_ops.end()};
  }

  int axis_number() {
    const std::size_t at = text_.position();
    const std::int64_t axis = text_.integer();
    if (axis < 0 || axis >= kMaxRank)
      text_.fail(at, fmt::format("axis {} is not in 0..{}", axis, kMaxRank - 1));
    return static_cast<int>(axis);
  }

  // Parses max[1, 2](x) and max[1 keep](x).
  Uop reduction(std::size_t at, const std::string& word) {
    std::vector<int> axes;
    if (!text_.peek("[")) text_.expected(fmt::format("'[' and the axes, as in {}[0](…)", word));
    text_.open("[");
    do axes.push_back(axis_number());
    while (text_.accept(","));
    const bool keep = text_.accept_word("keep");
    text_.close("]");
    const Uop x = typing_.typed(at, single_argument());
    return typing_.build(at, [&] {
      const Uop y = word == "mean" ? mean_over(x, axes) : reduce(*find_reduce_op(word), x, axes);
      return keep ? keep_axes(y, x, axes) : y;
    });
  }

  ProgramCursor& text_;
  const Scope& scope_;
  Typing typing_;
  int nesting_ = 0;
};

}  // namespace

Uop parse_value(ProgramCursor& text, const Scope& scope, Positions& positions) {
  return Parser(text, scope, positions).run();
}

}  // namespace mote
