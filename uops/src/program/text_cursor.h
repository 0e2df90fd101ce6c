// SPDX-License-Identifier: Apache-2.0
// Reads words, symbols, numbers and slices of program text, with lines and columns in errors.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "mote/uops/expr.h"
#include "mote/uops/uop.h"

namespace mote {

/// A numeric literal as written; its meaning depends on the dtype that it meets.
struct Literal {
  std::string text;
  bool is_integer = false;
  std::int64_t integer = 0;
  double real = 0;
};

class TextCursor {
 public:
  /// Blanks comments out. Throws Error if the text is longer than the limit.
  explicit TextCursor(std::string_view text);

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

  /// Reads index text up to a stop: one of `stops`, the words `over` and `else`, a closing bracket,
  /// the end of the statement; none of them inside brackets.
  ParsedExpr index(std::string_view stops);
  Axis axis();
  /// Reads "A, B, C" up to `over`, `else` or a closing bracket; may be empty.
  std::vector<Axis> axes();

  [[noreturn]] void fail(std::size_t position, const std::string& text) const;
  [[noreturn]] void expected(std::string_view what);
  /// Runs a builder; its errors get the position.
  template <typename F>
  auto build(std::size_t position, const F& f) const {
    try {
      return f();
    } catch (const std::runtime_error& error) {
      rethrow(position, error.what());
    }
  }

 private:
  struct Place {
    int line;
    int column;
  };
  [[noreturn]] void rethrow(std::size_t position, const std::string& text) const;
  Place place(std::size_t position) const;
  std::string_view slice(std::string_view stops);
  bool at_stop(std::string_view stops);

  std::string text_;
  std::vector<std::size_t> lines_;  ///< start of each line
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace mote
