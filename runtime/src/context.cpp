#include "mote/runtime/context.h"

#include <mutex>

#include "mote/runtime/status.h"
#include "mote/runtime/tune.h"

namespace mote {

struct Context::State {
  explicit State(ContextOptions given)
      : options(std::move(given)), workspace(options.workspace_limit, options.allocator) {}

  ContextOptions options;
  WorkspacePool workspace;
  TuningTable tuning;
};

Context::Context(ContextOptions options) {
  for (const mote_backend* backend : options.backends)
    if (backend == nullptr) throw StatusError(MOTE_INVALID, "context: a backend is null");
  if (options.workers < 0)
    throw StatusError(MOTE_INVALID, "context: workers must be at least 0, got " +
                                        std::to_string(options.workers));
  state_ = std::make_unique<State>(std::move(options));
}

Context::~Context() = default;

std::span<const mote_backend* const> Context::backends() const { return state_->options.backends; }
WorkspacePool& Context::workspace() { return state_->workspace; }
TuningTable& Context::tuning() { return state_->tuning; }

}  // namespace mote
