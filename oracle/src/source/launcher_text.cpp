// SPDX-License-Identifier: Apache-2.0
#include "source/launcher_text.h"

#include <fmt/format.h>

#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"

namespace mote {
namespace {

constexpr const char* kShimCalls =
    "mote_status mote_host_run(mote_status (*run)(const mote_call*, void*), const mote_call*,\n"
    "                          int compares_orders);\n"
    "int mote_host_returned(int status);\n\n";
constexpr const char* kGpuCalls =
    "mote_status mote_gpu_can_run(mote_status (*can_run)(const mote_call*), const mote_call*);\n"
    "mote_status mote_gpu_run(const char* function, mote_status (*run)(const mote_call*, void*),\n"
    "                         const mote_call*, void* stream);\n"
    "void* mote_gpu_stream(void);\n"
    "int mote_gpu_returned(int status);\n\n";

/// The function with the stream argument, and its kernel's functions on the machine.
std::string adapter(const Launcher& launcher, LauncherMachine machine) {
  const std::string& f = launcher.options.function;
  const bool on_gpu = machine == LauncherMachine::gpu;
  std::string declarations, arguments;
  const std::vector<std::string> types = argument_types(launcher);
  for (std::size_t k = 0; k < types.size(); ++k) {
    declarations += fmt::format("{}{} a{}", k > 0 ? ", " : "", types[k], k);
    arguments += fmt::format("a{}, ", k);
  }
  const std::string text = fmt::format(
      "int {0}({1}, void* stream);\n"
      "int {0}_of_call({1});\n"
      "int {0}_of_call({1}) {{ return mote_{3}_returned({0}({2}{4})); }}\n"
      "mote_status {0}_plugin(mote_plugin* plugin);\n"
      "static mote_kernel {0}_kernel;\n",
      f, declarations, arguments, on_gpu ? "gpu" : "host", on_gpu ? "mote_gpu_stream()" : "NULL");
  if (on_gpu)
    return text + fmt::format(
                      "static mote_status {0}_can_run_there(const mote_call* call) {{\n"
                      "  return mote_gpu_can_run({0}_kernel.can_run, call);\n"
                      "}}\n"
                      "static mote_status {0}_run_there(const mote_call* call, void* stream) {{\n"
                      "  return mote_gpu_run(\"{0}\", {0}_kernel.run, call, stream);\n"
                      "}}\n\n",
                      f);
  return text + fmt::format(
                    "static mote_status {0}_run_there(const mote_call* call, void* stream) {{\n"
                    "  (void)stream;\n"
                    "  return mote_host_run({0}_kernel.run, call, {1});\n"
                    "}}\n\n",
                    f, launcher.options.nondeterministic ? 0 : 1);
}

}  // namespace

std::vector<std::string> argument_types(const Launcher& launcher) {
  return c_argument_types(compile(launcher.op.program));
}

std::string launcher_plugin(const Launcher& launcher) {
  const std::string& f = launcher.options.function;
  return fmt::format("#define mote_plugin_init {0}_plugin\n#define {0} {0}_of_call\n", f) +
         plugin_around(launcher.op, launcher.options);
}

std::string launcher_table(const std::string& backend, const std::vector<Launcher>& all,
                           LauncherMachine machine) {
  const bool on_gpu = machine == LauncherMachine::gpu;
  std::string out =
      std::string("#include \"mote/base/kernel.h\"\n\n") + (on_gpu ? kGpuCalls : kShimCalls);
  std::string fill;
  for (std::size_t k = 0; k < all.size(); ++k) {
    out += adapter(all[k], machine);
    fill += fmt::format(
        "  {0}_plugin(&one);\n"
        "  {0}_kernel = kernels[{1}] = one.backends->kernels[0];\n"
        "{2}"
        "  kernels[{1}].run = {0}_run_there;\n"
        "  kernels[{1}].run_checked = NULL;\n",
        all[k].options.function, k,
        on_gpu ? fmt::format("  kernels[{1}].can_run = {0}_can_run_there;\n",
                             all[k].options.function, k)
               : "");
  }
  return out + fmt::format(R"(mote_status mote_plugin_init(mote_plugin* plugin) {{
  static mote_kernel kernels[{0}];
  static mote_backend backend = {{.size = sizeof(mote_backend),
                                 .name = "{1}",
                                 .version = "{3}",
                                 .kernel_count = {0},
                                 .kernels = kernels}};
  mote_plugin one = {{.size = sizeof(mote_plugin), .abi_version = MOTE_ABI_VERSION}};
{2}  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}}
)",
                           all.size(), backend, fill,
                           on_gpu ? "on a GPU" : "on the CPU, by the shim");
}

}  // namespace mote
