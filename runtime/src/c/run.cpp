// mote/mote.h: backends, contexts, running, streams.
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include "guard.h"
#include "mote/base/plugin.h"
#include "mote/runtime/plugins.h"
#include "mote/runtime/tune.h"
#include "objects.h"

namespace mote::c {
namespace {

/// A count beyond it is no count.
constexpr std::size_t kMaxBackends = 65536;

Probe probe_of(int probe) { return probe != 0 ? Probe::child : Probe::none; }

void check_options_size(std::size_t got, std::size_t expected) {
  if (got < expected)
    throw StatusError(MOTE_INVALID, "options.size must be " + std::to_string(expected) + ", got " +
                                        std::to_string(got));
}

std::vector<const mote_backend*> backends_of(const mote_backend* const* list, std::size_t count) {
  if (count > 0) given(list, "options.backends");
  if (count > kMaxBackends)
    throw StatusError(MOTE_INVALID, "options.backend_count is at most " +
                                        std::to_string(kMaxBackends) + ", got " +
                                        std::to_string(count));
  std::vector<const mote_backend*> backends;
  for (const mote_backend* backend : std::span(list, count))
    backends.push_back(&given(backend, "a backend"));
  return backends;
}

ContextOptions options_of(const mote_context_options* given_options) {
  ContextOptions options;
  if (given_options == nullptr) return options;
  check_options_size(given_options->size, sizeof(mote_context_options));
  options.backends = backends_of(given_options->backends, given_options->backend_count);
  if (given_options->workspace_limit > 0) options.workspace_limit = given_options->workspace_limit;
  options.workers = given_options->workers;
  return options;
}

RunOptions in(mote_context* context) {
  RunOptions options;
  if (context != nullptr) options.context = &context->context;
  return options;
}

}  // namespace
}  // namespace mote::c

using namespace mote;     // NOLINT: what follows are C's names
using namespace mote::c;  // NOLINT

mote_status mote_load_backends(const char* path, int probe) {
  return guarded(__func__, [&] { load_backends(&given(path, "path"), probe_of(probe)); });
}

mote_status mote_load_found_backends(int probe) {
  return guarded(__func__, [&] {
    std::string problems;
    for (const std::string& problem : load_found_backends(probe_of(probe)))
      problems += (problems.empty() ? "" : "\n") + problem;
    if (!problems.empty()) throw std::runtime_error(problems);  // a line each: no StatusError
  });
}

mote_status mote_loaded_backends(const mote_backend** backends, size_t room, size_t* count) {
  return guarded(__func__, [&] {
    const std::span<const mote_backend* const> all = loaded_backends();
    given(count, "count") = all.size();
    if (backends != nullptr) std::copy_n(all.begin(), std::min(room, all.size()), backends);
  });
}

mote_status mote_context_create(const mote_context_options* options, mote_context** context) {
  return guarded(__func__, [&] {
    auto& result = given(context, "context");
    result = new mote_context{Context(options_of(options))};
  });
}

void mote_context_free(mote_context* context) { delete context; }

mote_status mote_run(const mote_command* command, const mote_tensor* const* inputs,
                     size_t input_count, mote_tensor* const* outputs, size_t output_count,
                     mote_context* context, mote_stream* stream) {
  return guarded(__func__, [&] {
    const Command& what = given(command, "command").command;
    const Operands tensors(what.definition(), inputs, input_count, outputs, output_count);
    if (stream != nullptr)
      run(what, tensors.inputs, tensors.outputs, stream->stream, in(context));
    else
      run(what, tensors.inputs, tensors.outputs, in(context));
  });
}

mote_status mote_run_with(const mote_command* command, const mote_tensor* const* inputs,
                          size_t input_count, mote_tensor* const* outputs, size_t output_count,
                          const mote_run_options* options) {
  return guarded(__func__, [&] {
    const Command& what = given(command, "command").command;
    const mote_run_options& o = given(options, "options");
    check_options_size(o.size, sizeof(mote_run_options));
    const Operands tensors(what.definition(), inputs, input_count, outputs, output_count);
    const std::vector<const mote_backend*> backends = backends_of(o.backends, o.backend_count);
    for (const mote_backend* backend : backends) check_backend("options", *backend);
    RunOptions all = in(o.context);
    all.backends = backends;
    if (o.workspace != nullptr)
      all.workspace = {static_cast<std::byte*>(o.workspace), o.workspace_bytes};
    all.without_nan = o.without_nan != 0;
    if (o.stream != nullptr)
      run(what, tensors.inputs, tensors.outputs, o.stream->stream, all);
    else
      run(what, tensors.inputs, tensors.outputs, all);
  });
}

mote_status mote_prepare(const mote_command* command, const mote_tensor* const* inputs,
                         size_t input_count, mote_tensor* const* outputs, size_t output_count,
                         mote_context* context, mote_prepared** prepared) {
  return guarded(__func__, [&] {
    const Command& what = given(command, "command").command;
    const Operands tensors(what.definition(), inputs, input_count, outputs, output_count);
    auto& result = given(prepared, "prepared");
    result = new mote_prepared{
        std::make_shared<PreparedCommand>(what, tensors.inputs, tensors.outputs, in(context))};
  });
}

mote_status mote_prepared_run(mote_prepared* prepared, mote_stream* stream) {
  return guarded(__func__, [&] {
    if (stream != nullptr)
      run(given(prepared, "prepared").prepared, stream->stream);
    else
      given(prepared, "prepared").prepared->run();
  });
}

mote_status mote_prepared_rebind(mote_prepared* prepared, const mote_tensor* const* inputs,
                                 size_t input_count, mote_tensor* const* outputs,
                                 size_t output_count) {
  return guarded(__func__, [&] {
    PreparedCommand& what = *given(prepared, "prepared").prepared;
    const Operands tensors(what.command().definition(), inputs, input_count, outputs, output_count);
    what.rebind(tensors.inputs, tensors.outputs);
  });
}

void mote_prepared_free(mote_prepared* prepared) { delete prepared; }

mote_status mote_autotune(const mote_command* command, const mote_tensor* const* inputs,
                          size_t input_count, mote_tensor* const* outputs, size_t output_count,
                          mote_context* context, const char** kernel) {
  return guarded(__func__, [&] {
    const Command& what = given(command, "command").command;
    const Operands tensors(what.definition(), inputs, input_count, outputs, output_count);
    const TuningEntry& entry =
        autotune(what, tensors.inputs, tensors.outputs, given(context, "context").context);
    if (kernel != nullptr) *kernel = entry.kernel.c_str();
  });
}
