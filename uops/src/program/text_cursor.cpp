// SPDX-License-Identifier: Apache-2.0
// Scans program text.
#include "program/text_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "graph/node.h"
#include "mote/base/characters.h"
#include "mote/base/error.h"

namespace mote {
namespace {

constexpr std::size_t kMaxProgramText = 1 << 20;

}  // namespace

TextCursor::TextCursor(std::string_view text) : text_(text), lines_{0} {
  if (text.size() > kMaxProgramText)
    throw Error(
        fmt::format("program text: line 1, column 1: longer than {} bytes", kMaxProgramText));
  bool quoted = false;
  bool comment = false;
  for (std::size_t k = 0; k < text_.size(); ++k) {
    char& c = text_[k];
    if (c == '\n') {
      lines_.push_back(k + 1);
      quoted = comment = false;
    } else if (comment || (c == '#' && !quoted)) {
      comment = true;
      c = ' ';
    } else if (c == '\\' && quoted) {
      k += k + 1 < text_.size() && text_[k + 1] != '\n' ? 1 : 0;
    } else if (c == '"') {
      quoted = !quoted;
    }
  }
}

TextCursor::Place TextCursor::place(std::size_t position) const {
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), position) - 1;
  return {static_cast<int>(line - lines_.begin()) + 1, static_cast<int>(position - *line) + 1};
}

void TextCursor::fail(std::size_t position, const std::string& text) const {
  const Place p = place(position);
  throw Error(fmt::format("program text: line {}, column {}: {}", p.line, p.column, text));
}

void TextCursor::rethrow(std::size_t position, const std::string& text) const {
  if (text.starts_with("program text:")) throw Error(text);
  constexpr std::string_view kIndex = "index text:";
  if (text.starts_with(kIndex)) throw Error("program text:" + text.substr(kIndex.size()));
  fail(position, text);
}

void TextCursor::expected(std::string_view what) {
  skip();
  std::string got = "the end of the text";
  if (at_ < text_.size()) {
    const std::string_view word = peek_word();
    const char c = text_[at_];
    const bool printable = c >= ' ' && c <= '~';
    if (!word.empty())
      got = fmt::format("'{}'", word.substr(0, 32));
    else if (c == '\n')
      got = "the end of the line";
    else
      got = printable ? fmt::format("'{}'", c)
                      : fmt::format("the byte {:#04x}", static_cast<unsigned char>(c));
  }
  fail(at_, fmt::format("expected {}, got {}", what, got));
}

void TextCursor::skip() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\t' && c != '\r' && !(c == '\n' && nesting_ > 0)) return;
    ++at_;
  }
}

bool TextCursor::at_end() {
  skip();
  return at_ == text_.size();
}

bool TextCursor::at_statement_end() {
  return at_end() || (nesting_ == 0 && (text_[at_] == '\n' || text_[at_] == ';'));
}

void TextCursor::next_statement() {
  while (!at_end() && (text_[at_] == '\n' || text_[at_] == ';')) ++at_;
}

std::size_t TextCursor::position() {
  skip();
  return at_;
}

bool TextCursor::peek(std::string_view symbol) {
  skip();
  return std::string_view(text_).substr(at_).starts_with(symbol);
}

bool TextCursor::accept(std::string_view symbol) {
  if (!peek(symbol)) return false;
  at_ += symbol.size();
  return true;
}

void TextCursor::expect(std::string_view symbol) {
  if (!accept(symbol)) expected(fmt::format("'{}'", symbol));
}

std::string_view TextCursor::peek_word() {
  skip();
  if (at_ == text_.size() || !is_letter(text_[at_])) return "";
  std::size_t end = at_;
  while (end < text_.size() && is_word(text_[end])) ++end;
  return std::string_view(text_).substr(at_, end - at_);
}

bool TextCursor::accept_word(std::string_view word) {
  if (peek_word() != word) return false;
  at_ += word.size();
  return true;
}

std::string TextCursor::word(std::string_view what) {
  const std::string result(peek_word());
  if (result.empty()) expected(what);
  at_ += result.size();
  return result;
}

bool TextCursor::at_number() {
  skip();
  return at_ < text_.size() && is_digit(text_[at_]);
}

