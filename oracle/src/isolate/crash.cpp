// SPDX-License-Identifier: Apache-2.0
// The crash handler, which only calls write and _exit. Everything that it prints is prepared
// beforehand.
#include "isolate/crash.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mote {
namespace {

constexpr int kCrashed = 3;
constexpr std::size_t kTextBytes = std::size_t{1} << 16U;
constexpr std::size_t kReportBytes = std::size_t{1} << 20U;
constexpr std::size_t kStackBytes = std::size_t{1} << 16U;

struct Signal {
  int number;
  const char* name;
};
constexpr std::array<Signal, 6> kSignals = {{{SIGSEGV, "SIGSEGV"},
                                             {SIGBUS, "SIGBUS"},
                                             {SIGFPE, "SIGFPE"},
                                             {SIGILL, "SIGILL"},
                                             {SIGABRT, "SIGABRT"},
                                             {SIGALRM, "hung, out of time"}}};

/// Text outside the heap, which the subject may have damaged.
template <std::size_t Bytes>
struct Text {
  std::array<char, Bytes> bytes{};
  std::size_t size = 0;
  void set(const std::string& text) {
    size = std::min(text.size(), bytes.size());
    std::memcpy(bytes.data(), text.data(), size);
  }
};

Text<kTextBytes> before;
Text<kTextBytes> after;
Text<kReportBytes> report;
volatile sig_atomic_t armed = 0;
std::array<struct sigaction, kSignals.size()> previous;
alignas(64) std::array<char, kStackBytes> stack;

void put(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(STDOUT_FILENO, data, size);
    if (written <= 0) return;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

extern "C" void handle(int number) {
  if (armed == 0) {
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  put(report.bytes.data(), report.size);
  put(before.bytes.data(), before.size);
  for (const Signal& s : kSignals) {
    if (s.number == number) put(s.name, std::strlen(s.name));
  }
  put(after.bytes.data(), after.size);
  _exit(kCrashed);
}

void install() {
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  for (std::size_t k = 0; k < kSignals.size(); ++k) {
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = SA_ONSTACK;
    sigaction(kSignals[k].number, &action, &previous[k]);
  }
}

}  // namespace

CrashGuard::CrashGuard(const CrashText& text, unsigned timeout_s) {
  before.set(text.before);
  after.set(text.after);
  install();
  armed = 1;
  alarm(timeout_s);
}

CrashGuard::~CrashGuard() {
  alarm(0);
  armed = 0;
  for (std::size_t k = 0; k < kSignals.size(); ++k) {
    sigaction(kSignals[k].number, &previous[k], nullptr);
  }
}

void set_crash_report(const std::string& text) {
  report.set(text.size() <= kReportBytes ? text
                                         : text.substr(0, text.rfind('\n', kReportBytes - 1) + 1));
}

}  // namespace mote
