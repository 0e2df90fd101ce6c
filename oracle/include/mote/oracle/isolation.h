// SPDX-License-Identifier: Apache-2.0
// Subjects in processes of their own: a crash, a hang or a write to memory that is not the
// subject's ends a worker, and not the process that judges. The reference never runs in a worker.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mote/base/export.h"
#include "mote/base/plugin.h"

namespace MOTE_API mote {

class Isolation {
 public:
  /// Forks the process that workers come from, so it is best made before the first case is run.
  /// Backends that are no library's must be there already. Where this program has other threads,
  /// libraries are loaded into workers of this program launched once more, whose main() is not
  /// called, since a fork lacks those threads. Throws Error where the system gives no memory to
  /// share, or no process.
  Isolation();
  ~Isolation();
  Isolation(const Isolation&) = delete;
  Isolation& operator=(const Isolation&) = delete;

  /// Names, versions, ops and contracts of the library's backends. It is loaded in a worker only;
  /// the kernels decline every call in this process. Throws Error as load_plugin() and
  /// probe_plugin() do.
  Plugin describe(const std::string& path);

  /// The backend is this program's own. Where a fork of this program hangs, since it lacks threads
  /// that the backend waits for, the library that `make` makes is run in this program launched once
  /// more: its first backend is the same. `make` gives its path, or throws Error.
  void offer_library(const mote_backend& backend, std::function<std::string()> make);

  /// The next call of each subject is the first of a new process.
  void end_workers();

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace mote
