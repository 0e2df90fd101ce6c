// SPDX-License-Identifier: Apache-2.0
// The handler calls nothing except send, signal and raise.
#include "fault.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <sys/socket.h>
#include <ucontext.h>

#include <array>
#include <atomic>

namespace mote::isolate {
namespace {

constexpr std::size_t kStackBytes = std::size_t{1} << 16U;
constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

alignas(64) std::array<char, kStackBytes> stack;
int report_to = -1;
std::atomic<Phase> phase = Phase::asked;

bool was_write([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;
  const auto* c = static_cast<const ucontext_t*>(context);
  return (c->uc_mcontext.gregs[REG_ERR] & kWriteBit) != 0;
#else
  return false;
#endif
}

/// A return runs the faulting instruction again, which then ends the process by the same signal.
extern "C" void on_fault(int number, siginfo_t* info, void* context) {
  Reply reply;
  reply.fault = true;
  reply.phase = phase;
  reply.signal = number;
  reply.code = info->si_code;
  const bool access = number == SIGSEGV || number == SIGBUS;
  if (access && info->si_code > 0) {
    reply.address = info->si_addr;
    reply.wrote = was_write(context);
  }
  send(report_to, &reply, sizeof reply, MSG_NOSIGNAL);
  signal(number, SIG_DFL);
  if (info->si_code <= 0) raise(number);
}

}  // namespace

void report_faults(int socket) {
  report_to = socket;
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  for (const int number : kSignals) sigaction(number, &action, nullptr);
}

void set_phase(Phase next) { phase = next; }

}  // namespace mote::isolate
