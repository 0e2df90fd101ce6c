// SPDX-License-Identifier: Apache-2.0
// The tensors of a graph: memory, placeholders, views, and binding.
#include <span>
#include <string>

#include "mote/runtime/overlap.h"
#include "state.h"
#include "tensor/has_form.h"

namespace mote {

using graph::InUse;
using graph::refuse;
using graph::TensorKind;
using graph::TensorRecord;

namespace {

/// Throws StatusError unless a tensor of that form can be there; text() says which one it is.
template <typename Text>
void check_memory(const TensorForm& form, const void* data, const Text& text) {
  if (data == nullptr && form.element_count() > 0) refuse(text() + " has no memory");
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(form.dtype) != 0)
    refuse(text() + " is not aligned to its elements");
}

std::uint32_t add_tensor(Graph::State& state, TensorRecord record) {
  if (state.tensors.size() >= graph::kNone) refuse("it has too many tensors");
  const auto index = static_cast<std::uint32_t>(state.tensors.size());
  if (record.kind != TensorKind::view) record.root = index;
  const bool is_on_host = record.form->form.is_on_host();
  state.tensors.push_back(std::move(record));
  state.rare.note(state.tensors.back().kind);
  if (!is_on_host) state.is_on_host = false;
  return index;
}

/// Throws StatusError if no tensor can have the form.
std::shared_ptr<const graph::GraphForm> form_of(Graph::State& state, const TensorForm& form) {
  return state.forms.of(
      [&](const TensorForm& known) { return known == form; },
      [&] {
        return Tensor::over(nullptr, form.dtype, form.shape, form.strides, form.device).form();
      });
}

std::shared_ptr<Tensor> owner_of(const Tensor& memory) {
  return memory.owns_memory() ? std::make_shared<Tensor>(memory) : nullptr;
}

GraphTensor add_memory(const std::unique_ptr<Graph::State>& state, const char* op, TensorKind kind,
                       const Tensor& memory, std::string_view name) {
  const InUse use(state, op);
  TensorRecord record;
  record.kind = kind;
  record.form = state->forms.of([&](const TensorForm& form) { return has_form(memory, form); },
                                [&] { return memory.form(); });
  check_memory(record.form->form, memory.data(), [&] {
    return std::string(op) + ": '" + std::string(name) + "' " + describe(memory);
  });
  record.has_memory = true;
  record.data = static_cast<std::byte*>(memory.data());
  record.owner = owner_of(memory);
  record.name = name;
  return {state->id, add_tensor(*state, std::move(record))};
}

/// Points a view at its root's memory, which may be none.
void follow_root(TensorRecord& view, const TensorRecord& root) {
  view.has_memory = root.has_memory;
  view.data = root.data == nullptr ? nullptr : root.data + view.offset;
  view.owner = root.owner;
}

}  // namespace

GraphTensor Graph::tensor(const Tensor& memory, std::string_view name) {
  return add_memory(state_, "tensor", TensorKind::data, memory, name);
}

GraphTensor Graph::constant(const Tensor& memory, std::string_view name) {
  return add_memory(state_, "constant", TensorKind::constant, memory, name);
}

GraphTensor Graph::intermediate(const Tensor& memory, std::string_view name) {
  return add_memory(state_, "intermediate", TensorKind::intermediate, memory, name);
}

GraphTensor Graph::placeholder(const TensorForm& form, std::string_view name) {
  const InUse use(state_, "placeholder");
  TensorRecord record;
  record.kind = TensorKind::placeholder;
  record.form = form_of(*state_, form);
  record.name = name;
  return {state_->id, add_tensor(*state_, std::move(record))};
}

