// SPDX-License-Identifier: Apache-2.0
#include "mote/runtime/context.h"

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "mote/base/error.h"
#include "mote/base/plugin.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tune.h"
#include "stream/workers.h"
#include "tensor/storage.h"

namespace mote {

struct Context::State {
  explicit State(ContextOptions given)
      : options(std::move(given)), workspace(options.workspace_limit, options.allocator) {}

  ContextOptions options;
  WorkspacePool workspace;
  TuningTable tuning;
  std::mutex mutex;
  std::optional<Workers> workers;  ///< destroyed first: its work uses the others
};

Context::Context(ContextOptions options) {
  for (const mote_backend* backend : options.backends) {
    if (backend == nullptr) throw StatusError(MOTE_INVALID, "context: a backend is null");
    try {
      check_backend("context", *backend);
    } catch (const Error& e) {
      throw StatusError(MOTE_INVALID, e.what());
    }
  }
  if (options.workers < 0 || options.workers > kMaxWorkers)
    throw StatusError(MOTE_INVALID, "context: workers must be in 0.." +
                                        std::to_string(kMaxWorkers) + ", got " +
                                        std::to_string(options.workers));
  check_allocator(options.allocator);
  state_ = std::make_unique<State>(std::move(options));
}

Context::~Context() = default;

std::span<const mote_backend* const> Context::backends() const { return state_->options.backends; }
WorkspacePool& Context::workspace() { return state_->workspace; }
TuningTable& Context::tuning() { return state_->tuning; }

Workers& Context::workers() {
  const std::lock_guard lock(state_->mutex);
  if (!state_->workers) state_->workers.emplace(state_->options.workers);
  return *state_->workers;
}

}  // namespace mote
