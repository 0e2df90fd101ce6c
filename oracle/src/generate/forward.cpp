// SPDX-License-Identifier: Apache-2.0
// Makes the op's own case from the gradient's, by the names of its inputs, and runs it.
#include "generate/forward.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "judge/reference.h"
#include "mote/base/error.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

std::optional<std::size_t> position(const std::vector<CaseTensor>& tensors, std::string_view name) {
  const auto at = std::ranges::find(tensors, name, &CaseTensor::name);
  if (at == tensors.end()) return std::nullopt;
  return static_cast<std::size_t>(at - tensors.begin());
}

Number default_of(const ParamDecl& p) {
  return p.is_integer ? Number(static_cast<std::int64_t>(*p.default_value))
                      : Number(*p.default_value);
}

/// The case of the op whose gradient is c's target; nullopt if an input is missing.
std::optional<Case> forward_case(const Case& c) {
  const std::string_view name = c.target->op();
  const std::size_t end = name.find('.');
  if (c.target->is_file() || end == std::string_view::npos) return std::nullopt;
  Case f;
  f.target = find_target(name.substr(0, end));
  const OpRecord& op = find_op(name.substr(0, end));
  f.instance.dtype = c.instance.dtype;
  for (std::size_t k = 0; k < op.inputs.size(); ++k)
    if (position(c.inputs, op.inputs[k].name)) f.instance.input_mask |= mask_bit(k);
  if (!has_instance(op, f.instance)) return std::nullopt;
  f.program = instantiate(op, f.instance);
  for (const Uop& input : f.program->inputs) {
    const auto& name_of = std::get<uop::Input>(input.node().kind).name;
    CaseTensor tensor = c.inputs[*position(c.inputs, name_of)];
    tensor.layout = {};
    f.inputs.push_back(std::move(tensor));
  }
  for (const ParamDecl& p : f.program->params) {
    const auto given = c.params.find(p.name);
    if (given == c.params.end() && !p.default_value) return std::nullopt;
    f.params.emplace(p.name, given != c.params.end() ? given->second : default_of(p));
  }
  f.fill = c.fill;
  complete(f);
  return f;
}

}  // namespace

void compute_given_outputs(const Case& c, std::vector<Dense>& inputs) {
  const std::optional<Case> forward = forward_case(c);
  if (!forward) return;
  const auto taken = [&](const CaseTensor& y) -> std::optional<std::size_t> {
    const auto at = position(c.inputs, y.name);
    const bool fits = at && c.inputs[*at].shape == y.shape && c.inputs[*at].dtype == y.dtype &&
                      c.inputs[*at].layout.repeated.empty();
    return fits ? at : std::nullopt;
  };
  const auto is_taken = [&](const CaseTensor& y) { return taken(y).has_value(); };
  if (std::ranges::none_of(forward->outputs, is_taken)) return;
  std::vector<Dense> given, outputs;
  for (const CaseTensor& x : forward->inputs)
    given.push_back(std::move(inputs[*position(c.inputs, x.name)]));
  for (const CaseTensor& y : forward->outputs) outputs.emplace_back(y.dtype, volume(y.shape));
  reference_for(*forward)->run(*forward, given, outputs);
  for (std::size_t k = 0; k < given.size(); ++k)
    inputs[*position(c.inputs, forward->inputs[k].name)] = std::move(given[k]);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (const auto at = taken(forward->outputs[k])) inputs[*at] = std::move(outputs[k]);
}

}  // namespace mote
