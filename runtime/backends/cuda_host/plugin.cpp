// The backends cuda_host and cuda_host_gen: every kernel of the catalogue as CUDA, in the variants
// oracle and gen, on the shim. Successive calls run
// their threads forward, in reverse, and in an order that is drawn, so that the oracle, which runs
// each case twice, sees what depends on it. MOTE_CUDA_ORDER=forward, reverse or random:SEED fixes
// it.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/plan.h"
#include "host_library.h"
#include "mote/base/error.h"

namespace mote::cuda_host {
namespace {

using backend::Check;

using cuda::Variant;

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

Check run_plan(const mote_call& call, const HostLibrary& library, const cuda::Plan& plan) {
  if (call.workspace_bytes < plan.workspace_bytes())
    return backend::invalid(fmt::format("{} bytes of workspace, expected {}", call.workspace_bytes,
                                        plan.workspace_bytes()));
  std::vector<void*> data;
  for (const cuda::TensorView& view : plan.views()) data.push_back(view.data);
  const shim::Options options = options_of_call();
  for (cuda::Launch& launch : plan.launches(data, call.workspace))
    if (Check check = run_launch(library, launch, options)) return check;
  return {};
}

/// Kernels with one contract: of integers and booleans, of f64, of f32, of 16 bits.
enum class Kind : std::uint8_t { integer, f64, f32, narrow };

Kind kind_of(const cuda::OpInstance& instance) {
  const DType dtype = instance.instance().dtype;
  if (!is_real(dtype)) return Kind::integer;
  return dtype == DType::f64 ? Kind::f64 : dtype == DType::f32 ? Kind::f32 : Kind::narrow;
}

template <Variant variant, Kind kind>
const cuda::OpInstance* instance_for(const mote_call& call, Check& refusal) {
  const cuda::OpInstance* found = cuda::find_instance(call, refusal);
  if (found == nullptr || variant == Variant::oracle || kind_of(*found) == kind) return found;
  refusal = backend::unsupported("this kernel is one of other dtypes");
  return nullptr;
}

template <Variant variant, Kind kind>
struct Functions {
  static mote_status can_run(const mote_call* call) {
    return backend::guarded(*call, [&]() -> Check {
      Check refusal;
      if (const auto* instance = instance_for<variant, kind>(*call, refusal))
        const cuda::Plan plan(*call, *instance, variant, false, kGrid, refusal);
      return refusal;
    });
  }

  static std::size_t workspace_bytes(const mote_call* call) {
    std::size_t bytes = 0;
    backend::guarded(*call, [&]() -> Check {
      Check refusal;
      if (const auto* instance = instance_for<variant, kind>(*call, refusal))
        bytes = cuda::Plan(*call, *instance, variant, false, kGrid, refusal).workspace_bytes();
      return refusal;
    });
    return bytes;
  }

  static mote_status run(const mote_call* call, void* /*stream*/) {
    return backend::guarded(*call, [&]() -> Check {
      Check refusal;
      const auto* instance = instance_for<variant, kind>(*call, refusal);
      if (instance == nullptr) return refusal;
      const cuda::Plan plan(*call, *instance, variant, true, kGrid, refusal);
      return refusal ? refusal : run_plan(*call, library_of(*instance, variant), plan);
    });
  }
};

/// gen's functions are those of the fast CPU kernels, and as accurate.
std::span<const mote_accuracy> functions() {
  static const std::vector<mote_accuracy> all = [] {
    std::vector<mote_accuracy> made;
    for (const FunctionAccuracy& f : fast_accuracy()) made.push_back({f.function, f.ulp, 0, 0});
    return made;
  }();
  return all;
}

mote_contract contract(mote_accumulator accumulator, std::span<const mote_accuracy> accuracies) {
  return {.size = sizeof(mote_contract),
          .accumulator = accumulator,
          .multiply_rounding = 0,
          .flushes_denormals = 0,
          .deterministic = 1,
          .form = "direct",
          .function_count = static_cast<std::int32_t>(accuracies.size()),
          .in_place_count = MOTE_IN_PLACE_ALL,
          .functions = accuracies.empty() ? nullptr : accuracies.data(),
          .in_place = nullptr,
          .ignores_nan = 0,
          .reserved = 0};
}

template <Variant variant, Kind kind>
mote_kernel kernel(const OpRecord& record, const mote_contract& promised) {
  using Of = Functions<variant, kind>;
  return {.size = sizeof(mote_kernel),
          .op = record.name.c_str(),
          .contract = &promised,
          .can_run = Of::can_run,
          .workspace_bytes = Of::workspace_bytes,
          .run = Of::run};
}

mote_backend backend_of(const char* name, const std::vector<mote_kernel>& kernels) {
  return {.size = sizeof(mote_backend),
          .name = name,
          .version = MOTE_VERSION,
          .kernel_count = static_cast<std::int32_t>(kernels.size()),
          .reserved = 0,
          .kernels = kernels.data()};
}

const std::vector<mote_kernel>& oracle_kernels() {
  static const mote_contract in_double = contract(MOTE_ACC_F64, {});
  static const std::vector<mote_kernel> all = [] {
    std::vector<mote_kernel> made;
    for (const OpRecord* record : generated_ops())
      made.push_back(kernel<Variant::oracle, Kind::integer>(*record, in_double));
    return made;
  }();
  return all;
}

const std::vector<mote_kernel>& gen_kernels() {
  static const mote_contract integer = contract(MOTE_ACC_F64, {});
  static const mote_contract f64 = contract(MOTE_ACC_NATIVE, {});
  static const mote_contract f32 = contract(MOTE_ACC_NATIVE, functions());
  static const mote_contract narrow = contract(MOTE_ACC_F32, functions());
  static const std::vector<mote_kernel> all = [] {
    std::vector<mote_kernel> made;
    for (const OpRecord* record : generated_ops()) {
      made.push_back(kernel<Variant::gen, Kind::integer>(*record, integer));
      made.push_back(kernel<Variant::gen, Kind::f64>(*record, f64));
      made.push_back(kernel<Variant::gen, Kind::f32>(*record, f32));
      made.push_back(kernel<Variant::gen, Kind::narrow>(*record, narrow));
    }
    return made;
  }();
  return all;
}

std::span<const mote_backend> backends() {
  static const std::array<mote_backend, 2> all = {backend_of("cuda_host", oracle_kernels()),
                                                  backend_of("cuda_host_gen", gen_kernels())};
  return all;
}

}  // namespace
}  // namespace mote::cuda_host

extern "C" mote_status mote_plugin_init(mote_plugin* plugin) {
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = static_cast<std::int32_t>(mote::cuda_host::backends().size());
  plugin->backends = mote::cuda_host::backends().data();
  return MOTE_OK;
}
