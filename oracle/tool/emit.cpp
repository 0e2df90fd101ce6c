// SPDX-License-Identifier: Apache-2.0
// Implements `mote emit`: the kernel of an op as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "commands.h"
#include "mote/base/error.h"
#include "mote/base/for_shell.h"
#include "mote/base/kernel.h"
#include "mote/base/variant_names.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/generated_by.h"
#include "mote/codegen/passes.h"
#include "mote/oracle/kernel_c.h"
#include "mote/oracle/plugin_text.h"
#include "mote/oracle/resolve.h"
#include "plugin_command.h"

namespace mote::tool {
namespace {

struct EmitArguments {
  std::string op;
  std::string language = "c";
  std::string dtype;
  std::string variant;  ///< empty: not given
  std::optional<std::string> steps;
  std::string loops;  ///< the file with them; empty: not given
  std::vector<std::string> without;
  std::string folder;
  bool standalone = false;
  int order = 0;  ///< the order of differentiation
  PluginOptions plugin;
  std::vector<std::string> indices;  ///< kinds in the plug-in's contract
  std::vector<std::string> sources;  ///< the files with the function that the plug-in calls
};

/// Returns the flags of mote_indices. Throws Error.
int flags_of(const std::vector<std::string>& kinds) {
  int flags = MOTE_INDICES_ANY;
  for (const std::string& kind : kinds) {
    const bool is_valid = kind == "valid";
    if (!is_valid && kind != "not_negative")
      throw Error(fmt::format("--indices: expected valid or not_negative, got '{}'", kind));
    flags |= is_valid ? MOTE_INDICES_VALID : MOTE_INDICES_NOT_NEGATIVE;
  }
  return flags;
}

/// Writes DIR/NAME.c, or .cu; makes DIR if it is missing.
std::filesystem::path write_file(const EmitArguments& options, const std::string& name,
                                 const std::string& text) {
  const std::string& folder = options.folder;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw Error(fmt::format("{}: cannot be made: {}", folder, failed.message()));
  std::filesystem::path path =
      std::filesystem::path(folder) / (name + (options.language == "cuda" ? ".cu" : ".c"));
  errno = 0;
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) {
    throw Error(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
  }
  return path;
}

std::string kernel_text(const Resolved& resolved, const EmitArguments& options) {
  const bool plain = options.variant.empty() || options.variant == kReference;
  if (options.language == "c") {
    KernelOptions how{.gen = !plain, .standalone = options.standalone};
    if (options.steps) how = {true, options.standalone, parse_steps(*options.steps)};
    if (!options.loops.empty()) {
      how.loops = loops_of_file(options.loops, resolved);
      how.gen = how.loops->native;
    }
    return kernel_c(resolved, how);
  }
  EmitOptions how;
  if (resolved.record != nullptr || resolved.other_dtype) how.function = kernel_function(resolved);
  how.standalone = options.standalone;
  const LoopProgram loops = compile(resolved.program);
  const CudaVariant variant = options.variant == "tf32" ? CudaVariant::tf32
                              : plain && !options.steps ? CudaVariant::reference
                                                        : CudaVariant::gen;
  const CudaProgram program =
      options.steps ? cuda_program_by(loops, parse_steps(*options.steps), variant, how)
                    : cuda_program(loops, variant, how);
  if (variant == CudaVariant::tf32 && !program.rounds_to_tf32())
    throw Error(options.op + no_tf32(options.steps.has_value()));
  return emit_cuda(program, options.standalone);
}

/// Throws Error for an unknown variant.
void check_variant(const EmitArguments& options) {
  std::vector<std::string_view> known = {kReference, kGen};
  if (options.language == "cuda") known = {kReference, kGen, "tf32"};
  if (!options.loops.empty() && options.language == "cuda")
    throw Error("--loops: only of C, got --lang cuda");
  if (!options.loops.empty() && !options.variant.empty())
    throw Error(
        fmt::format("--loops: the loops say their variant (gen: the line `native`), got "
                    "--variant {}",
                    options.variant));
  if (options.steps && options.variant == kReference)
    throw Error("--schedule: expected variant gen, got --variant reference");
  if (options.variant.empty() || std::ranges::find(known, options.variant) != known.end()) return;
  throw Error(fmt::format("unknown variant '{}' of {} (known: {})", options.variant,
                          options.language, fmt::join(known, ", ")));
}

/// The commands that compile and check the plug-in.
std::vector<std::string> plugin_commands(const Resolved& resolved, const EmitArguments& options) {
  const std::string& function = options.plugin.function;
  const std::filesystem::path folder(options.folder);
  PluginFiles files{.plugin = folder / (function + "_plugin.c"),
                    .sources = options.sources,
                    .library = folder / (function + ".so"),
                    .gpu = options.plugin.gpu};
  if (files.sources.empty()) files.sources = {function + ".c"};
  const std::string library =
      files.library.find('/') == std::string::npos ? "./" + files.library : files.library;
  std::vector<std::string> commands = {compile_command(files)};
  if (resolved.record == nullptr && options.order > 0) return commands;  // nothing checks that
  const std::string op = resolved.record != nullptr ? resolved.record->name : options.op;
  std::string check = fmt::format("mote check {} --plugin {}", for_shell(op), for_shell(library));
  if (resolved.instance) check += fmt::format(" --dtype {}", name(resolved.instance->dtype));
  if (resolved.other_dtype) check += fmt::format(" --dtype {}", name(*resolved.other_dtype));
  commands.push_back(check);
  return commands;
}

int emit_plugin(const Resolved& resolved, const EmitArguments& options) {
  if (options.language == "cuda") throw Error("--plugin: only of C, got --lang cuda");
  for (const auto& [word, given] : {std::pair("--schedule", options.steps.has_value()),
                                    std::pair("--loops", !options.loops.empty()),
                                    std::pair("--variant", !options.variant.empty()),
                                    std::pair("--standalone", options.standalone)})
    if (given) throw Error(fmt::format("--plugin: {} is of mote's kernel, not of your own", word));
  PluginOptions how = options.plugin;
  how.indices = flags_of(options.indices);
  if (is_c_name(how.function)) how.commands = plugin_commands(resolved, options);
  const std::string text = plugin_around(resolved, how);
  if (options.folder.empty()) {
    print(text);
    return 0;
  }
  print(write_file(options, how.function + "_plugin", text).string() + "\n");
  for (const std::string& command : how.commands) print(command + "\n");
  return 0;
}

int emit(const EmitArguments& options) {
  if (options.language != "c" && options.language != "cuda") {
    throw Error(fmt::format("unknown language '{}' (known: c, cuda)", options.language));
  }
  check_variant(options);
  std::optional<DType> dtype;
  if (!options.dtype.empty()) dtype = require_dtype(options.dtype);
  const Resolved resolved = resolve_without(options.op, dtype, options.without, options.order);
  if (!options.plugin.function.empty()) return emit_plugin(resolved, options);
  std::string text = kernel_text(resolved, options);
  if (!text.starts_with("/*")) text = generated_head("A kernel") + text;
  if (options.folder.empty()) {
    print(text);
  } else {
    print(write_file(options, instance_name(resolved), text).string() + "\n");
  }
  return 0;
}

}  // namespace

std::string no_tf32(bool by_steps) {
  return by_steps ? ": these steps make no tile of f32 products (block_tile does)"
                  : ": no product of it is one of tf32 (--variant gen has all kernels)";
}

void add_emit(CLI::App& app, Action& action) {
  const auto options = std::make_shared<EmitArguments>();
  CLI::App* command = app.add_subcommand("emit", "print an op's reference kernel as source text");
  command->add_option("OP", options->op, "an op (`mote ops` lists them), a .mote file, or -")
      ->required()
      ->type_name("");
  command->add_option("--lang", options->language, "of the text; default c")->type_name("c|cuda");
  command->add_option("--dtype", options->dtype, "element type; default f32")->type_name("DTYPE");
  command
      ->add_option(
          "--variant", options->variant,
          "reference: reals in double, in order; gen: in their own dtype, scheduled; of CUDA tf32: "
          "f32 rounded to 11 bits before it is multiplied")
      ->transform([](const std::string& name) { return std::string(current_name(name)); })
      ->type_name("reference|gen|tf32");
  CLI::Option* steps = command->add_option(
      "--schedule", options->steps,
      "steps on the loops, of variant gen (of CUDA tf32 too), as `mote explain OP --stage "
      "schedule` prints them: 'split n 64, threads n_start', of CUDA 'grid r c, row_vectors r'");
  steps->type_name("STEPS");
  command
      ->add_option(
          "--loops", options->loops,
          "the kernel of these loops, as `mote explain OP --stage fused` or one version of "
          "`--stage schedule` prints them; - is standard input")
      ->type_name("FILE")
      ->excludes(steps);
  add_list(*command, "--without", options->without, "INPUT", "leave an optional input out")
      ->delimiter(',');
  add_grad(*command, options->order);
  command->add_flag("--standalone", options->standalone, "one file that compiles alone");
  CLI::Option* plugin = command->add_option(
      "--plugin", options->plugin.function,
      "a plug-in around your own function of the kernel's signature, instead of the kernel");
  plugin->type_name("FUNCTION");
  command
      ->add_option(
          "--accumulator", options->plugin.accumulator,
          "of that function's sums; native: the inputs' type; default f32 for tensors of 16 "
          "bits, else native")
      ->type_name("native|f32|f64")
      ->needs(plugin);
  add_list(*command, "--needs", options->plugin.needs, "TENSOR",
           "an optional input or output that that function cannot do without; for others that a "
           "call lacks it gets NULL")
      ->delimiter(',')
      ->needs(plugin);
  command
      ->add_flag("--row-major", options->plugin.row_major,
                 "that function takes tensors without gaps only")
      ->needs(plugin);
  command
      ->add_flag("--nondeterministic", options->plugin.nondeterministic,
                 "equal calls of that function need not give equal bits")
      ->needs(plugin);
  add_list(*command, "--indices", options->indices, "KIND",
           "that function is for such indices only: valid (within the axis), not_negative")
      ->delimiter(',')
      ->needs(plugin);
  command
      ->add_flag(
          "--gpu", options->plugin.gpu,
          "that function takes pointers of a GPU and, behind the rest, a cudaStream_t; link it "
          "with lib/mote/cuda_launcher.so")
      ->needs(plugin);
  add_list(*command, "--source", options->sources, "FILE",
           "what that function stands in, for the command that is printed; default FUNCTION.c")
      ->needs(plugin);
  command
      ->add_option("-o", options->folder,
                   "write DIR/NAME.c and print its path; of a plug-in DIR/FUNCTION_plugin.c, and "
                   "the commands that compile and check it")
      ->type_name("DIR");
  command->callback([options, &action] { action = [options] { return emit(*options); }; });
}

}  // namespace mote::tool
