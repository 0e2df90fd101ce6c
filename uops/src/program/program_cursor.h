// SPDX-License-Identifier: Apache-2.0
// Reads program text: words, numbers and strings as every text of mote has them, and slices of
// index text.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/text_cursor.h"
#include "mote/uops/expr.h"
#include "mote/uops/uop.h"

namespace mote {

class ProgramCursor : public TextCursor {
 public:
  explicit ProgramCursor(std::string_view text);

  /// Reads index text up to a stop: one of `stops`, the words `over` and `else`, a closing bracket,
  /// the end of the statement; none of them inside brackets.
  ParsedExpr index(std::string_view stops);
  Axis axis();
  /// Reads "A, B, C" up to `over`, `else` or a closing bracket; may be empty.
  std::vector<Axis> axes();

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
  [[noreturn]] void rethrow(std::size_t position, const std::string& text) const;
  std::string_view slice(std::string_view stops);
  bool at_stop(std::string_view stops);
};

}  // namespace mote
