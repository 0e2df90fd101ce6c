// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and TERM: noted, so that what was found by then is reported.
#pragma once

#include <atomic>

namespace mote::tool {

/// While one lives, the first SIGINT or SIGTERM is noted, and another, a quarter of a second later
/// or more, ends the process at once. (A signal to a process and to its group arrives twice.)
class Interrupts {
 public:
  enum class Of : bool {
    program,
    worker  ///< of a program that has one: it is told by SIGTERM, and the terminal's is not for it
  };
  explicit Interrupts(Of of = Of::program);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// 0, or the signal; for CaseRunOptions::stop.
  static const std::atomic<int>& noted();
  /// The exit code of a program that ends by that signal.
  static int exit_code();
};

}  // namespace mote::tool
