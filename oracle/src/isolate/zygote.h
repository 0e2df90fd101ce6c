// SPDX-License-Identifier: Apache-2.0
// A process that forks workers, so that a worker starts within milliseconds, from a small image
// that knows no result. It is forked before a reference has run. A fork has only one thread: if
// this program has more, that is a new one, since thread runtimes (OpenMP) keep state by thread.
// The alternative is this program launched again (relaunch.h).
#pragma once

#include <sys/types.h>

#include <string>

#include "arena.h"
#include "mote/base/kernel.h"
#include "relaunch.h"

namespace mote::isolate {

/// What a zygote forks: nothing of it is given where this program, or this program launched again,
/// is the zygote.
struct Served {
  const mote_backend* backend = nullptr;  ///< the subject in this process; null: the question's
  /// Makes the worker for that end of a socket, and returns as fork() does: a fork of this process,
  /// or a program that calls serve_worker(). Null: fork().
  pid_t (*fork_process)(int socket) = nullptr;
};
/// A zygote's loop: it forks workers on demand, until the socket or the parent ends.
[[noreturn]] void fork_on_demand(int socket, pid_t parent, const Arena& arena,
                                 const Served& served = {});

constexpr double kStartSeconds = 30;

class Zygote {
 public:
  /// Throws Error when no process can be forked.
  explicit Zygote(const Arena& arena);
  /// Throws Error when the process does not answer within `start_s`.
  Zygote(const Arena& arena, const Starter& starter, double start_s = kStartSeconds);
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  struct Child {
    pid_t process = -1;
    int socket = -1;
  };
  /// Forks a worker for that library, which it has not loaded yet. Throws Error.
  Child spawn(const std::string& library) const;
  /// Waits for the end of the worker and returns its status, as waitpid() does.
  int wait(pid_t process) const;

 private:
  void end();

  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace mote::isolate
