// SPDX-License-Identifier: Apache-2.0
// Notes Ctrl-C and TERM, so that the results so far are reported.
#pragma once

#include <atomic>

namespace mote::tool {

/// While an object lives, the first SIGINT or SIGTERM is noted, and another, at least a quarter of
/// a second later, ends the process at once. (A signal to a process and to its group arrives
/// twice.)
class Interrupts {
 public:
  enum class Of : bool {
    program,
    worker  ///< a worker process, which gets SIGTERM from its program and ignores the terminal's
            ///< SIGINT
  };
  explicit Interrupts(Of of = Of::program);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// 0, or the noted signal; for CaseRunOptions::stop.
  static const std::atomic<int>& noted();
  /// The exit code of a program that ends by the noted signal.
  static int exit_code();
};

}  // namespace mote::tool
