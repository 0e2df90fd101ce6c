// SPDX-License-Identifier: Apache-2.0
// The handler only reads the clock, sets a number or ends the process.
#include "interrupt.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <time.h>    // NOLINT(modernize-deprecated-headers): clock_gettime is POSIX
#include <unistd.h>

#include <array>

namespace mote::tool {
namespace {

constexpr int kSignals = 128;  ///< added to the number of the signal that ends a process
constexpr long kSameMs = 250;

std::atomic<int> noted_signal = 0;
std::atomic<long> noted_at_ms = 0;
std::array<struct sigaction, 2> before;

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<long>::is_always_lock_free);

long now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

extern "C" void note(int signal) {
  if (noted_signal == 0) {
    noted_at_ms = now_ms();
    noted_signal = signal;
  } else if (now_ms() - noted_at_ms >= kSameMs) {
    _exit(kSignals + signal);
  }
}

extern "C" void note_only(int signal) { noted_signal = signal; }

void handle(int signal, void (*handler)(int), struct sigaction* old) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, old);
}

}  // namespace

Interrupts::Interrupts(Of of) {
  const bool is_worker = of == Of::worker;
  if (!is_worker) noted_signal = 0;  // a worker may have got the signal before
  handle(SIGINT, is_worker ? SIG_IGN : note, &before[0]);
  handle(SIGTERM, is_worker ? note_only : note, &before[1]);
}

Interrupts::~Interrupts() {
  sigaction(SIGINT, &before[0], nullptr);
  sigaction(SIGTERM, &before[1], nullptr);
}

const std::atomic<int>& Interrupts::noted() { return noted_signal; }

int Interrupts::exit_code() { return kSignals + noted_signal; }

}  // namespace mote::tool
