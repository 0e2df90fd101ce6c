// SPDX-License-Identifier: Apache-2.0
// Finds index text in program text.
#include "program/program_cursor.h"

#include "graph/node.h"
#include "mote/base/characters.h"
#include "mote/base/error.h"

namespace mote {
namespace {

constexpr std::size_t kMaxProgramText = 1 << 20;

}  // namespace

ProgramCursor::ProgramCursor(std::string_view text)
    : TextCursor(text, "program text", kMaxProgramText) {}

void ProgramCursor::rethrow(std::size_t position, const std::string& text) const {
  if (text.starts_with("program text:")) throw Error(text);
  constexpr std::string_view kIndex = "index text:";
  if (text.starts_with(kIndex)) throw Error("program text:" + text.substr(kIndex.size()));
  fail(position, text);
}

bool ProgramCursor::at_stop(std::string_view stops) {
  const char c = text_[at_];
  if (stops.find(c) != std::string_view::npos || c == ']' || c == ')') return true;
  return nesting_ == 0 && (c == '\n' || c == ';');
}

std::string_view ProgramCursor::slice(std::string_view stops) {
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

ParsedExpr ProgramCursor::index(std::string_view stops) {
  const std::size_t start = position();
  const std::string_view text = slice(stops);
  const Location p = location(start);
  return build(start, [&] { return parse_expr(text, p.line, p.column); });
}

Axis ProgramCursor::axis() {
  const std::size_t start = position();
  const std::string_view text = slice(",");
  const Location p = location(start);
  return build(start, [&] { return parse_axis(text, p.line, p.column); });
}

std::vector<Axis> ProgramCursor::axes() {
  std::vector<Axis> result;
  if (peek("]") || peek(")") || peek_word() == "else") return result;
  do result.push_back(axis());
  while (accept(","));
  return result;
}

}  // namespace mote
