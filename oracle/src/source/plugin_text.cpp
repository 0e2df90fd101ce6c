// SPDX-License-Identifier: Apache-2.0
// Prints the plug-in: helpers, the prototype, thunks, the choice among them, the tables.
#include "mote/oracle/plugin_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "case/indices.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/generated_by.h"
#include "run/partial_calls.h"
#include "source/launcher_text.h"

namespace mote {
namespace {

bool has_16_bits(const Uop& tensor) { return is_narrow(tensor.dtype()); }

/// The default accumulator: tensors of 16 bits are summed in f32.
std::string_view usual_accumulator(const Program& program) {
  const auto stores_half = [](const Output& output) { return has_16_bits(output.value); };
  const bool has_half = std::ranges::any_of(program.inputs, has_16_bits) ||
                        std::ranges::any_of(program.outputs, stores_half);
  return has_half ? "f32" : "native";
}

const char* accumulator_of(std::string_view name) {
  if (name == "native") return "MOTE_ACC_NATIVE";
  if (name == "f32") return "MOTE_ACC_F32";
  if (name == "f64") return "MOTE_ACC_F64";
  throw Error(fmt::format("--accumulator: expected native, f32 or f64, got '{}'", name));
}

/// The contract's member `indices` as C.
std::string indices_member(int flags) {
  std::string value;
  if ((flags & MOTE_INDICES_VALID) != 0) value = "MOTE_INDICES_VALID";
  if ((flags & MOTE_INDICES_NOT_NEGATIVE) != 0)
    value += (value.empty() ? "" : " | ") + std::string("MOTE_INDICES_NOT_NEGATIVE");
  return ",\n"
         "                                         /* MOTE_INDICES_VALID: it is for indices within "
         "the\n"
         "                                          * axis; MOTE_INDICES_NOT_NEGATIVE: none is "
         "below\n"
         "                                          * 0; with | both; MOTE_INDICES_ANY: neither. "
         "*/\n"
         "                                         .indices = " +
         (value.empty() ? "MOTE_INDICES_ANY" : value);
}

std::string head_comment(const PluginOptions& options) {
  std::string text = fmt::format("/* A plug-in around {}, {}.\n * Link it with the function",
                                 options.function, kGeneratedByMote);
  if (options.commands.empty()) return text + ". */\n";
  text += ":\n *\n";
  for (std::string command : options.commands) {
    for (const std::string_view end : {"*/", "/*"})  // none may end or begin a comment
      for (auto at = command.find(end); at != std::string::npos; at = command.find(end))
        command.insert(at + 1, "\\");
    text += " *   " + command + "\n";
  }
  return text + " */\n";
}

/// A function that declines gaps and permuted axes, and then asks the thunk.
std::string row_major_check(const std::string& function, const std::string& can_run) {
  return fmt::format(
      R"(static int {0}_is_row_major(const DLTensor *t) {{
  int64_t dense = 1;
  if (t == NULL || t->strides == NULL) return 1;
  for (int axis = t->ndim - 1; axis >= 0; --axis) {{
    if (t->shape[axis] != 1 && t->strides[axis] != dense) return 0;
    dense *= t->shape[axis];
  }}
  return 1;
}}

static mote_status {0}_can_run_row_major(const mote_call *call) {{
  int dense = 1;
  for (int32_t k = 0; k < call->input_count; ++k)
    dense = dense && {0}_is_row_major(call->inputs[k]);
  for (int32_t k = 0; k < call->output_count; ++k)
    dense = dense && {0}_is_row_major(call->outputs[k]);
  if (dense) return {1}(call);
  if (call->message != NULL && call->message_bytes > 0)
    snprintf(call->message, call->message_bytes, "{0}: takes row-major tensors only");
  return MOTE_UNSUPPORTED;
}}

)",
      function, can_run);
}

/// The text that computes the bits of the optional inputs of a call, and selects a thunk.
std::string chosen_by_inputs(const Resolved& op, const std::vector<PartialCall>& calls,
                             const std::string& function) {
  const std::vector<InputDecl>& inputs = op.record->inputs;
  const std::vector<std::string> optional = optional_inputs(op, calls);
  TensorMask mask = 0;
  std::string bits;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (std::ranges::find(optional, inputs[k].name) == optional.end()) continue;
    mask |= mask_bit(k);
    bits +=
        fmt::format("  if (call->input_count > {0} && call->inputs[{0}] != NULL) given |= {1};\n",
                    k, fmt::format("UINT64_C({:#x})", mask_bit(k)));
  }
  std::string text = fmt::format(
      "/* The optional inputs that a call has. */\n"
      "static uint64_t {0}_given(const mote_call *call) {{\n"
      "  uint64_t given = 0;\n"
      "  if (call == NULL || call->size < sizeof(mote_call) || call->inputs == NULL) return "
      "given;\n"
      "{1}  return given;\n}}\n\n",
      function, bits);
  for (const bool runs : {false, true}) {
    const char* what = runs ? "run" : "can_run";
    text += fmt::format(
        "static mote_status {0}_chosen_{1}(const mote_call *call{2}) {{\n"
        "  switch ({0}_given(call)) {{\n",
        function, what, runs ? ", void *stream" : "");
    for (const PartialCall& c : calls)
      text += fmt::format("    case UINT64_C({:#x}): return {}_called_{}_{}(call{});\n",
                          c.inputs & mask, function, c.suffix, what, runs ? ", stream" : "");
    text += fmt::format("    default: return {}_{}(call{});\n  }}\n}}\n\n", function, what,
                        runs ? ", stream" : "");
  }
  return text;
}

