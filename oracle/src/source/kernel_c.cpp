// SPDX-License-Identifier: Apache-2.0
// Prints prototypes of the partial kernels, the whole one, which chooses among them, and then the
// partial ones.
#include "mote/oracle/kernel_c.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "mote/base/error.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "run/partial_calls.h"

namespace mote {
namespace {

ScheduleOptions schedule_options(const Resolved& op) {
  return {.may_multiply_padding = op.record != nullptr && may_multiply_padding(*op.record)};
}

std::string text_of(const LoopProgram& loops, const Resolved& op, const EmitOptions& how,
                    bool gen) {
  return gen ? emit_c(schedule(loops, schedule_options(op)), how) : emit_c(loops, how);
}

/// Returns the schedule by the steps. Throws Error for vectors that no step uses.
Schedule schedule_of(const LoopProgram& loops, const std::vector<Step>& steps, const Resolved& op) {
  Schedule s = schedule_by(loops, steps, schedule_options(op));
  const auto vectors = std::ranges::find(steps, StepKind::vectors, &Step::kind);
  if (vectors != steps.end() && s.versions.front().program.vector_bytes == 0)
    throw Error(
        fmt::format("{}: step '{}' does nothing: no step behind it makes tiles in registers "
                    "or squares of vectors",
                    loops.name, to_string(*vectors)));
  return s;
}

/// Returns the kernel of these loops. If they rely on strides or demands, those of the op are for
/// all other calls.
std::string text_by(const LoopProgram& loops, const Resolved& op, const EmitOptions& how) {
  if (!loops.native) return emit_c(loops, how);
  Schedule s{{Version{"by_hand", {}, loops}}};
  if (loops.strides.empty() && loops.demands.empty()) {
    s.versions.front().name = "";
  } else {
    s.versions.push_back(schedule_by(loops_of(op), {}, schedule_options(op)).versions.back());
  }
  return emit_c(s, how);
}

}  // namespace

Schedule kernel_schedule(const Resolved& op, const std::optional<std::vector<Step>>& steps) {
  return steps ? schedule_of(loops_of(op), *steps, op)
               : schedule(loops_of(op), schedule_options(op));
}

std::string kernel_function(const Resolved& op) { return "mote_" + instance_name(op); }

std::string kernel_c(const Resolved& op, const KernelOptions& options) {
  const LoopProgram whole = loops_of(op);
  std::set<std::string> called;
  EmitOptions how;
  how.helpers = &called;
  if (op.record != nullptr || op.other_dtype) how.function = kernel_function(op);
  how.optional_outputs = how.nullable = optional_outputs_of(op);
  const std::vector<PartialCall> calls = partial_calls(op, {});
  std::string prototypes, parts;
  for (const PartialCall& call : calls) {
    EmitOptions own = how;
    own.opening = "";
    own.function += "_" + call.suffix;
    prototypes += emit_c_prototype(call.loops, own);
    parts += "\n" + text_of(call.loops, op, own, options.gen);
    how.opening += emit_c_choice(whole, {call.loops, own.function, call.outputs});
  }
  for (const std::string& input : optional_inputs(op, calls)) how.nullable.push_back(input);
  const std::string own = options.loops   ? text_by(*options.loops, op, how)
                          : options.steps ? emit_c(schedule_of(whole, *options.steps, op), how)
                                          : text_of(whole, op, how, options.gen);
  const std::string text = prototypes + (prototypes.empty() ? "" : "\n") + own + parts;
  if (!options.standalone) return text;
  const std::string helpers = emit_c_helpers(called);
  return (options.gen ? emit_c_gen_includes() : emit_c_includes()) + "\n" + helpers +
         (helpers.empty() ? "" : "\n") + text;
}

}  // namespace mote
