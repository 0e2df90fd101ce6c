// SPDX-License-Identifier: Apache-2.0
// Uses the variables as https://no-color.org and https://bixense.com/clicolors define them.
#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "mote/base/error.h"
#include "mote/oracle/text.h"

namespace mote::tool {
namespace {

constexpr double kStatusEvery = 0.1;  ///< seconds

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// The number of columns; 0 if neither the variable nor the terminal says.
std::size_t columns_of_file(int file) {
  const std::string_view given = variable("COLUMNS");
  std::size_t columns = 0;
  std::from_chars(given.data(), given.data() + given.size(), columns);
  winsize size{};
  if (columns == 0 && isatty(file) != 0 && ioctl(file, TIOCGWINSZ, &size) == 0)
    columns = size.ws_col;
  return columns;
}

bool has_colours() {
  if (!variable("NO_COLOR").empty()) return false;
  const std::string_view forced = variable("CLICOLOR_FORCE");
  if (!forced.empty() && forced != "0") return true;
  return isatty(STDOUT_FILENO) != 0 && variable("TERM") != "dumb" && variable("CLICOLOR") != "0";
}

double status_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Screen screen_of_output(const std::string& color) {
  if (color != "auto" && color != "always" && color != "never")
    throw Error(fmt::format("color '{}': expected auto, always or never", color));
  const std::size_t columns = columns_of_file(STDOUT_FILENO);
  return {columns == 0 ? kMaxColumns : std::min(columns, kMaxColumns),
          color == "always" || (color == "auto" && has_colours())};
}

std::string progress_bar(std::size_t done, std::size_t all) {
  constexpr std::size_t kWidth = 20;
  const std::size_t filled = done * kWidth / all;
  return fmt::format("[{}{}] {} of {}", std::string(filled, '#'), std::string(kWidth - filled, '.'),
                     done + 1, all);
}

StatusLine::StatusLine(bool wanted)
    : wanted_(wanted && isatty(STDERR_FILENO) != 0 && variable("TERM") != "dumb"),
      columns_(std::max<std::size_t>(columns_of_file(STDERR_FILENO), 20) - 1) {}

bool StatusLine::is_due() const { return wanted_ && status_now() - last_s_ >= kStatusEvery; }

void StatusLine::show(const std::string& text) {
  if (!wanted_) return;
  last_s_ = status_now();
  shown_ = true;
  std::string line = wrapped(text, columns_, 0);
  line.resize(line.find('\n'));
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
}

void StatusLine::clear() {
  if (!shown_) return;
  shown_ = false;
  last_s_ = -1;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace mote::tool
