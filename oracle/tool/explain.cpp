// SPDX-License-Identifier: Apache-2.0
// Implements `mote explain`: an op at each stage of the compiler, as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "commands.h"
#include "mote/base/error.h"
#include "mote/base/variant_names.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"
#include "mote/oracle/backends.h"
#include "mote/oracle/contract.h"
#include "mote/oracle/kernel_c.h"
#include "mote/oracle/resolve.h"
#include "mote/oracle/target.h"
#include "mote/uops/bound.h"
#include "mote/uops/element_type.h"
#include "ops_text.h"
#include "requirements.h"

namespace mote::tool {
namespace {

struct ExplainArguments {
  std::string op;
  std::string dtype;
  std::string stage;
  std::string language = "c";
  std::string variant = "gen";
  std::string form;
  std::string backend;
  std::vector<std::string> plugins;
  std::vector<std::string> without;
  std::optional<std::string> steps;
  bool passes = false;
  int order = 0;  ///< the order of differentiation
};

constexpr std::array<std::string_view, 8> kStages = {"uops",     "loops", "fused",       "c",
                                                     "schedule", "bound", "bound-loops", "bound-c"};

void check_stage(const std::string& stage) {
  if (stage.empty() || std::ranges::find(kStages, stage) != kStages.end()) return;
  throw Error(fmt::format("unknown stage '{}' (known: {})", stage, fmt::join(kStages, ", ")));
}

/// Prints stages, with headings if there are several.
class Printer {
 public:
  explicit Printer(bool headings) : headings_(headings) {}
  void operator()(std::string_view title, const std::string& text) {
    if (headings_) print(fmt::format("{}---- {} ----\n", first_ ? "" : "\n", title));
    first_ = false;
    print(text);
    if (!text.ends_with('\n')) print("\n");
  }

