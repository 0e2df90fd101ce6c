// SPDX-License-Identifier: Apache-2.0
// Reads words, symbols, numbers and strings of a text, with line and column in errors. Program text
// and graph text are read with it. Statements end at a newline, `#` opens a comment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// A numeric literal as written; its meaning depends on the dtype that it meets.
struct Literal {
  std::string text;
  bool is_integer = false;
  std::int64_t integer = 0;
  double real = 0;
};

class TextCursor {
 public:
  /// Blanks comments out. `subject` opens each error: "program text: line 2, column 5: …". Throws
  /// Error if the text is longer than `limit` bytes.
  TextCursor(std::string_view text, std::string subject, std::size_t limit);

  /// Skips blanks, and newlines inside brackets.
  void skip();
  bool at_end();            ///< true at the end of the text
  bool at_statement_end();  ///< true at a newline, ';' or the end
  void next_statement();    ///< skips newlines and ';'
  std::size_t position();   ///< position of the next token
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol);
  bool peek(std::string_view symbol);
  std::string_view peek_word();  ///< the next identifier, or ""
  bool accept_word(std::string_view word);
  std::string word(std::string_view what);  ///< reads an identifier; Error "expected WHAT, got …"
  bool at_number();
  /// Reads a number, inf or nan; negative: a minus sign has been read before it.
  Literal literal(bool negative);
  std::int64_t integer();
  std::string string();  ///< reads a quoted string

  /// Reads a bracket: newlines inside brackets do not end a statement.
  void open(std::string_view bracket);
  void close(std::string_view bracket);

  /// Returns "subject: line 2, column 5: text".
  std::string message(std::size_t position, const std::string& text) const;
  [[noreturn]] void fail(std::size_t position, const std::string& text) const;
  [[noreturn]] void expected(std::string_view what);

 protected:
  struct Location {
    int line;
    int column;
  };
  Location location(std::size_t position) const;

  std::string text_;
  std::size_t at_ = 0;
  int nesting_ = 0;

 private:
  /// Moves `end` behind the digits, the fraction and the exponent that begin there.
  void read_digits(std::size_t& end, bool& is_integer) const;

  std::string subject_;
  std::vector<std::size_t> lines_;  ///< start of each line
};

/// Writes text as string() reads it: "a \"b\"".
std::string quoted_text(std::string_view text);

}  // namespace mote
