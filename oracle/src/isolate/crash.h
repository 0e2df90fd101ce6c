// SPDX-License-Identifier: Apache-2.0
// While a subject runs in this process: a signal that would end it prints the case and how to
// replay it, and exits with code 3; so does a run that takes too long. What a campaign has counted
// so far is printed first.
#pragma once

#include <string>

namespace mote {

struct CrashText {
  std::string before;  ///< then the name of the signal, or "no result after N s"
  std::string after;
};

class CrashGuard {
 public:
  CrashGuard(const CrashText& text, unsigned timeout_s);
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;
};

/// What a crash prints before anything else, from now on. Not while a guard is there.
void set_crash_report(const std::string& text);

}  // namespace mote
