// SPDX-License-Identifier: Apache-2.0
#include "kernels_leg.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "compile_leg.h"
#include "mote/base/kernel.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/evaluate.h"
#include "runtime/plain_records.h"
#include "sequence/plain_copy.h"

namespace mote::test {
namespace {

constexpr const char* kNone = "none";

std::atomic<int> runs = 0;  // of the backend's kernels

/// Returns another number than y, the next one in its last bit; y if it is 0, or not finite.
float with_other_bits(float y) {
  if (y == 0 || !std::isfinite(y)) return y;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(y) ^ 1U);
}

float add(float a, float b) { return a + b; }
float mul(float a, float b) { return a * b; }
float neg(float a, float) { return -a; }
float relu(float a, float) { return a > 0 ? a : 0; }
float tanh(float a, float) { return std::tanh(a); }

/// Takes dense f32 of one shape; its contract has no pair in place.
mote_status can_run(const mote_call* call) {
  const DLTensor& y = *call->outputs[0];
  const auto fits = [&](const DLTensor& x) {
    return has_same_shape(x, y) && has_same_dtype(x, y) && plain_bytes(x) >= 0;
  };
  const bool is_f32 = y.dtype.code == kDLFloat && y.dtype.bits == 32;
  const bool fit = std::all_of(call->inputs, call->inputs + call->input_count,
                               [&](const DLTensor* x) { return x != nullptr && fits(*x); });
  return is_f32 && fits(y) && fit ? MOTE_OK : MOTE_UNSUPPORTED;
}

template <float (*function)(float, float)>
mote_status run(const mote_call* call, void*) {
  ++runs;
  const DLTensor& y = *call->outputs[0];
  const auto elements = [](const DLTensor& x) { return reinterpret_cast<float*>(first_byte(x)); };
  float* const to = elements(y);
  const float* const a = elements(*call->inputs[0]);
  const float* const b = elements(*call->inputs[call->input_count - 1]);
  const std::int64_t count = plain_bytes(y) / static_cast<std::int64_t>(sizeof(float));
  for (std::int64_t k = 0; k < count; ++k) to[k] = with_other_bits(function(a[k], b[k]));
  return MOTE_OK;
}

template <float (*function)(float, float)>
constexpr mote_kernel kernel_for(const char* op) {
  return {.size = sizeof(mote_kernel),
          .op = op,
          .contract = &kPlainContract,
          .can_run = can_run,
          .workspace_bytes = nullptr,
          .run = run<function>,
          .run_checked = nullptr};
}

constexpr std::array kKernels = {kernel_for<add>("add"), kernel_for<mul>("mul"),
                                 kernel_for<neg>("neg"), kernel_for<relu>("relu"),
                                 kernel_for<tanh>("tanh")};
constexpr mote_backend kBackend = {.size = sizeof(mote_backend),
                                   .name = "other_bits",
                                   .version = "1",
                                   .kernel_count = static_cast<std::int32_t>(kKernels.size()),
                                   .reserved = 0,
                                   .kernels = kKernels.data()};

Context& context_with_backend() {
  static Context context({.backends = {&kBackend}, .workers = 4});
  return context;
}

bool is_of_backend(const NodeInfo& node) {
  return node.kind == NodeKind::command &&
         std::ranges::any_of(kKernels, [&](const mote_kernel& kernel) {
           return std::string_view(kernel.op) == node.command->definition().name;
         });
}

/// Makes the graph compute some values again. Returns false if that policy does not suit it.
bool add_checkpoint(SymbolicGraph& graph, const std::string& policy) {
  std::vector<TensorSymbol> losses = graph.outputs();
  losses.resize((losses.size() + 1) / 2);
  CheckpointOptions options{.slots = 2, .context = nullptr};
  if (policy == "binomial") options.policy = CheckpointPolicy::binomial;
  try {
    checkpoint(graph, losses, options);
  } catch (const StatusError&) {
    if (options.policy != CheckpointPolicy::binomial) throw;
    return false;  // it takes chains only
  }
  return true;
}

}  // namespace

std::string some_kernels_leg(Rng& rng) {
  return std::string("kernels policy=") +
         rng.pick<const char*>({kNone, "square_root", "binomial"}) + " " +
         some_compile_settings(rng);
}

std::optional<std::string> check_kernels(const GraphSubject& subject,
                                         const std::map<std::string, std::string>& settings,
                                         Counts& counts) {
  SymbolicGraph graph = subject.graph();
  Context& context = context_with_backend();
  runs = 0;
  const std::vector<Tensor> expected =
      evaluate(graph, subject.bindings_by_index(graph), graph.outputs(), {.context = &context});
  if (runs == 0) return std::nullopt;
  const std::string policy = setting(settings, "policy", kNone);
  if (policy != kNone && !add_checkpoint(graph, policy)) return std::nullopt;
  const CompileOptions options = options_of(graph, settings);
  Executable executable = compiled(graph, options, context);
  executable.run(subject.bindings_by_index(graph));
  const std::vector<TensorSymbol> outputs = graph.outputs();
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (const auto found = bit_difference(expected[k], executable.output(outputs[k])))
      return graph.text(outputs[k]) + *found;
  ++counts["compiled with kernels of a backend"];
  if (executable.report().in_place_pairs > 0)
    ++counts["in place beside kernels of a backend that takes nothing in place"];
  const auto is_again = [](const NodeInfo& n) { return n.recomputed > 0 && is_of_backend(n); };
  if (std::ranges::any_of(graph.nodes(), is_again))
    ++counts["computed again by kernels of a backend"];
  return std::nullopt;
}

std::vector<std::string> counted_by_kernels_leg() {
  return {"compiled with kernels of a backend",
          "in place beside kernels of a backend that takes nothing in place",
          "computed again by kernels of a backend"};
}

}  // namespace mote::test
