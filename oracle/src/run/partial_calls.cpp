// SPDX-License-Identifier: Apache-2.0
// Makes the smaller instances of a record, with the names of their outputs in the whole op.
#include "run/partial_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "mote/base/error.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/macroops/output_mask.h"

namespace mote {
namespace {

/// The mask of the needed inputs.
TensorMask mask_of(const Resolved& op, const std::vector<std::string>& needed) {
  const OpRecord& record = *op.record;
  TensorMask mask = 0;
  std::vector<std::string> known = optional_outputs_of(op);
  for (std::size_t k = 0; k < record.inputs.size(); ++k)
    if (record.inputs[k].optional && is_in(op.instance->input_mask, k))
      known.push_back(record.inputs[k].name);
  for (const std::string& name : needed) {
    if (std::ranges::find(known, name) == known.end())
      throw Error(fmt::format("--needs: {} has no optional input or output '{}' (known: {})",
                              record.name, name,
                              known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    const auto at = std::ranges::find(record.inputs, name, &InputDecl::name);
    if (at != record.inputs.end())
      mask |= mask_bit(static_cast<std::size_t>(at - record.inputs.begin()));
  }
  return mask;
}

std::string suffix_of(const Resolved& op, TensorMask inputs) {
  std::string text = "without";
  for (std::size_t k = 0; k < op.record->inputs.size(); ++k)
    if (is_in(op.instance->input_mask & ~inputs, k)) text += "_" + op.record->inputs[k].name;
  return text;
}

/// The positions of the instance's outputs among all outputs of the record.
std::vector<std::size_t> outputs_of(const OpRecord& record, const Instance& instance) {
  std::vector<std::size_t> positions;
  const TensorMask mask = output_mask(record, instance);
  for (std::size_t k = 0; k < kMaxMasked; ++k)
    if (is_in(mask, k)) positions.push_back(k);
  return positions;
}

PartialCall partial_call(const Resolved& op, const Instance& instance) {
  const OpRecord& record = *op.record;
  PartialCall call{
      .inputs = instance.input_mask,
      .loops = compile_for_calls(instantiate(record, instance), record.optional_outputs),
      .suffix = suffix_of(op, instance.input_mask),
      .outputs = {}};
  const std::vector<std::size_t> whole = outputs_of(record, *op.instance);
  for (const std::size_t position : outputs_of(record, instance)) {
    const auto at = std::ranges::find(whole, position);
    if (at == whole.end())
      throw InternalError(record.name + ": with fewer inputs it has more outputs");
    call.outputs.push_back(op.program->outputs[static_cast<std::size_t>(at - whole.begin())].name);
  }
  return call;
}

}  // namespace

LoopProgram loops_of(const Resolved& op) {
  return compile_for_calls(op.program, optional_outputs_of(op));
}

std::vector<std::string> optional_outputs_of(const Resolved& op) {
  return op.record != nullptr ? op.record->optional_outputs : std::vector<std::string>();
}

std::vector<std::string> optional_inputs(const Resolved& op,
                                         const std::vector<PartialCall>& calls) {
  std::vector<std::string> names;
  if (op.record == nullptr) return names;
  for (std::size_t k = 0; k < op.record->inputs.size(); ++k) {
    const auto lacks = [&](const PartialCall& c) {
      return is_in(op.instance->input_mask & ~c.inputs, k);
    };
    if (std::ranges::any_of(calls, lacks)) names.push_back(op.record->inputs[k].name);
  }
  return names;
}

std::vector<PartialCall> partial_calls(const Resolved& op, const std::vector<std::string>& needed) {
  if (op.record == nullptr) {
    if (!needed.empty())
      throw Error("--needs: all inputs and outputs of a program file are needed");
    return {};
  }
  const TensorMask least = mask_of(op, needed);
  std::vector<PartialCall> calls;
  for (const Instance& i : instances(*op.record)) {
    const TensorMask inputs = i.input_mask;
    if (i.dtype != op.instance->dtype || inputs == op.instance->input_mask) continue;
    if ((inputs & ~op.instance->input_mask) != 0 || (inputs & least) != least) continue;
    calls.push_back(partial_call(op, i));
  }
  std::ranges::stable_sort(calls, {}, [](const PartialCall& c) { return std::popcount(c.inputs); });
  return calls;
}

}  // namespace mote
