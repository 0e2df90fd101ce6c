// SPDX-License-Identifier: Apache-2.0
// Parses index text to an expression by recursive descent. Each error says line and column.
//
//   sum     = product { ("+" | "-") product }
//   product = factor { ("*" | "/" | "%") factor }
//   factor  = "-" factor | primary
//   primary = number | i0 | $name | name [equal] | "(" sum ")" [equal]
//           | ("min" | "max") "(" sum { "," sum } ")"
//   equal   = "[=" sum "]"
#include <fmt/format.h>

#include <limits>

#include "expr/node.h"
#include "mote/base/characters.h"
#include "mote/base/error.h"
#include "mote/uops/expr.h"
#include "program/language.h"

namespace mote {
namespace {

// Limits such that every expression is readable as it prints: kMaxWeight atoms, with names of up to
// a thousand characters; and for each level of nesting a sign, the parentheses of a factor and
// those of an operand.
constexpr std::size_t kMaxIndexText = std::size_t{1} << 26U;
constexpr int kMaxTextNesting = 3 * (static_cast<int>(kMaxOperandNesting) + 1);

struct Position {
  int line;
  int column;
};

class ExprParser {
 public:
  ExprParser(std::string_view text, Position start) : text_(text), here_(start) {}

  ParsedExpr parse() {
    if (text_.size() > kMaxIndexText) {
      fail(here_, fmt::format("longer than {} characters", kMaxIndexText));
    }
    Expr e = sum();
    if (at_ < text_.size()) fail_expected("an operator or the end");
    return {std::move(e), std::move(constraints_)};
  }

 private:
  [[noreturn]] static void fail(Position where, const std::string& what) {
    throw Error(fmt::format("index text: line {}, column {}: {}", where.line, where.column, what));
  }

  std::string seen() const {
    if (at_ >= text_.size()) return "the end";
    const std::string_view rest = text_.substr(at_);
    std::size_t size = 1;
    while (size < rest.size() && size < 20 && is_word(rest[0]) && is_word(rest[size])) ++size;
    const auto byte = static_cast<unsigned char>(rest[0]);
    if (byte < 0x20 || byte > 0x7e) return fmt::format("the byte {:#04x}", byte);
    return fmt::format("'{}'", rest.substr(0, size));
  }
  [[noreturn]] void fail_expected(std::string_view what) const {
    fail(here_, fmt::format("expected {}, got {}", what, seen()));
  }

  void advance() {
    if (text_[at_++] == '\n') {
      here_ = {here_.line + 1, 1};
    } else {
      ++here_.column;
    }
  }
  char peek() {
    while (at_ < text_.size() && is_space(text_[at_])) advance();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    advance();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail_expected(fmt::format("'{}'", c));
  }
  template <class Predicate>
  std::string_view take_while(Predicate predicate) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && predicate(text_[at_])) advance();
    return text_.substr(begin, at_ - begin);
  }

  // Runs an operation of the algebra; its errors get the position of the operator.
  template <class Operation>
  static Expr apply(Position where, const Operation& operation) {
    try {
      return operation();
    } catch (const Error& error) {
      constexpr std::string_view kPrefix = "index expression: ";
      std::string_view what = error.what();
      if (what.starts_with(kPrefix)) what.remove_prefix(kPrefix.size());
      fail(where, std::string(what));
    }
  }

  Expr sum() {
    const Position start = here_;
    TermGatherer total;
    const auto gather = [&](Position where, std::int64_t sign) {
      const Expr e = product();
      apply(where, [&] { return total.add(add_terms({}, e.terms(), sign)), Expr(); });
    };
    gather(start, 1);
    for (char op = peek(); op == '+' || op == '-'; op = peek()) {
      const Position where = here_;
      advance();
      gather(where, op == '+' ? 1 : -1);
    }
    return apply(start, [&] { return total.take(); });
  }

  Expr product() {
    Expr result = factor();
    for (char op = peek(); op == '*' || op == '/' || op == '%'; op = peek()) {
      const Position where = here_;
      advance();
      const Expr right = factor();
      result = apply(where, [&] {
        return op == '*' ? result * right : op == '/' ? result / right : result % right;
      });
    }
    return result;
  }

  Expr factor() {
    if (++depth_ > kMaxTextNesting) {
      fail(here_, fmt::format("nested deeper than {}", kMaxTextNesting));
    }
    Expr result;
    const char c = peek();
    const Position where = here_;
    if (accept('-')) {
      if (is_digit(peek())) {
        result = number(true);
      } else {
        const Expr operand = factor();
        result = apply(where, [&] { return -operand; });
      }
    } else if (is_digit(c)) {
      result = number(false);
    } else if (accept('$')) {
      if (!is_letter(at_ < text_.size() ? text_[at_] : '\0')) fail_expected("a name after '$'");
      result = Expr::param(take_while(is_word));
    } else if (accept('(')) {
      result = sum();
      expect(')');
      result = constrained(result);
    } else if (is_letter(c)) {
      result = name();
    } else {
      fail_expected("a number, a name or '('");
    }
    --depth_;
    return result;
  }

  Expr number(bool negative) {
    const Position where = here_;
    const std::string_view digits = take_while(is_digit);
    if (at_ < text_.size() && is_letter(text_[at_])) fail_expected("an operator after a number");
    std::int64_t value = 0;
    for (const char digit : digits) {
      const std::int64_t step = negative ? '0' - digit : digit - '0';
      if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
          __builtin_add_overflow(value, step, &value)) {
        fail(where, fmt::format("{} does not fit in 64 bits", digits));
      }
    }
    return value;
  }

  Expr name() {
    const Position where = here_;
    const std::string_view word = take_while(is_word);
    const bool is_call = peek() == '(';
    if (is_call && is_index_function(word)) return call(word);
    if (is_call) {
      fail(where, fmt::format("unknown function '{}', known are min and max", word));
    }
    if (word.size() > 1 && word[0] == 'i' &&
        word.find_first_not_of("0123456789", 1) == std::string_view::npos) {
      return Symbol(SymbolKind::loop, word);
    }
    return constrained(Expr::size(word));
  }

  Expr call(std::string_view function) {
    const Position where = here_;
    expect('(');
    Atom atom{function == "min" ? Atom::Kind::min : Atom::Kind::max, {}, {}, {sum()}};
    if (peek() != ',') fail_expected(fmt::format("',' ({} takes two or more arguments)", function));
    while (accept(',')) atom.args.push_back(sum());
    expect(')');
    return apply(where, [&] { return rebuild(atom); });
  }

  Expr constrained(const Expr& left) {
    while (accept('[')) {
      expect('=');
      constraints_.push_back({left, sum()});
      expect(']');
    }
    return left;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Position here_;
  int depth_ = 0;
  std::vector<Constraint> constraints_;
};

}  // namespace

ParsedExpr parse_expr(std::string_view text, int line, int column) {
  return ExprParser(text, {line, column}).parse();
}

}  // namespace mote