GraphTensor Graph::view(GraphTensor of, std::int64_t byte_offset, const TensorForm& form,
                        std::string_view name) {
  const InUse use(state_, "view");
  const std::uint32_t parent = state_->index_of(of, "view");
  const TensorRecord& whole = state_->tensors[parent];
  TensorRecord record;
  record.kind = TensorKind::view;
  record.form = form_of(*state_, form);
  const auto what = [&] {
    return "view: " + to_string(form) + " at byte " + std::to_string(byte_offset) + " of " +
           state_->text_of_tensor(parent);
  };
  const ViewPlaces& outer = whole.form->locations;
  const ViewPlaces& inner = record.form->locations;  // strides below 0 reach bytes before the first
  const auto moved = [&](std::int64_t place) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(place, byte_offset, &sum)) return std::to_string(sum);
    return std::to_string(byte_offset) + " + " + std::to_string(place);
  };
  if (byte_offset < outer.low - inner.low || byte_offset > outer.high - inner.high)
    refuse(what() + " takes the bytes from " + moved(inner.low) + " to " + moved(inner.high) +
           " of that, it has those from " + std::to_string(outer.low) + " to " +
           std::to_string(outer.high));
  const DLDevice device = whole.form->form.device;
  if (form.device.device_type != device.device_type || form.device.device_id != device.device_id)
    refuse(what() + " is on another device than it");
  record.root = whole.root;
  record.offset = whole.offset + byte_offset;
  const TensorRecord& root = state_->tensors[record.root];
  if (record.offset % static_cast<std::int64_t>(size_of(form.dtype)) != 0)
    refuse(what() + " is not aligned to its elements");
  follow_root(record, root);
  if (record.has_memory) check_memory(form, record.data, what);
  record.name = name;
  if (root.kind != TensorKind::placeholder && root.kind != TensorKind::choice)
    return {state_->id, add_tensor(*state_, std::move(record))};
  std::vector<std::uint32_t>& views = state_->views[record.root];
  views.reserve(views.size() + 1);
  const std::uint32_t index = add_tensor(*state_, std::move(record));
  views.push_back(index);
  return {state_->id, index};
}

void Graph::bind(GraphTensor placeholder, const Tensor& memory) {
  const InUse use(state_, "bind");
  const std::uint32_t index = state_->index_of(placeholder, "bind");
  TensorRecord& record = state_->tensors[index];
  const auto what = [&] { return "bind: " + state_->text_of_tensor(index); };
  if (record.kind != TensorKind::placeholder) refuse(what() + " is no placeholder");
  const TensorForm& form = record.form->form;
  if (!has_form(memory, form))
    refuse("bind: '" + record.name + "' must be " + to_string(form) + ", got " +
           to_string(memory.form()));
  check_memory(form, memory.data(), what);
  const auto found = state_->views.find(index);
  const std::span<const std::uint32_t> views =
      found == state_->views.end() ? std::span<const std::uint32_t>() : found->second;
  for (const std::uint32_t view : views) {
    const TensorRecord& v = state_->tensors[view];
    const auto address =
        reinterpret_cast<std::uintptr_t>(memory.data()) + static_cast<std::uintptr_t>(v.offset);
    check_memory(v.form->form, reinterpret_cast<const void*>(address), [&] {
      return "bind: the view " + state_->text_of_tensor(view) + " of " +
             state_->text_of_tensor(index);
    });
  }
  if (!state_->prepared.given.empty()) state_->replaced.push_back(record.owner);
  const bool is_reused = record.owner != nullptr && memory.owns_memory() &&
                         record.owner.use_count() == 1 + std::ssize(views);
  std::shared_ptr<Tensor> owner = is_reused ? record.owner : owner_of(memory);
  state_->rebound.push_back(index);
  // Nothing below needs memory.
  if (is_reused) *owner = memory;
  ++state_->binding;
  record.has_memory = true;
  record.data = static_cast<std::byte*>(memory.data());
  record.owner = std::move(owner);
  for (const std::uint32_t view : views) follow_root(state_->tensors[view], record);
}

Tensor Graph::memory(GraphTensor tensor) const {
  const InUse use(state_, "memory");
  return state_->tensor_at(state_->index_of(tensor, "memory"));
}

std::string Graph::describe(GraphTensor tensor) const {
  const InUse use(state_, "describe");
  return state_->text_of_tensor(state_->index_of(tensor, "describe"));
}

}  // namespace mote
