// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error: how wide they are, and whether they show colours.
#pragma once

#include <string>

#include "mote/oracle/screen.h"

namespace mote::tool {

/// Standard output: as wide as $COLUMNS or the terminal says, kMaxColumns at most. `color` is
/// "always", "never" or "auto": then $NO_COLOR means none, $CLICOLOR_FORCE some, and without them a
/// terminal has colours, unless $TERM is dumb or $CLICOLOR is 0. Throws Error for another word.
Screen screen_of_output(const std::string& color);

/// A line on standard error, where that is a terminal, that is written over again and again.
class StatusLine {
 public:
  explicit StatusLine(bool wanted);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Whether it is shown, and the last one is old enough for another.
  bool is_due() const;
  /// As much of the text as the line holds.
  void show(const std::string& text);
  /// Before anything else is printed.
  void clear();

 private:
  bool wanted_;
  bool shown_ = false;
  std::size_t columns_;
  double last_s_ = -1;
};

}  // namespace mote::tool
