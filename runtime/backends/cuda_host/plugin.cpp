// The backend cuda_host: every kernel of the catalogue as CUDA, on the shim. Successive calls run
// their threads forward, in reverse, and in an order that is drawn, so that the oracle, which runs
// each case twice, sees what depends on it. MOTE_CUDA_ORDER=forward, reverse or random:SEED fixes
// it.
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/plan.h"
#include "host_library.h"
#include "mote/base/error.h"

namespace mote::cuda_host {
namespace {

using backend::Check;

/// Few and small, so that small cases have threads with several rounds, and blocks with idle ones.
constexpr cuda::Grid kGrid = {
    .threads = 32, .most_blocks = 3, .most_bytes = std::int64_t{64} << 20};

shim::Options options_of_call() {
  static std::atomic<std::uint64_t> calls = 0;
  const std::uint64_t number = calls++;
  const char* fixed = std::getenv("MOTE_CUDA_ORDER");
  const std::string_view text = fixed != nullptr ? fixed : "";
  shim::Options options;
  options.seed = number;
  if (text == "forward" || (text.empty() && number % 3 == 0)) return options;
  options.order = shim::Order::reverse;
  if (text == "reverse" || (text.empty() && number % 3 == 1)) return options;
  options.order = shim::Order::random;
  if (text.starts_with("random:")) options.seed = std::strtoull(text.substr(7).data(), nullptr, 10);
  return options;
}

Check run_launch(const HostLibrary& library, cuda::Launch& launch, const shim::Options& options) {
  const auto kernel = library.kernels.at(launch.kernel->function);
  std::vector<void*> arguments;
  for (cuda::ArgumentValue& a : launch.arguments) arguments.push_back(a.words.data());
  shim::Shape shape;
  shape.grid.x = static_cast<unsigned>(launch.blocks);
  shape.block.x = static_cast<unsigned>(kGrid.threads);
  shape.shared_begin = library.shared_begin;
  shape.shared_end = library.shared_end;
  const std::string error = shim::launch(shape, options, [&] { kernel(arguments.data()); });
  if (error.empty()) return {};
  return backend::Refusal{MOTE_FAILED, launch.kernel->function + ": " + error};
}

Check run_plan(const mote_call& call, const cuda::OpInstance& instance, const cuda::Plan& plan) {
  if (call.workspace_bytes < plan.workspace_bytes())
    return backend::invalid(fmt::format("{} bytes of workspace, expected {}", call.workspace_bytes,
                                        plan.workspace_bytes()));
  std::vector<void*> data;
  for (const cuda::TensorView& view : plan.views()) data.push_back(view.data);
  const HostLibrary& library = library_of(instance);
  const shim::Options options = options_of_call();
  for (cuda::Launch& launch : plan.launches(data, call.workspace))
    if (Check check = run_launch(library, launch, options)) return check;
  return {};
}

mote_status can_run(const mote_call* call) {
  return backend::guarded(*call, [&]() -> Check {
    Check refusal;
    if (const auto* instance = cuda::find_instance(*call, refusal))
      const cuda::Plan plan(*call, *instance, false, kGrid, refusal);
    return refusal;
  });
}

std::size_t workspace_bytes(const mote_call* call) {
  std::size_t bytes = 0;
  backend::guarded(*call, [&]() -> Check {
    Check refusal;
    if (const auto* instance = cuda::find_instance(*call, refusal))
      bytes = cuda::Plan(*call, *instance, false, kGrid, refusal).workspace_bytes();
    return refusal;
  });
  return bytes;
}

mote_status run(const mote_call* call, void* /*stream*/) {
  return backend::guarded(*call, [&]() -> Check {
    Check refusal;
    const auto* instance = cuda::find_instance(*call, refusal);
    if (instance == nullptr) return refusal;
    const cuda::Plan plan(*call, *instance, true, kGrid, refusal);
    return refusal ? refusal : run_plan(*call, *instance, plan);
  });
}

constexpr mote_contract kContract = {.size = sizeof(mote_contract),
                                     .accumulator = MOTE_ACC_F64,
                                     .multiply_rounding = 0,
                                     .flushes_denormals = 0,
                                     .deterministic = 1,
                                     .form = "direct",
                                     .function_count = 0,
                                     .in_place_count = MOTE_IN_PLACE_ALL,
                                     .functions = nullptr,
                                     .in_place = nullptr,
                                     .ignores_nan = 0,
                                     .reserved = 0};

const mote_backend& cuda_host_backend() {
  static const std::vector<mote_kernel> kernels = [] {
    std::vector<mote_kernel> all;
    for (const OpRecord* record : generated_ops())
      all.push_back({.size = sizeof(mote_kernel),
                     .op = record->name.c_str(),
                     .contract = &kContract,
                     .can_run = can_run,
                     .workspace_bytes = workspace_bytes,
                     .run = run});
    return all;
  }();
  static const mote_backend backend = {.size = sizeof(mote_backend),
                                       .name = "cuda_host",
                                       .version = MOTE_VERSION,
                                       .kernel_count = static_cast<std::int32_t>(kernels.size()),
                                       .reserved = 0,
                                       .kernels = kernels.data()};
  return backend;
}

}  // namespace
}  // namespace mote::cuda_host

extern "C" mote_status mote_plugin_init(mote_plugin* plugin) {
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &mote::cuda_host::cuda_host_backend();
  return MOTE_OK;
}
