// SPDX-License-Identifier: Apache-2.0
// Guards a subject that runs in this process: a signal that would end it prints the case and how to
// replay it, and exits with code 3; so does a run that takes too long. The campaign's counts so far
// are printed first.
#pragma once

#include <string>

namespace mote {

struct CrashText {
  std::string before;  ///< followed by the name of the signal, or "hung, out of time"
  std::string after;
};

class CrashGuard {
 public:
  CrashGuard(const CrashText& text, unsigned timeout_s);
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;
};

/// Sets the text that a crash prints first, from now on. Must not be called while a guard exists.
void set_crash_report(const std::string& text);

}  // namespace mote
