// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>
#include <string>
#include <utility>

#include "command/check_call.h"
#include "mote/runtime/catalogue.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/kernel_plan.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/gradient.h"
#include "passes/kernels.h"

namespace mote::trace {
namespace {

/// The number of kernels that are kept although no step uses them.
constexpr std::size_t kKeptKernels = 4096;

bool fits(const Kernel& kernel, const Command& command, std::span<Value* const> inputs,
          std::optional<DType> dtype) {
  return kernel.inputs.size() == inputs.size() && kernel.dtype == dtype &&
         std::ranges::equal(kernel.inputs, inputs,
                            [](const SharedForm& form, const Value* value) {
                              return form.get() == (value == nullptr ? nullptr : value->form.get());
                            }) &&
         kernel.command == command;
}

/// Returns the masks of the inputs and the outputs of the node that gradients read.
GradientReads reads_of(const SymbolicGraph& graph, NodeSymbol node,
                       std::span<const TensorSymbol> of, std::span<const TensorSymbol> gradients,
                       TensorMask wanted) {
  GradientReads reads{.wanted = wanted};
  for (const SavedTensor& tensor : saved(graph, of, gradients)) {
    if (std::ranges::none_of(tensor.readers, &SavedReader::reads_data)) continue;
    const NodeInfo& info = graph.info(node);
    for (std::size_t k = 0; k < info.inputs.size(); ++k)
      if (info.inputs[k] == tensor.tensor.index) reads.inputs |= mask_bit(k);
    for (std::size_t k = 0; k < info.outputs.size(); ++k)
      if (info.outputs[k] == tensor.tensor.index) reads.outputs |= mask_bit(k);
  }
  return reads;
}

/// True if the gradient is not known to be 0.
bool is_written(const SymbolicGraph& graph, TensorSymbol gradient) {
  if (graph.info(graph.root(gradient)).kind != SymbolOrigin::zeros) return true;
  const IndexLists written = writers(graph);
  return !written[graph.root(gradient).index].empty();
}

/// Returns what the gradient of the outputs in `asked` with respect to the inputs in `wanted`
/// reads.
GradientReads find_reads(const Kernel& kernel, TensorMask wanted, TensorMask asked) {
  SymbolicGraph graph("gradient", kernel.command.registry());
  std::vector<TensorSymbol> inputs;
  std::vector<TensorSymbol> with_respect_to;
  for (std::size_t k = 0; k < kernel.inputs.size(); ++k) {
    const SharedForm& form = kernel.inputs[k];
    inputs.push_back(form ? graph.input("v" + std::to_string(k), form->form) : TensorSymbol{});
    if (is_in(wanted, k)) with_respect_to.push_back(inputs.back());
  }
  const NodeSymbol node = graph.add_node(kernel.command, inputs, kernel.dtype);
  std::vector<TensorSymbol> of;
  for (std::size_t k = 0; k < kernel.outputs.size(); ++k)
    if (kernel.outputs[k] && kernel.outputs[k]->is_real && is_in(asked, k))
      of.push_back(graph.output(node, k));
  if (of.empty()) return {.wanted = wanted};
  std::vector<TensorSymbol> gradients;
  try {
    gradients = gradient(graph, of, with_respect_to);
  } catch (const StatusError& error) {
    // An op without a gradient is an error where a gradient is asked for.
    if (error.status() != MOTE_UNSUPPORTED) throw;
    return {.wanted = wanted, .flows = true};
  }
  GradientReads reads = reads_of(graph, node, of, gradients, wanted);
  reads.flows = std::ranges::any_of(gradients,
                                    [&](TensorSymbol symbol) { return is_written(graph, symbol); });
  return reads;
}

/// Returns what the gradient of any of the outputs with respect to any of the inputs reads: with
/// fewer of them, a gradient may read what that of all does not.
GradientReads find_reads(const Kernel& kernel, TensorMask wanted) {
  GradientReads reads = find_reads(kernel, wanted, ~TensorMask{0});
  const Registry& registry = kernel.command.registry();
  const bool is_gradient = registry.column(kGradientOf).find(kernel.command.op()) != nullptr;
  if (!reads.flows || (kernel.outputs.size() == 1 && !is_gradient)) return reads;
  for (std::size_t k = 0; k < kernel.outputs.size(); ++k) {
    for (std::size_t n = 0; n < kernel.inputs.size(); ++n) {
      if (!is_in(wanted, n)) continue;
      const GradientReads some = find_reads(kernel, mask_bit(n), mask_bit(k));
      reads.inputs |= some.inputs;
      reads.outputs |= some.outputs;
    }
  }
  return reads;
}

/// Returns the call of the same kernel for an output 0 in the memory of input k; none if the op or
/// the kernel does not allow that.
std::optional<BoundCall> call_in_place(const Kernel& kernel, std::size_t k, Context* context) {
  const InPlacePairs* promised =
      kernel.command.registry().column(kInPlace).find(kernel.command.op());
  const std::pair<int, int> pair{static_cast<int>(k), 0};
  if (promised == nullptr || std::ranges::find(*promised, pair) == promised->end() ||
      kernel.inputs[k] != kernel.outputs[0])
    return std::nullopt;
  std::vector<const TensorForm*> inputs;
  for (const SharedForm& form : kernel.inputs) inputs.push_back(form ? &form->form : nullptr);
  std::vector<const TensorForm*> outputs;
  for (const SharedForm& form : kernel.outputs) outputs.push_back(form ? &form->form : nullptr);
  const mote_op_pair shared{pair.first, pair.second};
  try {
    const auto plan = KernelPlan::make(kernel.command, inputs, outputs, std::span(&shared, 1),
                                       {.context = context});
    if (&plan->kernel() == &kernel.plan->kernel()) return BoundCall(plan);
  } catch (const StatusError& error) {
    if (error.status() != MOTE_UNSUPPORTED) throw;
  }
  return std::nullopt;
}

}  // namespace

SharedForm KernelTable::form_of(const TensorForm& form) {
  const std::size_t hash = form.hash();
  const auto [begin, end] = forms_.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (known->second->form == form) return known->second;
  if (forms_.size() >= forms_limit_) {
    std::erase_if(forms_, [](const auto& entry) { return entry.second.use_count() == 1; });
    forms_limit_ = std::max<std::size_t>(1024, 2 * forms_.size());
  }
  auto made = std::make_shared<Form>();
  made->form = form;
  made->hash = hash;
  made->bytes = static_cast<std::size_t>(form.bytes());
  made->id = ++made_;
  made->is_real = is_real(form.dtype);
  return forms_.emplace(hash, std::move(made))->second;
}

Ref<Kernel> KernelTable::find(const Command& command, std::span<Value* const> inputs,
                              std::optional<DType> dtype) {
  std::size_t hash = command.hash();
  for (const Value* value : inputs) hash = hash * 31 + (value == nullptr ? 1 : value->form->hash);
  const auto [begin, end] = kernels_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    if (!fits(*known->second, command, inputs, dtype)) continue;
    known->second->last_use = ++uses_;
    return known->second;
  }
  Ref<Kernel> kernel = make(command, inputs, dtype);
  kernel->hash = hash;
  kernel->last_use = ++uses_;
  if (kernels_.size() >= kKeptKernels) make_room();
  kernels_.emplace(hash, kernel);
  return kernel;
}

