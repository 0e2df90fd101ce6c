// SPDX-License-Identifier: Apache-2.0
#include "interrupt.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX

namespace mote::python {
namespace {

std::atomic<int> noted_signal = 0;
struct sigaction before;

static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void note_and_pass_on(int signal, siginfo_t* info, void* context) {
  noted_signal = signal;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

}  // namespace

Interrupt::Interrupt() {
  noted_signal = 0;
  struct sigaction action {};
  action.sa_sigaction = note_and_pass_on;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigaction(SIGINT, &action, &before);
}

Interrupt::~Interrupt() { sigaction(SIGINT, &before, nullptr); }

std::atomic<int>& Interrupt::noted() { return noted_signal; }

}  // namespace mote::python
