// SPDX-License-Identifier: Apache-2.0
// A process that forks workers, so that a worker starts within milliseconds, from a small image
// that knows no result. It is forked before a reference has run. A fork has one thread alone: where
// this program has more, that is a new one, since runtimes of threads (OpenMP) keep what a thread
// began by thread; and there is the other way, this program launched once more (relaunch.h).
#pragma once

#include <sys/types.h>

#include <string>

#include "arena.h"
#include "relaunch.h"

namespace mote::isolate {

/// A zygote's loop: it forks workers on demand, until the socket or the parent ends.
[[noreturn]] void fork_on_demand(int socket, pid_t parent, const Arena& arena);

class Zygote {
 public:
  /// Throws Error when no process can be forked.
  explicit Zygote(const Arena& arena);
  /// Throws Error when the process does not start within half a minute.
  Zygote(const Arena& arena, const Relauncher& relauncher);
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  struct Child {
    pid_t process = -1;
    int socket = -1;
  };
  /// A worker for that library, which it has not loaded yet. Throws Error.
  Child spawn(const std::string& library) const;
  /// How the worker ended, as waitpid says; waits for its end.
  int wait(pid_t process) const;

 private:
  void end();

  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace mote::isolate
