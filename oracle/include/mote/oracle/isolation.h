// SPDX-License-Identifier: Apache-2.0
// Runs subjects in processes of their own: a crash, a hang or a write to memory that is not the
// subject's ends a worker, and not the process that judges. The reference never runs in a worker.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/plugin.h"

namespace MOTE_API mote {

class Isolation {
 public:
  /// Forks the process that workers come from, so construct it before the first case runs. Backends
  /// that are linked in must exist already. If this program has other threads, libraries are loaded
  /// into workers of this program launched again without its main(), since a fork lacks those
  /// threads. Throws Error if the system gives no shared memory or no process.
  Isolation();
  /// Workers come from a program of the caller's, which is launched with this command line and
  /// calls isolate::serve_workers(); this process forks nothing, so it may have threads. They run
  /// the one backend that the program serves. Throws Error if it does not start within `start_s`.
  Isolation(const std::vector<std::string>& command, double start_s);
  ~Isolation();
  Isolation(const Isolation&) = delete;
  Isolation& operator=(const Isolation&) = delete;

  /// The names, versions, ops and contracts of the library's backends. The library is loaded only
  /// in a worker; the kernels decline every call in this process. Throws Error as load_plugin() and
  /// probe_plugin() do.
  Plugin describe(const std::string& path);

  /// Registers a library for a backend of this program. If a fork of this program hangs because it
  /// lacks threads that the backend waits for, the library that `make` makes runs in this program
  /// launched again: its first backend is the same. `make` returns its path, or throws Error.
  void offer_library(const mote_backend& backend, std::function<std::string()> make);

  /// Ends all workers: the next call of each subject is the first of a new process.
  void end_workers();

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace mote
