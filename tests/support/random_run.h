// SPDX-License-Identifier: Apache-2.0
// The parts of a random test that do not depend on what is drawn: its variables, its first seed,
// and a last message if a process is killed.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

namespace mote::test {

/// Returns the variable's value; empty if it is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns $MOTE_SEED, or a random number.
inline std::uint64_t first_seed() {
  const std::string wanted = environment("MOTE_SEED");
  return wanted.empty() ? std::random_device{}() % 1000000000 : std::stoull(wanted);
}

/// The seed that is being checked, for the last message of a process that is killed.
inline volatile std::uint64_t current_seed = 0;
/// The message before the seed; it is set once, before signals may come.
inline const char* crash_message = "";

/// Writes the message and the seed without the heap, and dies by the signal.
inline void say_seed_and_die(int number) {
  char digits[] = "00000000000000000000\n";
  std::uint64_t seed = current_seed;
  for (std::size_t k = sizeof digits - 3; seed != 0; seed /= 10, --k)
    digits[k] = static_cast<char>('0' + seed % 10);
  if (write(STDERR_FILENO, crash_message, std::strlen(crash_message)) < 0 ||
      write(STDERR_FILENO, digits, sizeof digits - 1) < 0)
    _exit(2);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// Makes signals of a crash say "crashed in a random WHAT: VARIABLE=1 MOTE_SEED=…" first; the text
/// is everything up to the seed and outlives the process.
inline void say_seed_on_crash(const char* message) {
  crash_message = message;
  for (const int number : {SIGSEGV, SIGFPE, SIGBUS, SIGABRT}) std::signal(number, say_seed_and_die);
}

}  // namespace mote::test
