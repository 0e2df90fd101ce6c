// SPDX-License-Identifier: Apache-2.0
// Reads expressions by precedence climbing, with the operators and functions of program text. In: a
// cursor and the names so far; out: a tree that knows what it tells about its dtype.
#include "ir/syntax.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/text_words.h"
#include "mote/base/near_names.h"
#include "mote/uops/language.h"

namespace mote::loop_text {
namespace {

using Kind = Syntax::Kind;

bool is_index_operator(MapOp op) {
  return op == MapOp::add || op == MapOp::sub || op == MapOp::mul || op == MapOp::div ||
         op == MapOp::mod;
}

/// Returns what a call tells: f32(x), index(i), exp(x).
Told told_by_call(const Syntax& s) {
  if (const std::optional<DType> dtype = parse_dtype(s.name)) return Told::strongly(*dtype);
  if (s.name == words::kIndex) return s.dtype ? Told::strongly(*s.dtype) : Told::weakly(DType::i64);
  std::vector<Told> args;
  for (const Syntax& a : s.args) args.push_back(a.told);
  return told_by(*find_map_op(s.name), args, DType::f64);
}

/// Returns the number of the first arguments that are one index expression.
std::size_t leading_indices(const Syntax& s) {
  std::size_t count = 0;
  bool names_variable = false;
  for (; count < s.args.size() && s.args[count].reads_as_index; ++count) {
    if (count > 0 && !is_index_operator(s.operators[count - 1])) break;
    names_variable = names_variable || s.args[count].names_variable;
  }
  return names_variable ? count : 0;
}

Told told_by_chain(const Syntax& s) {
  Told told = s.index_count > 0 ? Told::weakly(DType::i64) : s.args.front().told;
  for (std::size_t k = std::max<std::size_t>(s.index_count, 1); k < s.args.size(); ++k)
    told = told_by(s.operators[k - 1], std::vector<Told>{told, s.args[k].told}, DType::f64);
  return told;
}

class Parser {
 public:
  Parser(Cursor& text, const Names& names) : text_(text), names_(names) {}

  Syntax infix(int least) {
    const Nest nest(*this);
    Syntax left = unary();
    std::optional<Operator> op = next_operator();
    while (op && op->level >= least) {
      const int level = op->level;
      Syntax chain{Kind::chain, text_.position()};
      chain.args.push_back(std::move(left));
      do {
        const bool is_comparison = level == text::kRelation || level == text::kEquality;
        if (is_comparison && !chain.operators.empty())
          text_.fail(text_.position(), "comparisons do not chain, join them by &&");
        text_.expect(op->symbol);
        chain.operators.push_back(op->op);
        chain.args.push_back(infix(level + 1));
        op = next_operator();
      } while (op && op->level == level);
      finish(chain);
      left = std::move(chain);
    }
    return left;
  }

 private:
  struct Nest {  // counts how deep texts nest
    explicit Nest(Parser& p) : parser(p) {
      if (++parser.nesting_ > kMaxNesting)
        parser.text_.fail(parser.text_.position(),
                          fmt::format("nested deeper than {}", kMaxNesting));
    }
    ~Nest() { --parser.nesting_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;
    Parser& parser;
  };

  struct Operator {
    std::string_view symbol;
    MapOp op;
    int level;
  };

  std::optional<Operator> next_operator() {
    for (const InfixOperator& op : infix_operators())
      if (text_.peek(op.symbol)) return Operator{op.symbol, op.op, info(op.op).infix->precedence};
    if (text_.peek("%")) return Operator{"%", MapOp::mod, text::kProduct};
    return std::nullopt;
  }

  Syntax unary() {
    const Nest nest(*this);
    const std::size_t at = text_.position();
    const bool is_negative = text_.accept("-");
    if (!is_negative && !text_.accept("!")) return primary();
    const std::string_view word = text_.peek_word();
    if (is_negative && (text_.at_number() || word == "inf" || word == "nan"))
      return number(at, true);
    Syntax s{is_negative ? Kind::negative : Kind::logical_not, at};
    s.args.push_back(unary());
    finish(s);
    return s;
  }

  Syntax primary() {
    const std::size_t at = text_.position();
    if (text_.peek("(")) return bracketed(at);
    if (text_.at_number()) return number(at, false);
    if (text_.accept("$")) {
      const std::string wanted = text_.accept("?") ? "?" : "";
      return param(at, wanted + text_.word("a parameter's name"));
    }
    Syntax s{Kind::name, at};
    if (const std::string_view word = text_.peek_word(); word == "inf" || word == "nan")
      return number(at, false);
    s.name = text_.word("a value");
    if (text_.peek("[")) {
      s.kind = Kind::element;
      s.args = list("[", "]");
    } else if (text_.peek("(")) {
      check_function(s);
      s.kind = Kind::call;
      s.args = list("(", ")");
      if (s.name == words::kIndex) take_dtype(s);
      check_arguments(s);
    }
    finish(s);
    return s;
  }

  Syntax number(std::size_t at, bool is_negative) {
    Syntax s{Kind::number, at};
    s.literal = text_.literal(is_negative);
    s.reads_as_index = s.literal.is_integer;
    return s;
  }

