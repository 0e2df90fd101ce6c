// SPDX-License-Identifier: Apache-2.0
#include "mote/oracle/plugin_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "indices.h"
#include "launcher_text.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/generated_by.h"
#include "mote/codegen/passes.h"

namespace mote {
namespace {

bool has_16_bits(const Uop& tensor) {
  return tensor.dtype() == DType::f16 || tensor.dtype() == DType::bf16;
}

/// Nobody means sums of 16 bits: where nothing is said, tensors of 16 bits are summed up in f32.
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

/// What the function takes for granted about inputs that are indices.
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

/// Declines what has gaps or permuted axes, then asks the thunk.
std::string row_major_check(const std::string& function) {
  return fmt::format(
      R"(static int is_row_major(const DLTensor *t) {{
  int64_t dense = 1;
  if (t == NULL || t->strides == NULL) return 1;
  for (int axis = t->ndim - 1; axis >= 0; --axis) {{
    if (t->shape[axis] != 1 && t->strides[axis] != dense) return 0;
    dense *= t->shape[axis];
  }}
  return 1;
}}

static mote_status can_run(const mote_call *call) {{
  int dense = 1;
  for (int32_t k = 0; k < call->input_count; ++k) dense = dense && is_row_major(call->inputs[k]);
  for (int32_t k = 0; k < call->output_count; ++k) dense = dense && is_row_major(call->outputs[k]);
  if (dense) return {0}_can_run(call);
  if (call->message != NULL && call->message_bytes > 0)
    snprintf(call->message, call->message_bytes, "{0}: takes row-major tensors only");
  return MOTE_UNSUPPORTED;
}}

)",
      function);
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
  EmitOptions how;
  how.function = options.function;
  std::string name = op.program->name;
  if (op.record != nullptr) {
    name = op.record->name;
    for (const InputDecl& input : op.record->inputs) how.call_inputs.push_back(input.name);
    for (const ParamDecl& param : op.record->params) how.call_params.push_back(param.name);
  }
  std::string text = fmt::format(
      "/* A plug-in around {}, {}.\n"
      " * Link it with the function. */\n"
      "#include <stdio.h>\n\n#include \"mote/base/thunk.h\"\n\n",
      options.function, kGeneratedByMote);
  std::string around = emit_c_around(compile(op.program), how);
  if (options.pointer) {
    const std::string prototype = "int " + options.function + "(";
    around.replace(around.find(prototype), prototype.size(), "int (*" + options.function + ")(");
  }
  text += around + "\n";
  if (options.row_major) text += row_major_check(options.function);
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
                                     .run = {0}_run}};
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
                    options.function, name, accumulator,
                    options.row_major ? "can_run" : options.function + "_can_run",
                    options.nondeterministic ? 0 : 1,
                    has_indices(*op.program) ? indices_member(options.indices) : "");
}

}  // namespace mote