Ref<Kernel> KernelTable::make(const Command& command, std::span<Value* const> inputs,
                              std::optional<DType> dtype) {
  std::vector<const TensorForm*> given;
  for (const Value* value : inputs)
    given.push_back(value == nullptr ? nullptr : &value->form->form);
  const std::vector<TensorForm> forms = infer(command, given, dtype);
  const Ref<Kernel> kernel(new Kernel(command, dtype));
  kernel->id = ++made_;
  for (const Value* value : inputs)
    kernel->inputs.push_back(value == nullptr ? nullptr : value->form);
  std::vector<const TensorForm*> made;
  TensorMask present = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] != nullptr) present |= mask_bit(k);
  const TensorMask there = outputs_there(command, present);
  for (std::size_t k = 0; k < forms.size(); ++k) {
    const bool is_there = has(there, static_cast<int>(k));
    kernel->outputs.push_back(is_there ? form_of(forms[k]) : nullptr);
    made.push_back(is_there ? &kernel->outputs.back()->form : nullptr);
  }
  kernel->plan = KernelPlan::make(command, given, made, {}, {.context = context_});
  kernel->call.emplace(kernel->plan);
  kernel->device = kernel->plan->device();
  for (const auto* forms : {&kernel->inputs, &kernel->outputs})
    for (const SharedForm& form : *forms)
      if (form && !form->form.is_on_host()) kernel->is_on_host = false;
  if (random_ops_.size() != command.registry().size()) random_ops_ = random_ops(command.registry());
  kernel->is_random = random_ops_[command.op()];
  return kernel;
}

/// Forgets the half of the kernels that was not used for longest, except those that steps use.
void KernelTable::make_room() {
  const std::uint64_t before = uses_ - std::min<std::uint64_t>(uses_, kKeptKernels / 2);
  std::erase_if(kernels_, [&](const auto& entry) {
    return entry.second->refs == 1 && entry.second->last_use < before;
  });
}

const GradientReads& KernelTable::reads(Kernel& kernel, TensorMask wanted) {
  const auto known = std::ranges::find(kernel.reads, wanted, &GradientReads::wanted);
  if (known != kernel.reads.end()) return *known;
  return kernel.reads.emplace_back(find_reads(kernel, wanted));
}

BoundCall* KernelTable::in_place(Kernel& kernel, std::size_t k) {
  const auto known =
      std::ranges::find(kernel.in_place, k, &decltype(kernel.in_place)::value_type::first);
  if (known != kernel.in_place.end()) return known->second ? &*known->second : nullptr;
  std::optional<BoundCall> made = call_in_place(kernel, k, context_);
  std::optional<BoundCall>& call = kernel.in_place.emplace_back(k, std::move(made)).second;
  return call ? &*call : nullptr;
}

std::size_t KernelTable::unused_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [hash, form] : forms_) bytes += form->unused.size() * form->bytes;
  return bytes;
}

/// Forms that values have stay: two values of one form have the same one.
void KernelTable::clear() {
  kernels_.clear();
  std::erase_if(forms_, [](const auto& entry) { return entry.second.use_count() == 1; });
  for (const auto& [hash, form] : forms_) form->unused.clear();
}

}  // namespace mote::trace