  Syntax param(std::size_t at, std::string name) {
    const bool is_wanted = name.starts_with('?');
    const auto found = names_.params.find(name);
    if (!is_wanted && found == names_.params.end()) {
      std::vector<std::string> known;
      for (const auto& [one, is_integer] : names_.params) known.push_back(one);
      text_.fail(at, fmt::format("unknown parameter '${}'{} ({})", name, did_you_mean(name, known),
                                 known.empty() ? "the op has none"
                                               : fmt::format("known: {}", fmt::join(known, ", "))));
    }
    Syntax s{Kind::param, at, std::move(name)};
    s.reads_as_index = is_wanted || found->second;
    s.told = Told::weakly(s.reads_as_index ? DType::i64 : names_.real);
    return s;
  }

  /// Reads (a + b), or (i < n ? x[i] : 0).
  Syntax bracketed(std::size_t at) {
    text_.open("(");
    Syntax inner = infix(text::kTernary);
    if (!text_.accept("?")) {
      text_.close(")");
      return inner;
    }
    Syntax s{Kind::guard, at};
    s.args.push_back(std::move(inner));
    s.args.push_back(infix(text::kTernary));
    text_.expect(":");
    s.literal = text_.literal(text_.accept("-"));
    text_.close(")");
    finish(s);
    return s;
  }

  std::vector<Syntax> list(std::string_view open, std::string_view close) {
    std::vector<Syntax> all;
    text_.open(open);
    if (!text_.peek(close)) {
      do all.push_back(infix(text::kTernary));
      while (text_.accept(","));
    }
    text_.close(close);
    return all;
  }

  void check_function(const Syntax& s) const {
    const std::optional<MapOp> op = find_map_op(s.name);
    if ((op && op != MapOp::cast) || parse_dtype(s.name) || s.name == words::kIndex) return;
    std::vector<std::string> known = {std::string(words::kIndex)};
    for (const std::string_view word : language_words().functions) known.emplace_back(word);
    for (const DType dtype : all_dtypes()) known.emplace_back(name(dtype));
    text_.fail(s.at, fmt::format("unknown function '{}'{}", s.name, did_you_mean(s.name, known)));
  }

  /// Takes the dtype of index(i, f32) from the arguments.
  static void take_dtype(Syntax& s) {
    if (s.args.size() != 2 || s.args.back().kind != Kind::name) return;
    s.dtype = parse_dtype(s.args.back().name);
    if (s.dtype) s.args.pop_back();
  }

  void check_arguments(const Syntax& s) const {
    const std::optional<MapOp> op = find_map_op(s.name);
    const bool is_dtype = parse_dtype(s.name).has_value();
    const auto takes = op && !is_dtype ? static_cast<std::size_t>(arity(*op)) : std::size_t{1};
    const bool may_be_more = op == MapOp::min || op == MapOp::max;  // of indices
    if (s.args.size() == takes || (may_be_more && s.args.size() > takes)) return;
    text_.fail(s.at, fmt::format("{}: expected {} argument{}, got {}", s.name, takes,
                                 takes == 1 ? "" : "s", s.args.size()));
  }

  /// Says what the node is and tells, from its arguments.
  void finish(Syntax& s) const {
    const auto read_as_index = [&] { return std::ranges::all_of(s.args, &Syntax::reads_as_index); };
    const auto name_variable = [&] { return std::ranges::any_of(s.args, &Syntax::names_variable); };
    switch (s.kind) {
      case Kind::number:
      case Kind::param:
        return;
      case Kind::name:
      case Kind::element:
        return finish_name(s);
      case Kind::call:
        s.reads_as_index = (s.name == "min" || s.name == "max") && read_as_index();
        s.names_variable = s.reads_as_index && name_variable();
        s.told = told_by_call(s);
        break;
      case Kind::chain:
        s.reads_as_index = std::ranges::all_of(s.operators, is_index_operator) && read_as_index();
        s.names_variable = s.reads_as_index && name_variable();
        s.index_count = leading_indices(s);
        s.told = told_by_chain(s);
        break;
      case Kind::negative:
        s.reads_as_index = read_as_index();
        s.names_variable = name_variable();
        s.told = s.args.front().told;
        break;
      case Kind::logical_not:
        s.told = Told::strongly(DType::boolean);
        return;
      case Kind::guard:
        s.told = s.args[1].told;
        return;
    }
    if (s.is_index()) s.told = Told::weakly(DType::i64);
  }

  void finish_name(Syntax& s) const {
    const Names::Meaning* known = names_.find(s.name);
    if (s.kind == Kind::element) {
      const std::optional<DType> dtype = known != nullptr ? known->dtype : std::nullopt;
      s.reads_as_index = !dtype || !is_real(*dtype);
      if (dtype) s.told = Told::strongly(*dtype);
      return;
    }
    if (known != nullptr && known->kind != Names::Meaning::Kind::variable) {
      if (known->dtype) {
        const bool is_let = known->kind == Names::Meaning::Kind::let;
        s.told = Told::strongly(is_let ? *known->dtype : result_dtype(known->op, *known->dtype));
      }
      return;
    }
    s.reads_as_index = s.names_variable = true;
    s.told = Told::weakly(DType::i64);
  }

  Cursor& text_;
  const Names& names_;
  int nesting_ = 0;
};

}  // namespace

Syntax Syntax::index_part() const {
  Syntax part{Kind::chain, at};
  const auto count = static_cast<std::ptrdiff_t>(index_count);
  part.args.assign(args.begin(), args.begin() + count);
  part.operators.assign(operators.begin(), operators.begin() + count - 1);
  return part;
}

Syntax parse_syntax(Cursor& text, const Names& names) {
  return Parser(text, names).infix(text::kTernary);
}

}  // namespace mote::loop_text
