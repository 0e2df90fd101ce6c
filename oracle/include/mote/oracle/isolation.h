// SPDX-License-Identifier: Apache-2.0
// Subjects in processes of their own: a crash, a hang or a write to memory that is not the
// subject's ends a worker, and not the process that judges. The reference never runs in a worker.
#pragma once

#include <memory>
#include <string>

#include "mote/base/export.h"
#include "mote/base/plugin.h"

namespace MOTE_API mote {

class Isolation {
 public:
  /// Forks the process that workers come from, so it is best made before threads are, and before
  /// the first case is run. Backends that are no library's must be there already. Throws Error
  /// where the system gives no memory to share, or no process.
  Isolation();
  ~Isolation();
  Isolation(const Isolation&) = delete;
  Isolation& operator=(const Isolation&) = delete;

  /// Names, versions, ops and contracts of the library's backends. It is loaded in a worker only;
  /// the kernels decline every call in this process. Throws Error as load_plugin() and
  /// probe_plugin() do.
  Plugin describe(const std::string& path);

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace mote
