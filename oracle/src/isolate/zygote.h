// SPDX-License-Identifier: Apache-2.0
// A process that forks workers. It is forked before a reference has run and before threads are
// there, so that a worker starts within milliseconds, from a small image that knows no result.
#pragma once

#include <sys/types.h>

#include <string>

#include "arena.h"

namespace mote::isolate {

class Zygote {
 public:
  /// Throws Error when no process can be forked.
  explicit Zygote(const Arena& arena);
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
  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace mote::isolate
