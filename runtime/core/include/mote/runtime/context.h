// SPDX-License-Identifier: Apache-2.0
// The state that calls share: backends, workspace, measured times, and the threads that streams run
// on. Many threads may use a context at once. It must outlive everything that was made with it; its
// destructor waits for the work of its streams.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/runtime/workspace.h"

namespace MOTE_API mote {

class TuningTable;
class Workers;

inline constexpr int kMaxWorkers = 1024;

struct ContextOptions {
  /// Backends that are asked in this order, unless a measured time says otherwise; the generated
  /// kernels come after them. They must stay loaded as long as the context.
  std::vector<const mote_backend*> backends = {};
  /// The maximum workspace of all calls together, in bytes. A kernel that needs more declines.
  std::size_t workspace_limit = kNoWorkspaceLimit;
  /// The number of threads that the context's streams share; 0: as many as the machine has
  /// processors. A kernel that uses OpenMP starts its team of threads on each of them.
  int workers = 0;
  /// The allocator of workspace.
  Allocator allocator = default_allocator();
};

class Context {
 public:
  /// Throws StatusError MOTE_INVALID for a backend that is null or violates kernel.h, for a number
  /// of workers that is out of range, and for an allocator without functions.
  explicit Context(ContextOptions options = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  std::span<const mote_backend* const> backends() const;
  WorkspacePool& workspace();
  /// Returns the table of the fastest kernels measured so far (tune.h).
  TuningTable& tuning();
  /// Returns the threads of streams, which the first call starts. Throws StatusError if the system
  /// has none.
  Workers& workers();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mote
