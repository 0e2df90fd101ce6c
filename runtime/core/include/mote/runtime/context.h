// SPDX-License-Identifier: Apache-2.0
// What calls share: backends, memory to work in, measured times, the threads that streams run on.
// A context may be used from many threads at once. It outlives what was made with it; it ends when
// the work of its streams has.
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
  /// Asked in this order, unless a measured time says otherwise; the generated kernels come after
  /// them. They stay loaded as long as the context.
  std::vector<const mote_backend*> backends = {};
  /// What the workspaces of all calls may take together. A kernel that wants more declines.
  std::size_t workspace_limit = kNoWorkspaceLimit;
  /// Threads that the context's streams share; 0: as many as the machine has processors. A kernel
  /// that shares its loops among OpenMP's threads does so on each of them.
  int workers = 0;
  /// Of workspace.
  Allocator allocator = default_allocator();
};

class Context {
 public:
  /// StatusError MOTE_INVALID for a backend that is null or not as kernel.h says, for a number of
  /// workers that is out of range, and for an allocator without functions.
  explicit Context(ContextOptions options = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  std::span<const mote_backend* const> backends() const;
  WorkspacePool& workspace();
  /// Which kernel is the fastest, as far as it has been measured (tune.h).
  TuningTable& tuning();
  /// The threads of streams, which are started when first asked for. StatusError where the system
  /// has none.
  Workers& workers();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mote
