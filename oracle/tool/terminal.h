// SPDX-License-Identifier: Apache-2.0
// Describes standard output and standard error: their width, and whether they show colours.
#pragma once

#include <cstddef>
#include <string>

#include "mote/oracle/screen.h"

namespace mote::tool {

/// The screen of standard output: as wide as $COLUMNS or the terminal says, at most kMaxColumns.
/// `color` is "always", "never" or "auto": then $NO_COLOR disables colours, $CLICOLOR_FORCE enables
/// them, and otherwise a terminal has colours, unless $TERM is dumb or $CLICOLOR is 0. Throws Error
/// for another word.
Screen screen_of_output(const std::string& color);

/// Returns a bar of the items so far, and the number of the one that runs: "[####......] 5 of 10".
std::string progress_bar(std::size_t done, std::size_t all);

/// A line on standard error that is overwritten again and again, if that is a terminal.
class StatusLine {
 public:
  explicit StatusLine(bool wanted);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// True if it is shown, and the last one is old enough for another.
  bool is_due() const;
  /// Shows the part of the text that fits the line.
  void show(const std::string& text);
  /// Removes the line; must be called before anything else is printed.
  void clear();

 private:
  bool wanted_;
  bool shown_ = false;
  std::size_t columns_;
  double last_s_ = -1;
};

}  // namespace mote::tool
