// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote.h for backends, contexts and runs.
#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "c/guard.h"
#include "c/objects.h"
#include "c/tuning.h"
#include "mote/base/plugin.h"
#include "mote/runtime/plugins.h"
#include "mote/runtime/tune.h"

namespace mote::c {
namespace {

/// A larger count is an error.
constexpr std::size_t kMaxBackends = 65536;

Probe probe_of(int probe) { return probe != 0 ? Probe::child : Probe::none; }

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

/// The size of mote_context_options in the first version.
constexpr std::size_t kLeastContextOptions = offsetof(mote_context_options, allocator);

ContextOptions options_of(const mote_context_options* given_options) {
  ContextOptions options;
  if (given_options == nullptr) return options;
  const mote_context_options o = sized(*given_options, kLeastContextOptions);
  options.backends = backends_of(o.backends, o.backend_count);
  if (o.workspace_limit > 0) options.workspace_limit = o.workspace_limit;
  options.workers = o.workers;
  if (o.allocator != nullptr) options.allocator = allocator_of(*o.allocator);
  return options;
}

RunOptions in(mote_context* context) {
  RunOptions options;
  if (context != nullptr) options.context = &context->context;
  return options;
}

/// The C++ form of mote_run_options, with the list that it points to.
struct RunWith {
  explicit RunWith(const mote_run_options* given_options)
      : given_all(sized(given(given_options, "options"))),
        backends(backends_of(given_all.backends, given_all.backend_count)),
        options(in(given_all.context)) {
    for (const mote_backend* backend : backends) check_backend("options", *backend);
    options.backends = backends;
    if (given_all.workspace != nullptr)
      options.workspace = {static_cast<std::byte*>(given_all.workspace), given_all.workspace_bytes};
    options.without_nan = given_all.without_nan != 0;
  }
  RunWith(const RunWith&) = delete;
  RunWith& operator=(const RunWith&) = delete;

  mote_run_options given_all;
  std::vector<const mote_backend*> backends;
  RunOptions options;
};

void tune(const mote_command* command, std::span<const mote_tensor* const> inputs,
          std::span<mote_tensor* const> outputs, mote_context* context,
          const TuningOptions& options, const char** kernel) {
  const Command& what = given(command, "command").command;
  const Operands tensors(what.definition(), inputs.data(), inputs.size(), outputs.data(),
                         outputs.size());
  const TuningEntry& entry =
      autotune(what, tensors.inputs, tensors.outputs, given(context, "context").context, options);
  if (kernel != nullptr) *kernel = entry.kernel.c_str();
}

}  // namespace
}  // namespace mote::c

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_load_backends(const char* path, int probe) {
  return guarded(__func__, [&] { load_backends(&given(path, "path"), probe_of(probe)); });
}

mote_status mote_load_found_backends(int probe) {
  return guarded(__func__, [&] {
    std::string problems;
    for (const std::string& problem : load_found_backends(probe_of(probe)))
      problems += (problems.empty() ? "" : "\n") + problem;
    if (!problems.empty())
      throw std::runtime_error(problems);  // not a StatusError, which would be
                                           // one line
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
    const RunWith with(options);
    const Operands tensors(what.definition(), inputs, input_count, outputs, output_count);
    if (with.given_all.stream != nullptr)
      run(what, tensors.inputs, tensors.outputs, with.given_all.stream->stream, with.options);
    else
      run(what, tensors.inputs, tensors.outputs, with.options);
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

mote_status mote_prepare_with(const mote_command* command, const mote_tensor* const* inputs,
                              size_t input_count, mote_tensor* const* outputs, size_t output_count,
                              const mote_run_options* options, mote_prepared** prepared) {
  return guarded(__func__, [&] {
    const Command& what = given(command, "command").command;
    const RunWith with(options);
    if (with.given_all.stream != nullptr)
      throw StatusError(MOTE_INVALID, "options.stream: a stream is given to mote_prepared_run");
    const Operands tensors(what.definition(), inputs, input_count, outputs, output_count);
    auto& result = given(prepared, "prepared");
    result = new mote_prepared{
        std::make_shared<PreparedCommand>(what, tensors.inputs, tensors.outputs, with.options)};
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
    tune(command, {inputs, input_count}, {outputs, output_count}, context, {}, kernel);
  });
}

mote_status mote_autotune_with(const mote_command* command, const mote_tensor* const* inputs,
                               size_t input_count, mote_tensor* const* outputs, size_t output_count,
                               mote_context* context, const mote_tuning_options* options,
                               const char** kernel) {
  return guarded(__func__, [&] {
    tune(command, {inputs, input_count}, {outputs, output_count}, context,
         tuning_options_of(given(options, "options")), kernel);
  });
}
