// SPDX-License-Identifier: Apache-2.0
// The catalogue's kernels as C. A kernel has two variants behind one thunk: reference, and gen,
// which is compiled once for each level of instruction sets. A kernel that returns random numbers
// has the reference alone, as has one of integers that cannot run in vectors.
#include "kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "generate.h"
#include "mote/base/error.h"
#include "mote/base/variant_names.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/generated_by.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/codegen/variants.h"
#include "mote/macroops/output_mask.h"
#include "mote/uops/shared_proofs.h"

namespace mote {
namespace {

Part part_of(const Kernel& k) {
  return gradient_order(*k.record) > 0 ? Part::gradients : Part::ops;
}

/// True if the gen variant is compiled as a whole for one level only, to limit the build time and
/// the library's size: gradients, and other dtypes than f32.
bool has_one_level(const Kernel& k) {
  return part_of(k) == Part::gradients || k.instance.dtype != DType::f32;
}

/// Returns the levels of x86-64 that a kernel is compiled for, each with the function that runs
/// from there on; every machine of the build's architecture has level 0. 512-bit vectors are worth
/// their build time for f32 and for products of bytes. Below the one level of a kernel, the
/// reference runs.
std::vector<std::pair<int, std::string>> levels(const Kernel& k) {
  const std::string gen = k.gen_function();
  if (!k.wide.empty()) return {{4, gen + "_v4"}, {3, gen + "_v3"}, {0, k.function}};
  if (has_one_level(k)) return {{3, gen + "_v3"}, {0, k.function}};
  return {{4, gen + "_v4"}, {3, gen + "_v3"}, {0, gen + "_v0"}};
}

/// Returns the preprocessor condition under which the kernel is compiled in its shard; empty:
/// always.
std::string where_compiled(const Kernel& k) {
  return has_one_level(k) ? "MOTE_LEVEL_NUMBER == 3" : "";
}

/// Returns the versions of a gradient of f32, or of integers, that have 64-byte vectors or that add
/// up partial sums of rows, which stay in the cache: those are compiled for level 4 too, and call
/// the function for level 3 in all other cases. Empty if there is none.
std::string wide_versions(const Kernel& k, Schedule s, EmitOptions options) {
  const bool is_first_gradient = gradient_order(*k.record) == 1 && k.instance.dtype == DType::f32;
  if (!is_first_gradient && !is_integer(k.instance.dtype)) return "";
  const auto is_partial = [](const TakenStep& t) { return t.step.kind == StepKind::partial; };
  const auto is_narrower = [&](const Version& v) {
    return v.program.vector_bytes != 64 && std::ranges::none_of(v.steps, is_partial);
  };
  Version last = std::move(s.versions.back());
  s.versions.pop_back();
  std::erase_if(s.versions, is_narrower);
  if (s.versions.empty()) return "";
  s.versions.push_back(std::move(last));
  options.otherwise = k.gen_function() + "_v3";
  return emit_c(s, options);
}

void fill_in(EmitOptions& options, const Kernel& k) {
  for (const InputDecl& input : k.record->inputs) options.call_inputs.push_back(input.name);
  for (const ParamDecl& param : k.record->params) options.call_params.push_back(param.name);
  options.optional_outputs = k.record->optional_outputs;
}

/// Returns the name of the contract of the kernel's variant.
std::string contract_of(const Kernel& k, std::string_view variant) {
  if (variant != kGen || k.gen.empty()) return "reference";
  const DType dtype = is_narrow(k.instance.dtype) ? DType::f16
                      : is_real(k.instance.dtype) ? k.instance.dtype
                                                  : DType::f32;  // sums of integers are exact
  return fmt::format("gen_{}{}", name(dtype), may_multiply_padding(*k.record) ? "_padded" : "");
}

/// Returns the contracts of these names. Sums of 16-bit reals are kept in float.
std::string contracts_text(const std::set<std::string>& contracts) {
  std::string out = gen_accuracy_c();
  const auto add = [&](const std::string& contract, const std::string& text) {
    if (contracts.contains(contract)) out += text;
  };
  add("reference", reference_contract_c("reference"));
  add("gen_f32", gen_contract_c("gen_f32", DType::f32));
  add("gen_f16", gen_contract_c("gen_f16", DType::f16));
  add("gen_f64", gen_contract_c("gen_f64", DType::f64));
  add("gen_f32_padded", gen_contract_c("gen_f32_padded", DType::f32, true));
  add("gen_f16_padded", gen_contract_c("gen_f16_padded", DType::f16, true));
  add("gen_f64_padded", gen_contract_c("gen_f64_padded", DType::f64, true));
  return out + "\n";
}

std::string row(const Kernel& k, std::string_view variant) {
  const bool gen = variant == kGen && !k.gen.empty();
  return fmt::format(
      "    {{\"{0}\", \"{1}\", \"{2}\", {3:#x}u, {4:#x}u, {5:#x}u,\n"
      "     {{sizeof(mote_kernel), \"{0}\", &{6}, {7}_can_run, NULL, {8}_run, "
      "{8}_run_checked}}}},\n",
      k.record->name, variant, name(k.instance.dtype), k.instance.input_mask, k.read_mask,
      k.output_mask, contract_of(k, variant), k.function, gen ? k.gen_function() : k.function);
}

}  // namespace

void emit_kernel(Kernel& k) {
  const SharedProofs proofs;
  const LoopProgram loops =
      compile_for_calls(instantiate(*k.record, k.instance), k.record->optional_outputs);
  EmitOptions options;
  options.function = k.function;
  options.thunk = true;
  fill_in(options, k);
  if (const auto s = gen_schedule(loops, k.instance.dtype,
                                  {.may_multiply_padding = may_multiply_padding(*k.record)})) {
    options.gen = k.gen_function();
    std::set<std::string> calls;
    EmitOptions gen;
    gen.function = options.gen;
    gen.optional_outputs = options.optional_outputs;
    gen.helpers = &calls;
    k.gen = emit_c(*s, gen);
    k.wide = wide_versions(k, *s, gen);
    for (std::string* text : {&k.gen, &k.wide})
      if (!text->empty()) text->insert(0, emit_c_rare_helpers(calls));
    k.dispatch = emit_c_dispatch(loops, gen, levels(k), k.gen_function() + "_v0");
    k.text = emit_c_prototype(loops, gen);
  }
  k.text += emit_c(loops, options);
}

std::string made_from(Kernel& k) {
  k.read_mask = read_mask(*k.record, k.instance);
  k.output_mask = output_mask(*k.record, k.instance);
  return made_from(k.function, *k.record, *instantiate(*k.record, k.instance));
}

std::vector<std::string*> texts(Kernel& k) { return {&k.text, &k.gen, &k.wide, &k.dispatch}; }

std::string helpers_text() {
  return generated_head("Helpers of the generated kernels") +
         "#ifndef MOTE_HELPERS_H\n#define MOTE_HELPERS_H\n\n" + emit_c_includes() +
         "\n#include \"mote/base/thunk.h\"\n\n" + emit_c_prelude() + "\n#endif\n";
}

std::string gen_helpers_text() {
  return "/* Helpers of the gen kernels, " + kGeneratedByMote +
         ". Each\n"
         " * file is compiled for several levels of instruction sets: MOTE_LEVEL is what the names "
         "of\n"
         " * its functions end with, MOTE_LEVEL_NUMBER the level. */\n"
         "#ifndef MOTE_GEN_HELPERS_H\n#define MOTE_GEN_HELPERS_H\n\n" +
         emit_c_gen_includes() +
         "\n#define MOTE_JOINED(name, level) name##level\n"
         "#define MOTE_JOIN(name, level) MOTE_JOINED(name, level)\n"
         "#define MOTE_GEN(name) MOTE_JOIN(name, MOTE_LEVEL)\n\n" +
         emit_c_gen_prelude() + "\n#endif\n";
}

std::string shard_text(const std::vector<Kernel>& kernels, Part part, int shard, int shards) {
  std::string out;
  bool has_optional = false;  // outputs
  for (const Kernel& k : kernels) {
    if (part_of(k) != part || shard_of(*k.record, shards) != shard) continue;
    out += "\n" + k.text;
    has_optional = has_optional || !k.record->optional_outputs.empty();
  }
  return generated_head("Kernels") + "#include \"mote_helpers.h\"\n" +
         (has_optional ? "#include \"mote/base/thunk_outputs.h\"\n" : "") + out;
}

std::string gen_shard_text(const std::vector<Kernel>& kernels, Part part, int shard, int shards) {
  std::string out = generated_head("Gen kernels") + "#include \"mote_gen_helpers.h\"\n";
  for (const Kernel& k : kernels) {
    if (k.gen.empty() || part_of(k) != part || shard_of(*k.record, shards) != shard) continue;
    const std::string condition = where_compiled(k);
    out += fmt::format("\n#define {0} MOTE_GEN({0})\n", k.gen_function());
    out += condition.empty() ? k.gen : fmt::format("#if {}\n{}#endif\n", condition, k.gen);
    if (!k.wide.empty()) out += fmt::format("#if MOTE_LEVEL_NUMBER == 4\n{}#endif\n", k.wide);
  }
  return out;
}

std::string dispatch_text(const std::vector<Kernel>& kernels) {
  std::string out = generated_head("Which compilation of a gen kernel this machine can run") +
                    "#include <stdint.h>\n\n#include \"mote/generated/level.h\"\n";
  for (const Kernel& k : kernels)
    if (!k.gen.empty()) out += "\n" + k.dispatch;
  return out;
}

std::string registry_text(const std::vector<Kernel>& kernels, const std::string& table) {
  std::string out = generated_head("The registry of the generated kernels") +
                    "#include \"mote/base/registry.h\"\n\n";
  std::string rows;
  std::set<std::string> contracts;
  for (std::size_t first = 0; first < kernels.size();) {
    std::size_t end = first;
    while (end < kernels.size() && kernels[end].record == kernels[first].record) ++end;
    for (const std::string_view variant : {kGen, kReference})
      for (std::size_t k = first; k < end; ++k) {
        rows += row(kernels[k], variant);
        contracts.insert(contract_of(kernels[k], variant));
      }
    first = end;
  }
  out += contracts_text(contracts);
  for (const Kernel& k : kernels) {
    constexpr const char* kRuns =
        "mote_status {0}_run(const mote_call *call, void *stream);\n"
        "mote_status {0}_run_checked(const mote_call *call, void *stream);\n";
    out += fmt::format("mote_status {0}_can_run(const mote_call *call);\n", k.function) +
           fmt::format(kRuns, k.function);
    if (!k.gen.empty()) out += fmt::format(kRuns, k.gen_function());
  }
  return out + fmt::format(
                   "\nextern const mote_generated_kernel {0}s[];\n"
                   "extern const int32_t {0}_count;\n"
                   "const mote_generated_kernel {0}s[] = {{\n{1}}};\n"
                   "const int32_t {0}_count = {2};\n",
                   table, rows, 2 * kernels.size());
}

}  // namespace mote
