// SPDX-License-Identifier: Apache-2.0
// Scans text.
#include "mote/base/text_cursor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <utility>

#include "mote/base/characters.h"
#include "mote/base/error.h"

namespace mote {

TextCursor::TextCursor(std::string_view text, std::string subject, std::size_t limit)
    : text_(), subject_(std::move(subject)), lines_{0} {
  if (text.size() > limit) fail(0, "longer than " + std::to_string(limit) + " bytes");
  text_ = text;
  bool is_quoted = false;
  bool comment = false;
  for (std::size_t k = 0; k < text_.size(); ++k) {
    char& c = text_[k];
    if (c == '\n') {
      lines_.push_back(k + 1);
      is_quoted = comment = false;
    } else if (comment || (c == '#' && !is_quoted)) {
      comment = true;
      c = ' ';
    } else if (c == '\\' && is_quoted) {
      k += k + 1 < text_.size() && text_[k + 1] != '\n' ? 1 : 0;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    }
  }
}

TextCursor::Location TextCursor::location(std::size_t position) const {
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), position) - 1;
  return {static_cast<int>(line - lines_.begin()) + 1, static_cast<int>(position - *line) + 1};
}

std::string TextCursor::message(std::size_t position, const std::string& text) const {
  const Location p = location(position);
  return subject_ + ": line " + std::to_string(p.line) + ", column " + std::to_string(p.column) +
         ": " + text;
}

void TextCursor::fail(std::size_t position, const std::string& text) const {
  throw Error(message(position, text));
}

void TextCursor::expected(std::string_view what) {
  skip();
  std::string got = "the end of the text";
  if (at_ < text_.size()) {
    const std::string_view word = peek_word();
    const char c = text_[at_];
    if (!word.empty()) {
      got = "'" + std::string(word.substr(0, 32)) + "'";
    } else if (c == '\n') {
      got = "the end of the line";
    } else if (c >= ' ' && c <= '~') {
      got = std::string("'") + c + "'";
    } else {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "0x%02x", static_cast<unsigned char>(c));
      got = std::string("the byte ") + code.data();
    }
  }
  fail(at_, "expected " + std::string(what) + ", got " + got);
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
  if (!accept(symbol)) expected("'" + std::string(symbol) + "'");
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

void TextCursor::read_digits(std::size_t& end, bool& is_integer) const {
  const auto digits = [&] {
    while (end < text_.size() && is_digit(text_[end])) ++end;
  };
  const auto digit_at = [&](std::size_t k) { return k < text_.size() && is_digit(text_[k]); };
  digits();
  is_integer = true;
  if (end < text_.size() && text_[end] == '.' && digit_at(end + 1)) {
    ++end;
    digits();
    is_integer = false;
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    const bool sign = end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
    if (digit_at(end + (sign ? 2 : 1))) {
      end += sign ? 2 : 1;
      digits();
      is_integer = false;
    }
  }
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
  read_digits(end, result.is_integer);
  result.text.append(text_, at_, end - at_);
  at_ = end;
  if (at_ < text_.size() && is_word(text_[at_])) fail(start, "a number runs into a word");
  const char* first = result.text.data();
  const char* last = first + result.text.size();
  if (std::from_chars(first, last, result.real).ec != std::errc())
    fail(start, "the number " + result.text + " is out of range");
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
    fail(start, "the integer " + text + " is out of range");
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

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + "\"";
}

}  // namespace mote
