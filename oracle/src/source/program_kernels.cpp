// SPDX-License-Identifier: Apache-2.0
// In: a program for each dtype; out: a C file for each, with the kernel of the variant gen (or
// reference, if there is no gen one) and its thunk, a table of them, and the library. They are
// compiled as the catalogue's kernels are, for the same level of instruction sets.
#include "source/program_kernels.h"

#include <fmt/format.h>

#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "mote/base/command.h"
#include "mote/base/error.h"
#include "mote/base/temporary_folder.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/variants.h"
#include "mote/generated/kernels.h"
#include "mote/generated/level.h"
#include "mote/oracle/c_compiler.h"
#include "mote/oracle/target.h"
#include "source/build_c.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

/// The least level at which kernels of 16-bit reals have vector conversions.
constexpr int kLevelOfSixteenBits = 3;

struct ProgramKernel {
  std::string function;  ///< "kernel_f32"
  DType dtype;
  LoopProgram loops;
  std::optional<Schedule> gen;  ///< nullopt: the reference is compiled
};

ProgramKernel kernel_of(const Target& target, DType dtype) {
  ProgramKernel k{fmt::format("kernel_{}", name(dtype)), dtype,
                  compile(target.program({dtype, target.full_mask()})), std::nullopt};
  if (!is_narrow(dtype) || mote_level() >= kLevelOfSixteenBits)
    k.gen = gen_schedule(k.loops, dtype);
  return k;
}

std::string text_of(const ProgramKernel& k) {
  std::set<std::string> helpers;
  EmitOptions how;
  how.function = k.function;
  how.helpers = &helpers;
  const std::string text =
      (k.gen ? emit_c(*k.gen, how) : emit_c(k.loops, how)) + "\n" + emit_c_thunk(k.loops, how);
  return (k.gen ? emit_c_gen_includes() : emit_c_includes()) +
         "\n#include \"mote/base/thunk.h\"\n\n" + emit_c_helpers(helpers) + "\n" + text;
}

/// The options; cmake/MoteKernels.cmake has the same for the catalogue.
std::vector<std::string> options_for(const ProgramKernel& k, bool with_threads) {
  if (!k.gen) return {"-O2", "-ffp-contract=off", "-frounding-math", "-fwrapv", "-fno-builtin"};
  std::vector<std::string> options = {"-O2",
                                      "-ftree-vectorize",
                                      "-fwrapv",
                                      "-fno-math-errno",
                                      "-fno-trapping-math",
                                      "-ffp-contract=fast"};
  if (mote_level() > 0) options.push_back(fmt::format("-march=x86-64-v{}", mote_level()));
  if (with_threads) options.emplace_back("-fopenmp");
  return options;
}

std::string table_text(const Target& target, const std::vector<ProgramKernel>& kernels) {
  std::string contracts, rows;
  for (const ProgramKernel& k : kernels) {
    const std::string contract = "contract_" + std::string(name(k.dtype));
    contracts += k.gen ? gen_contract_c(contract, k.dtype) : reference_contract_c(contract);
    contracts += fmt::format(
        "mote_status {0}_can_run(const mote_call *call);\n"
        "mote_status {0}_run(const mote_call *call, void *stream);\n"
        "mote_status {0}_run_checked(const mote_call *call, void *stream);\n",
        k.function);
    rows += fmt::format(
        "    {{sizeof(mote_kernel), \"{0}\", &{1}, {2}_can_run, NULL, {2}_run, "
        "{2}_run_checked}},\n",
        target.op(), contract, k.function);
  }
  return fmt::format(
      "#include \"mote/base/kernel.h\"\n\n{0}\n{1}\n"
      "static const mote_kernel kernels[] = {{\n{2}}};\n"
      "static const mote_backend backend = {{sizeof(mote_backend), \"{3}\", \"{4}\", {5}, 0, "
      "kernels}};\n\n"
      "MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin *plugin);\n"
      "mote_status mote_plugin_init(mote_plugin *plugin) {{\n"
      "  plugin->abi_version = MOTE_ABI_VERSION;\n"
      "  plugin->backend_count = 1;\n"
      "  plugin->backends = &backend;\n"
      "  return MOTE_OK;\n"
      "}}\n",
      gen_accuracy_c(), contracts, rows, gen_backend().name, gen_backend().version, kernels.size());
}

void build_library(const Target& target, const std::vector<ProgramKernel>& kernels,
                   const fs::path& folder, const fs::path& library, bool with_threads) {
  std::vector<std::string> words = c_compiler();
  words.emplace_back("-shared");
  if (with_threads) words.emplace_back("-fopenmp");
  words.push_back(object_of(folder, "table", table_text(target, kernels), {"-O1"}));
  for (const ProgramKernel& k : kernels)
    words.push_back(object_of(folder, k.function, text_of(k), options_for(k, with_threads)));
  words.insert(words.end(), {"-lm", "-o", library});
  run_compiler(target.text(), words);
}

/// True if the compiler supports OpenMP, which some do not.
bool has_threads(const fs::path& folder) {
  write_source(folder / "threads.c",
               "#include <omp.h>\nint threads(void) { return omp_get_max_threads(); }\n");
  std::vector<std::string> words = c_compiler();
  words.insert(words.end(),
               {"-fopenmp", "-fPIC", "-shared", folder / "threads.c", "-o", folder / "threads.so"});
  return run_command(words).ok;
}

}  // namespace

std::string compile_program_kernels(const ProgramKernels& file) {
  static std::mutex mutex;
  static std::list<TemporaryFolder> folders;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const Target& target = *file.target;
  std::string key = target.text();
  for (const DType dtype : file.dtypes) key += fmt::format(" {}", name(dtype));
  if (const auto at = known.find(key); at != known.end()) return at->second;
  std::vector<ProgramKernel> kernels;
  for (const DType dtype : file.dtypes) kernels.push_back(kernel_of(target, dtype));
  const fs::path& folder = folders.emplace_back().path();
  const fs::path library = folder / "kernels.so";
  write_headers(folder);
  try {
    build_library(target, kernels, folder, library, has_threads(folder));
  } catch (const Error& e) {
    throw Error(fmt::format("{}: its kernels cannot be compiled: {}", target.text(), e.what()));
  }
  return known[key] = library;
}

}  // namespace mote