Literal TextCursor::literal(bool negative) {
  const std::size_t start = position();
  Literal result;
  if (negative) result.text = "-";
  if (accept_word("inf") || accept_word("nan")) {
    const bool nan = text_[at_ - 1] == 'n';
    const double limit =
        nan ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    result.real = result.text.empty() ? limit : -limit;
    result.text += nan ? "nan" : "inf";
    return result;
  }
  if (!at_number()) expected("a number");
  std::size_t end = at_;
  const auto digits = [&] {
    while (end < text_.size() && is_digit(text_[end])) ++end;
  };
  const auto digit_at = [&](std::size_t k) { return k < text_.size() && is_digit(text_[k]); };
  digits();
  result.is_integer = true;
  if (end < text_.size() && text_[end] == '.' && digit_at(end + 1)) {
    ++end;
    digits();
    result.is_integer = false;
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    const bool sign = end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
    if (digit_at(end + (sign ? 2 : 1))) {
      end += sign ? 2 : 1;
      digits();
      result.is_integer = false;
    }
  }
  result.text += text_.substr(at_, end - at_);
  at_ = end;
  if (at_ < text_.size() && is_word(text_[at_])) fail(start, "a number runs into a word");
  const char* first = result.text.data();
  const char* last = first + result.text.size();
  if (std::from_chars(first, last, result.real).ec != std::errc())
    fail(start, fmt::format("the number {} is out of range", result.text));
  if (result.is_integer && std::from_chars(first, last, result.integer).ec != std::errc())
    result.is_integer = false;  // still valid as a real
  return result;
}

std::int64_t TextCursor::integer() {
  const std::size_t start = position();
  const bool negative = accept("-");
  if (!at_number()) expected("an integer");
  std::size_t end = at_;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  const std::string text = (negative ? "-" : "") + text_.substr(at_, end - at_);
  at_ = end;
  std::int64_t result = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), result).ec != std::errc())
    fail(start, fmt::format("the integer {} is out of range", text));
  return result;
}

std::string TextCursor::string() {
  const std::size_t start = position();
  expect("\"");
  std::string result;
  for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    char c = text_[at_];
    if (c == '"') {
      ++at_;
      return result;
    }
    if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
      c = text_[++at_];
      if (c == 'n') c = '\n';
    }
    result += c;
  }
  fail(start, "the string does not end on its line");
}

void TextCursor::open(std::string_view bracket) {
  expect(bracket);
  ++nesting_;
}

void TextCursor::close(std::string_view bracket) {
  expect(bracket);
  --nesting_;
}

bool TextCursor::at_stop(std::string_view stops) {
  const char c = text_[at_];
  if (stops.find(c) != std::string_view::npos || c == ']' || c == ')') return true;
  return nesting_ == 0 && (c == '\n' || c == ';');
}

std::string_view TextCursor::slice(std::string_view stops) {
  skip();
  const std::size_t start = at_;
  for (int depth = 0; at_ < text_.size();) {
    const char c = text_[at_];
    if (depth == 0 && at_stop(stops)) break;
    if (is_letter(c)) {
      const std::string_view word = peek_word();
      if (depth == 0 && (word == "over" || word == "else")) break;
      at_ += word.size();
      continue;
    }
    if (is_digit(c)) {  // 3over is not the word over
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      continue;
    }
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    ++at_;
  }
  std::size_t end = at_;
  while (end > start && is_space(text_[end - 1])) --end;
  return std::string_view(text_).substr(start, end - start);
}

ParsedExpr TextCursor::index(std::string_view stops) {
  const std::size_t start = position();
  const std::string_view text = slice(stops);
  const Place p = place(start);
  return build(start, [&] { return parse_expr(text, p.line, p.column); });
}

Axis TextCursor::axis() {
  const std::size_t start = position();
  const std::string_view text = slice(",");
  const Place p = place(start);
  return build(start, [&] { return parse_axis(text, p.line, p.column); });
}

std::vector<Axis> TextCursor::axes() {
  std::vector<Axis> result;
  if (peek("]") || peek(")") || peek_word() == "else") return result;
  do result.push_back(axis());
  while (accept(","));
  return result;
}

}  // namespace mote