/// The function's thunks: one for calls with all inputs, and one for each smaller choice.
struct Thunks {
  std::string text;
  std::string helpers;
  std::string prefix;  ///< the prefix of the names of the kernel's can_run and run
  bool has_optional;   ///< outputs
};

Thunks thunks_around(const Resolved& op, const PluginOptions& options) {
  const std::vector<PartialCall> calls = partial_calls(op, options.needs);
  const LoopProgram whole = loops_of(op);
  std::set<std::string> helpers;
  EmitOptions how;
  how.function = options.function;
  how.helpers = &helpers;
  if (op.record != nullptr) {
    for (const InputDecl& input : op.record->inputs) how.call_inputs.push_back(input.name);
    for (const ParamDecl& param : op.record->params) how.call_params.push_back(param.name);
  }
  for (const std::string& output : optional_outputs_of(op))
    if (std::ranges::find(options.needs, output) == options.needs.end())
      how.optional_outputs.push_back(output);
  how.nullable = how.optional_outputs;
  for (const std::string& input : optional_inputs(op, calls)) how.nullable.push_back(input);
  how.is_pointer = options.pointer;
  Thunks thunks{.text = emit_c_around(whole, how) + "\n",
                .helpers = {},
                .prefix = options.function,
                .has_optional = !how.optional_outputs.empty()};
  for (const PartialCall& call : calls) {
    EmitOptions own = how;
    own.function += "_called_" + call.suffix;
    thunks.text += emit_c_adapter({call.loops, own.function, call.outputs}, whole, how.function) +
                   "\n" + emit_c_thunk(call.loops, own) + "\n";
  }
  if (!calls.empty()) {
    thunks.text += chosen_by_inputs(op, calls, options.function);
    thunks.prefix += "_chosen";
  }
  thunks.helpers = emit_c_helpers(helpers);
  return thunks;
}

}  // namespace

bool is_c_name(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

std::string plugin_around(const Resolved& op, const PluginOptions& options) {
  if (!is_c_name(options.function))
    throw Error(
        fmt::format("--plugin: expected the name of a C function, got '{}'", options.function));
  if (options.gpu) {
    PluginOptions thunk = options;
    thunk.gpu = false;
    const Launcher launcher{op, thunk};
    return launcher_plugin(launcher) +
           fmt::format("\n#undef mote_plugin_init\n#undef {}\n\n", options.function) +
           launcher_table(options.function, {launcher}, LauncherMachine::gpu);
  }
  const char* accumulator = accumulator_of(
      options.accumulator.empty() ? usual_accumulator(*op.program) : options.accumulator);
  const std::string name = op.record != nullptr ? op.record->name : op.program->name;
  const Thunks thunks = thunks_around(op, options);
  std::string text = fmt::format(
      "{}#include <stdio.h>\n\n#include \"mote/base/thunk.h\"\n{}\n{}{}{}", head_comment(options),
      thunks.has_optional ? "#include \"mote/base/thunk_outputs.h\"\n" : "", thunks.helpers,
      thunks.helpers.empty() ? "" : "\n", thunks.text);
  std::string can_run = thunks.prefix + "_can_run";
  if (options.row_major) {
    text += row_major_check(options.function, can_run);
    can_run = options.function + "_can_run_row_major";
  }
  return text + fmt::format(
                    R"(MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin *plugin);
mote_status mote_plugin_init(mote_plugin *plugin) {{
  static const mote_contract contract = {{.size = sizeof(mote_contract),
                                         .accumulator = {2},
                                         .deterministic = {4},
                                         .form = "direct"{5}}};
  static const mote_kernel kernel = {{.size = sizeof(mote_kernel),
                                     .op = "{1}",
                                     .contract = &contract,
                                     .can_run = {3},
                                     .run = {6}_run}};
  static const mote_backend backend = {{.size = sizeof(mote_backend),
                                       .name = "{0}",
                                       .version = "",
                                       .kernel_count = 1,
                                       .kernels = &kernel}};
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}}
)",
                    options.function, name, accumulator, can_run, options.nondeterministic ? 0 : 1,
                    has_indices(*op.program) ? indices_member(options.indices) : "", thunks.prefix);
}

}  // namespace mote
