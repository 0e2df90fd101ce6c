// SPDX-License-Identifier: Apache-2.0
#include "run/kernel_plans.h"

#include <cstdint>

#include "mote/base/ops.h"
#include "mote/runtime/overlap.h"

namespace mote::graph {
namespace {

bool is_there(const Tensor* x) { return x != nullptr && x->data() != nullptr; }

bool at_one_place(const Tensor* x, const Tensor* y) {
  return is_there(x) && is_there(y) && x->data() == y->data() && x->element_count() > 0 &&
         y->element_count() > 0;
}

ViewPlaces places_in_memory(const Tensor& x) {
  return {x.form(), static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(x.data()))};
}

bool share_memory(const Tensor* x, const Tensor* y) {
  return is_there(x) && is_there(y) && share_bytes(places_in_memory(*x), places_in_memory(*y));
}

/// True if outputs share memory only with inputs, and with these only from the first element on.
bool shares_simply(const NodeTensors& t) {
  for (std::size_t o = 0; o < t.outputs.size(); ++o) {
    for (const Tensor* x : t.inputs)
      if (!at_one_place(x, t.outputs[o]) && share_memory(x, t.outputs[o])) return false;
    for (std::size_t p = 0; p < o; ++p)
      if (share_memory(t.outputs[p], t.outputs[o])) return false;
  }
  return true;
}

bool same_forms(const std::vector<const Tensor*>& tensors, const KernelPlan& plan,
                const TensorForm* (KernelPlan::*form)(int) const) {
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const TensorForm* planned = (plan.*form)(static_cast<int>(k));
    if ((tensors[k] == nullptr) != (planned == nullptr)) return false;
    if (planned != nullptr && !(tensors[k]->form() == *planned)) return false;
  }
  return true;
}

bool fits(const KernelPlan& plan, const Command& command, const NodeTensors& t) {
  return static_cast<std::size_t>(plan.input_count()) == t.inputs.size() &&
         static_cast<std::size_t>(plan.output_count()) == t.outputs.size() &&
         plan.command() == command && same_forms(t.inputs, plan, &KernelPlan::input) &&
         same_forms(t.outputs, plan, &KernelPlan::output);
}

std::size_t hash_of(const Command& command, const NodeTensors& t) {
  std::size_t hash = command.hash();
  const auto add = [&](const Tensor* x) {
    hash = hash * 31 + (x != nullptr ? x->form().hash() : 1);
  };
  for (const Tensor* x : t.inputs) add(x);
  for (const Tensor* y : t.outputs) add(y);
  return hash;
}

}  // namespace

bool shares_as_planned(const KernelPlan& plan, const NodeTensors& t) {
  for (std::size_t o = 0; o < t.outputs.size(); ++o)
    for (std::size_t i = 0; i < t.inputs.size(); ++i)
      if (t.inputs[i] != nullptr && t.outputs[o] != nullptr &&
          plan.is_in_place(static_cast<int>(i), static_cast<int>(o)) !=
              at_one_place(t.inputs[i], t.outputs[o]))
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
    if (at->second.backends == backends && fits(*at->second.plan, command, tensors) &&
        shares_as_planned(*at->second.plan, tensors))
      return at->second.plan;
  std::vector<TensorForm> forms;
  forms.reserve(tensors.inputs.size() + tensors.outputs.size());
  std::vector<const TensorForm*> inputs, outputs;
  const auto form = [&](const Tensor* x) {
    return x != nullptr ? &forms.emplace_back(x->form()) : nullptr;
  };
  for (const Tensor* x : tensors.inputs) inputs.push_back(form(x));
  for (const Tensor* y : tensors.outputs) outputs.push_back(form(y));
  std::vector<mote_op_pair> in_place;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (at_one_place(tensors.inputs[i], tensors.outputs[o]))
        in_place.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(o)});
  RunOptions options = options_;
  options.backends = backends;
  auto plan = KernelPlan::make(command, std::span<const TensorForm* const>(inputs),
                               std::span<const TensorForm* const>(outputs),
                               std::span<const mote_op_pair>(in_place), options);
  entries_.emplace(hash, Entry{plan, backends});
  ++made_;
  return plan;
}

std::shared_ptr<const KernelPlan> KernelPlans::make(
    const Command& command, const NodeTensors& tensors,
    const std::vector<const mote_backend*>& backends) {
  std::vector<Tensor> written;  // views of the same memory
  written.reserve(tensors.outputs.size());
  std::vector<Tensor*> outputs;
  for (const Tensor* y : tensors.outputs)
    outputs.push_back(y != nullptr ? &written.emplace_back(*y) : nullptr);
  RunOptions options = options_;
  options.backends = backends;
  auto plan = KernelPlan::make(command, tensors.inputs, outputs, options);
  ++made_;
  return plan;
}

}  // namespace mote::graph
