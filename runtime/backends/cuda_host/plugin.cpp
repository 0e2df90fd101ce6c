// SPDX-License-Identifier: Apache-2.0
// The backends cuda_host and cuda_host_gen: every kernel of the catalogue as CUDA, in the variants
// reference and gen, on the shim; and cuda_host_tf32, with the kernels that multiply f32 rounded to
// tf32. Successive calls run their threads forward, in reverse, and in a random order, so that the
// oracle, which runs each case twice, detects a dependence on the order. MOTE_CUDA_ORDER=forward,
// reverse or random:SEED fixes it. The program files that $MOTE_PROGRAMS names, one in a line, have
// kernels too.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/kernel_table.h"
#include "host_library.h"
#include "mote/base/error.h"
#include "mote/macroops/program_record.h"
#include "mote/uops/element_type.h"

namespace mote::cuda_host {
namespace {

using backend::Check;

using cuda::Variant;

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

Check run_plan(const mote_call& call, const HostLibrary& library, const cuda::Plan& plan) {
  std::vector<void*> data;
  for (const cuda::TensorView& view : plan.views()) data.push_back(view.data);
  const shim::Options options = options_of_call();
  for (cuda::Launch& launch : plan.launches(data, call.workspace))
    if (const std::string error = run_launch(library, launch, options); !error.empty())
      return backend::Refusal{MOTE_FAILED, launch.kernel->function + ": " + error};
  return {};
}

struct Shim {
  static const cuda::Grid& grid() { return kGrid; }
  static Check ready(const mote_call& /*call*/) { return {}; }
  static std::size_t workspace_bytes(const mote_call& /*call*/, const cuda::Plan& plan) {
    return plan.workspace_bytes();
  }
  static Check run(const mote_call& call, void* /*stream*/, const cuda::OpInstance& instance,
                   Variant variant, const cuda::Plan& plan) {
    return run_plan(call, library_of(instance, variant), plan);
  }
};

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the op that the file defines, of its own element type and all others that it accepts.
OpRecord record_of_file(const std::string& path) {
  const std::string text = contents_of(path);
  std::vector<std::string> dtypes = {
      std::string(name(element_type(parse_program_file(path, text))))};
  for (const DType dtype : all_dtypes()) {
    if (dtype == DType::boolean || name(dtype) == dtypes.front()) continue;
    try {
      parse_program_file(path, text, dtype);
      dtypes.emplace_back(name(dtype));
    } catch (const Error&) {  // an operation does not accept the dtype
    }
  }
  return program_record(path, text, dtypes);
}

/// A file that is not a program is left out, with a message.
void add_program_files() {
  const char* given = std::getenv("MOTE_PROGRAMS");
  std::istringstream paths(given != nullptr ? given : "");
  for (std::string path; std::getline(paths, path);) {
    try {
      if (!path.empty()) cuda::add_ops({record_of_file(path)});
    } catch (const Error& e) {
      fmt::print(stderr, "mote: cuda_host: left out: {}\n", e.what());
    }
  }
}

}  // namespace
}  // namespace mote::cuda_host

extern "C" mote_status mote_plugin_init(mote_plugin* plugin) {
  using namespace mote;
  [[maybe_unused]] static const bool added = (cuda_host::add_program_files(), true);
  static const std::vector<mote_kernel> reference = cuda::reference_kernels<cuda_host::Shim>();
  static const std::vector<mote_kernel> gen = cuda::gen_kernels<cuda_host::Shim>();
  static const std::vector<mote_kernel> tf32 = cuda::tf32_kernels<cuda_host::Shim>();
  static const std::array<mote_backend, 3> all = {
      cuda::backend_of("cuda_host", MOTE_VERSION, reference),
      cuda::backend_of("cuda_host_gen", MOTE_VERSION, gen),
      cuda::backend_of("cuda_host_tf32", MOTE_VERSION, tf32)};
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = static_cast<std::int32_t>(all.size());
  plugin->backends = all.data();
  return MOTE_OK;
}
