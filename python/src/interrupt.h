// SPDX-License-Identifier: Apache-2.0
// Notes Ctrl-C while a campaign runs, and lets the program's own handler see it too.
#pragma once

#include <atomic>

namespace mote::python {

/// While an object lives, SIGINT is noted and passed on to the handler that was installed before.
/// Python's own handler only notes the signal too, and raises KeyboardInterrupt when its code runs.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  /// 0, or the signal; for CaseRunOptions::stop.
  static std::atomic<int>& noted();
};

}  // namespace mote::python