 private:
  bool headings_;
  bool first_ = true;
};

Resolved resolve(const ExplainArguments& options) {
  std::optional<DType> dtype;
  if (!options.dtype.empty()) dtype = require_dtype(options.dtype);
  Resolved resolved = resolve_without(options.op, dtype, options.without, options.order);
  if (options.form.empty()) return resolved;
  if (resolved.record == nullptr) throw Error(options.op + ": a program file has no forms");
  resolved.program = instantiate(*resolved.record, *resolved.instance, options.form);
  return resolved;
}

int explain_passes(const ExplainArguments& options) {
  Printer show(true);
  compile(resolve(options).program, [&](const char* stage, const LoopProgram& p) {
    show(fmt::format("after {}", stage), to_string(p));
  });
  return 0;
}

/// Shows the program of the error bound as uops, fused loops or C.
void explain_bound(const Resolved& resolved, const Program& body, const Contract& contract,
                   const std::string& stage, Printer& show) {
  const auto bounds = std::make_shared<const Program>(bound(body, contract));
  if (stage == "bound") return show(stage, to_string(*bounds));
  const LoopProgram fused = compile(bounds);
  EmitOptions how;
  how.function = "mote_bound_" + instance_name(resolved);
  show(stage, stage == "bound-c" ? emit_c(fused, how) : to_string(fused));
}

/// Shows each distinct contract of the backend's kernels for the op, and its error bound.
void explain_contracts(const ExplainArguments& options, const Resolved& resolved,
                       const mote_backend& backend, Printer& show) {
  const std::string& op = resolved.program->name;
  const DType dtype = resolved.instance ? resolved.instance->dtype
                                        : resolved.program->outputs.front().value.dtype();
  std::set<std::string> shown;
  for (std::int32_t k = 0; k < backend.kernel_count; ++k) {
    const mote_kernel& kernel = kernel_at(backend, k);
    if (kernel.op != op) continue;
    const std::string_view form = form_of(kernel.contract);
    const auto body = form == kDirect || resolved.record == nullptr
                          ? resolved.program
                          : instantiate(*resolved.record, *resolved.instance, form);
    const std::string text = contract_text(kernel.contract, dtype, *body);
    if (!shown.insert(text).second) continue;
    show(std::string("contract of ") + backend.name, text);
    explain_bound(resolved, *body, contract_of(kernel.contract, dtype), options.stage, show);
  }
  if (shown.empty())
    throw Error(fmt::format("{}: backend {} has no kernel for it", op, backend.name));
}

/// Explains the error bounds of the named backend, or of the backends of the libraries.
int explain_backends(const ExplainArguments& options, const Resolved& resolved) {
  if (!options.stage.starts_with("bound"))
    throw Error(fmt::format("explain: {} goes with --stage bound, bound-loops or bound-c",
                            options.backend.empty() ? "--plugin" : "--backend"));
  Backends backends = find_backends(split_paths(options.plugins));
  std::vector<std::string> names;
  if (!options.backend.empty()) names = {options.backend};
  const bool is_file = resolved.record == nullptr && options.order == 0;
  if (is_file && wants_program_kernels(backends, names))
    add_program_kernels(backends, {{find_target(options.op), {element_type(*resolved.program)}}});
  Selection selection = select_backends(backends, names);
  if (!selection.absent.empty()) {
    fmt::print(stderr, "mote: {}\n", absence(backends, options.backend));
    return kNoBackend;
  }
  std::erase_if(selection.chosen, [&](const BackendEntry& e) {
    return is_file && e.plugin.empty() && !has_kernel(e, *find_target(options.op));
  });
  if (selection.chosen.empty())
    throw Error(fmt::format("{}: backend {} has no kernel for it{}", options.op, options.backend,
                            backends.problems.empty() ? "" : ": " + backends.problems.back()));
  Printer show(true);
  for (const BackendEntry& e : selection.chosen)
    explain_contracts(options, resolved, *e.backend, show);
  return 0;
}

void check_language(const ExplainArguments& options) {
  if (options.variant != "gen" && options.variant != "tf32")
    throw Error(fmt::format("unknown variant '{}' (known: gen, tf32)", options.variant));
  if (options.language == "c") {
    if (options.variant == "tf32") throw Error("explain: --variant tf32 goes with --lang cuda");
    return;
  }
  if (options.language != "cuda")
    throw Error(fmt::format("unknown language '{}' (known: c, cuda)", options.language));
  if (options.stage != "schedule") throw Error("explain: --lang cuda goes with --stage schedule");
}

/// Returns the versions in C, or the kernels in CUDA, by the steps if there are some.
std::string schedule_text(const ExplainArguments& options, const Resolved& resolved,
                          const LoopProgram& fused, const EmitOptions& how) {
  std::optional<std::vector<Step>> steps;
  if (options.steps) steps = parse_steps(*options.steps);
  if (options.language != "cuda") return to_string(kernel_schedule(resolved, steps));
  const bool is_tf32 = options.variant == "tf32";
  const CudaVariant variant = is_tf32 ? CudaVariant::tf32 : CudaVariant::gen;
  const CudaProgram program =
      steps ? cuda_program_by(fused, *steps, variant, how) : cuda_program(fused, variant, how);
  if (is_tf32 && !program.rounds_to_tf32()) throw Error(options.op + no_tf32(steps.has_value()));
  return loops_text(program);
}

int explain_stages(const ExplainArguments& options) {
  check_stage(options.stage);
  check_language(options);
  if (options.steps && options.stage != "schedule")
    throw Error("explain: --schedule goes with --stage schedule");
  const Resolved resolved = resolve(options);
  if (!options.backend.empty() || !options.plugins.empty())
    return explain_backends(options, resolved);
  const auto wanted = [&](std::string_view stage) {
    return options.stage.empty() || options.stage == stage;
  };
  Printer show(options.stage.empty());
  if (options.order > 0 && options.stage.empty()) show("needs", needs_text(*resolved.program));
  if (wanted("uops")) show("uops", to_string(*resolved.program));
  if (options.stage == "uops") return 0;
  if (options.stage.starts_with("bound")) {
    explain_bound(resolved, *resolved.program, {}, options.stage, show);
    return 0;
  }
  bool lowered = false;
  const LoopProgram fused = compile(resolved.program, [&](const char*, const LoopProgram& p) {
    if (!lowered && wanted("loops")) show("loops", to_string(p));
    lowered = true;
  });
  if (wanted("fused")) show("fused", to_string(fused));
  EmitOptions how;
  how.function = "mote_" + instance_name(resolved);
  if (wanted("c")) show("c", emit_c(fused, how));
  if (!wanted("schedule")) return 0;
  show("schedule", schedule_text(options, resolved, fused, how));
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand("explain", "show an op at each stage of the compiler");
  command->add_option("OP", options->op, "an op (`mote ops` lists them), a .mote file, or -")
      ->required()
      ->type_name("");
  CLI::Option* stage =
      command
          ->add_option("--stage", options->stage, "one of them; default all but those of the bound")
          ->type_name("uops|loops|fused|c|schedule|bound|bound-loops|bound-c");
  command->add_option("--dtype", options->dtype, "element type; default f32")->type_name("DTYPE");
  command
      ->add_option("--lang", options->language,
                   "with --stage schedule: the versions in C, or the CUDA kernels; default c")
      ->type_name("c|cuda");
  command
      ->add_option("--schedule", options->steps,
                   "with --stage schedule: the loops by these steps, as `mote emit` takes them")
      ->type_name("STEPS");
  command
      ->add_option("--variant", options->variant,
                   "with --lang cuda: of f32 rounded to 11 bits before it is multiplied, or not; "
                   "default gen")
      ->transform([](const std::string& name) { return std::string(current_name(name)); })
      ->type_name("gen|tf32");
  CLI::Option* form =
      command
          ->add_option("--form", options->form, "another formula of the op, as contracts name it")
          ->type_name("FORM");
  command
      ->add_option("--backend", options->backend,
                   "with --stage bound…: by the contract of its kernel, which is shown too")
      ->type_name("BACKEND")
      ->excludes(form)
      ->needs(stage);
  add_list(*command, "--plugin", options->plugins, "LIB.so|FILE.cu",
           "a library that has the backend; without --backend: all of its own")
      ->excludes(form);
  add_list(*command, "--without", options->without, "INPUT", "leave an optional input out")
      ->delimiter(',');
  add_grad(*command, options->order);
  command->add_flag("--passes", options->passes, "the loops after each pass that changed them")
      ->excludes(stage);
  command->callback([options, &action] {
    action = [options] {
      return options->passes ? explain_passes(*options) : explain_stages(*options);
    };
  });
}

}  // namespace mote::tool
