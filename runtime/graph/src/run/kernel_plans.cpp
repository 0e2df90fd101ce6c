// SPDX-License-Identifier: Apache-2.0
#include "run/kernel_plans.h"

#include <cstdint>
#include <functional>
#include <utility>

#include "mote/base/ops.h"
#include "state.h"

namespace mote::graph {
namespace {

bool has_address(const NodeTensor& x) { return x.is_there() && x.data != nullptr; }

bool at_one_location(const NodeTensor& x, const NodeTensor& y) {
  return has_address(x) && has_address(y) && x.data == y.data && !x.form->is_empty() &&
         !y.form->is_empty();
}

bool share_memory(const NodeTensor& x, const NodeTensor& y) {
  if (!has_address(x) || !has_address(y)) return false;
  const auto a = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(x.data));
  const auto b = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(y.data));
  if (a + x.form->locations.low >= b + y.form->locations.high ||
      b + y.form->locations.low >= a + x.form->locations.high)
    return false;
  return share_bytes(x.form->locations_from(a), y.form->locations_from(b));
}

/// True if outputs share memory only with inputs, and with these only from the first element on.
bool shares_simply(const NodeTensors& t) {
  for (std::size_t o = 0; o < t.outputs.size(); ++o) {
    for (const NodeTensor& x : t.inputs)
      if (!at_one_location(x, t.outputs[o]) && share_memory(x, t.outputs[o])) return false;
    for (std::size_t p = 0; p < o; ++p)
      if (share_memory(t.outputs[p], t.outputs[o])) return false;
  }
  return true;
}

/// Calls use(form) for each tensor, in the order of operands.
template <typename Use>
void each_form(const NodeTensors& t, const Use& use) {
  for (const NodeTensor& x : t.inputs) use(x.form);
  for (const NodeTensor& y : t.outputs) use(y.form);
}

bool same_forms(const std::vector<const GraphForm*>& forms, const NodeTensors& t) {
  if (forms.size() != t.inputs.size() + t.outputs.size()) return false;
  auto known = forms.begin();
  bool are_same = true;
  each_form(t, [&](const GraphForm* form) { are_same = *known++ == form && are_same; });
  return are_same;
}

std::size_t hash_of(const Command& command, const NodeTensors& t) {
  std::size_t hash = std::hash<const Command*>()(&command);
  each_form(t,
            [&](const GraphForm* form) { hash = hash * 31 + std::hash<const GraphForm*>()(form); });
  return hash;
}

/// Returns the tensors, whose pointers are added to the list.
template <typename Pointer>
std::vector<Tensor> tensors_of(const std::vector<NodeTensor>& list,
                               std::vector<Pointer>& pointers) {
  std::vector<Tensor> tensors;
  tensors.reserve(list.size());
  for (const NodeTensor& x : list)
    pointers.push_back(x.is_there() ? &tensors.emplace_back(x.tensor()) : nullptr);
  return tensors;
}

}  // namespace

Tensor NodeTensor::tensor() const { return make_tensor(*form, data, owner); }

bool shares_as_planned(const KernelPlan& plan, const NodeTensors& t) {
  for (std::size_t o = 0; o < t.outputs.size(); ++o)
    for (std::size_t i = 0; i < t.inputs.size(); ++i)
      if (t.inputs[i].is_there() && t.outputs[o].is_there() &&
          plan.is_in_place(static_cast<int>(i), static_cast<int>(o)) !=
              at_one_location(t.inputs[i], t.outputs[o]))
        return false;
  return shares_simply(t);
}

std::shared_ptr<const KernelPlan> KernelPlans::find(
    const Command& command, const NodeTensors& tensors,
    const std::vector<const mote_backend*>& backends) {
  if (!shares_simply(tensors)) return make(command, tensors, backends);
  const std::size_t hash = hash_of(command, tensors);
  const auto [begin, end] = entries_.equal_range(hash);
  for (auto at = begin; at != end; ++at)
    if (at->second.command == &command && at->second.backends == backends &&
        same_forms(at->second.forms, tensors) && shares_as_planned(*at->second.plan, tensors))
      return at->second.plan;
  std::vector<const TensorForm*> inputs, outputs;
  const auto form = [](const NodeTensor& x) { return x.is_there() ? &x.form->form : nullptr; };
  for (const NodeTensor& x : tensors.inputs) inputs.push_back(form(x));
  for (const NodeTensor& y : tensors.outputs) outputs.push_back(form(y));
  std::vector<mote_op_pair> in_place;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (at_one_location(tensors.inputs[i], tensors.outputs[o]))
        in_place.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(o)});
  RunOptions options = options_;
  options.backends = backends;
  Entry entry{KernelPlan::make(command, std::span<const TensorForm* const>(inputs),
                               std::span<const TensorForm* const>(outputs),
                               std::span<const mote_op_pair>(in_place), options),
              &command,
              {},
              backends};
  each_form(tensors, [&](const GraphForm* of) { entry.forms.push_back(of); });
  const auto& made = entries_.emplace(hash, std::move(entry))->second;
  ++made_;
  return made.plan;
}

std::shared_ptr<const KernelPlan> KernelPlans::make(
    const Command& command, const NodeTensors& tensors,
    const std::vector<const mote_backend*>& backends) {
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> outputs;
  const std::vector<Tensor> read = tensors_of(tensors.inputs, inputs);
  const std::vector<Tensor> written = tensors_of(tensors.outputs, outputs);
  RunOptions options = options_;
  options.backends = backends;
  auto plan = KernelPlan::make(command, inputs, outputs, options);
  ++made_;
  return plan;
}

}  // namespace mote::graph
