// SPDX-License-Identifier: Apache-2.0
// The tensors of a graph: memory, placeholders, views, and binding.
#include <string>

#include "mote/base/dlpack.h"
#include "mote/runtime/overlap.h"
#include "state.h"

namespace mote {

using graph::InUse;
using graph::refuse;
using graph::TensorKind;
using graph::TensorRecord;

namespace {

void check_memory(const Tensor& memory, const std::string& text) {
  if (memory.data() == nullptr && memory.element_count() > 0) refuse(text + " has no memory");
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % size_of(memory.dtype()) != 0)
    refuse(text + " is not aligned to its elements");
}

/// Returns the view of form's extents that begins `offset` bytes behind x's first element.
Tensor view_of(const Tensor& x, std::int64_t offset, const Tensor& form) {
  Tensor y = x;
  DLTensor& to = y.dl();
  const DLTensor& from = form.dl();
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    to.shape[axis] = from.shape[axis];
    to.strides[axis] = from.strides[axis];
  }
  to.ndim = from.ndim;
  to.dtype = from.dtype;
  to.byte_offset += static_cast<std::uint64_t>(offset);
  return y;
}

std::uint32_t add_tensor(Graph::State& state, TensorRecord record) {
  if (state.tensors.size() >= graph::kNone) refuse("it has too many tensors");
  const auto index = static_cast<std::uint32_t>(state.tensors.size());
  if (record.kind != TensorKind::view) record.root = index;
  state.tensors.push_back(std::move(record));
  return index;
}

GraphTensor add_memory(const std::unique_ptr<Graph::State>& state, const char* op, TensorKind kind,
                       const Tensor& memory, std::string_view name) {
  const InUse use(state, op);
  check_memory(memory, std::string(op) + ": '" + std::string(name) + "' " + describe(memory));
  TensorRecord record;
  record.kind = kind;
  record.has_memory = true;
  record.tensor = memory;
  record.name = name;
  return {state->id, add_tensor(*state, std::move(record))};
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
  record.tensor = Tensor::over(nullptr, form.dtype, form.shape, form.strides, form.device);
  record.name = name;
  return {state_->id, add_tensor(*state_, std::move(record))};
}

GraphTensor Graph::view(GraphTensor of, std::int64_t byte_offset, const TensorForm& form,
                        std::string_view name) {
  const InUse use(state_, "view");
  const std::uint32_t parent = state_->index_of(of, "view");
  const Tensor shape = Tensor::over(nullptr, form.dtype, form.shape, form.strides, form.device);
  const TensorRecord& whole = state_->tensors[parent];
  const std::string what = "view: " + to_string(form) + " at byte " + std::to_string(byte_offset) +
                           " of " + state_->text_of_tensor(parent);
  const ViewPlaces outer(graph::form_of(whole.tensor), 0);
  checked_span(form.dtype, form.shape, form.strides);
  const ViewPlaces inner(form, 0);  // strides below 0 reach bytes before the first element
  if (byte_offset < outer.low - inner.low || byte_offset > outer.high - inner.high)
    refuse(what + " takes the bytes from " + std::to_string(inner.low) + " to " +
           std::to_string(inner.high) + " of that, it has those from " + std::to_string(outer.low) +
           " to " + std::to_string(outer.high));
  const DLDevice device = whole.tensor.device();
  if (form.device.device_type != device.device_type || form.device.device_id != device.device_id)
    refuse(what + " is on another device than it");
  TensorRecord record;
  record.kind = TensorKind::view;
  record.root = whole.root;
  record.offset = whole.offset + byte_offset;
  const TensorRecord& root = state_->tensors[record.root];
  if (record.offset % static_cast<std::int64_t>(size_of(form.dtype)) != 0)
    refuse(what + " is not aligned to its elements");
  record.has_memory = root.has_memory;
  record.tensor = root.has_memory ? view_of(root.tensor, record.offset, shape) : shape;
  if (record.has_memory) check_memory(record.tensor, what);
  record.name = name;
  const std::uint32_t root_index = record.root;
  const bool can_move = root.kind == TensorKind::placeholder;
  if (can_move) state_->tensors[root_index].views.reserve(root.views.size() + 1);
  const std::uint32_t index = add_tensor(*state_, std::move(record));
  if (can_move) state_->tensors[root_index].views.push_back(index);
  return {state_->id, index};
}

void Graph::bind(GraphTensor placeholder, const Tensor& memory) {
  const InUse use(state_, "bind");
  const std::uint32_t index = state_->index_of(placeholder, "bind");
  TensorRecord& record = state_->tensors[index];
  const std::string what = "bind: " + state_->text_of_tensor(index);
  if (record.kind != TensorKind::placeholder) refuse(what + " is no placeholder");
  if (!(graph::form_of(memory) == graph::form_of(record.tensor)))
    refuse("bind: '" + record.name + "' must be " + to_string(graph::form_of(record.tensor)) +
           ", got " + to_string(graph::form_of(memory)));
  check_memory(memory, what);
  for (const std::uint32_t view : record.views) {
    const Tensor& form = state_->tensors[view].tensor;
    check_memory(
        view_of(memory, state_->tensors[view].offset, form),
        "bind: the view " + state_->text_of_tensor(view) + " of " + state_->text_of_tensor(index));
  }
  state_->rebound.push_back(index);
  if (!state_->prepared.given.empty()) state_->replaced.push_back(record.tensor);
  ++state_->binding;
  record.tensor = memory;
  record.has_memory = true;
  for (const std::uint32_t view : record.views) {
    TensorRecord& v = state_->tensors[view];
    v.tensor = view_of(memory, v.offset, v.tensor);
    v.has_memory = true;
  }
}

Tensor Graph::memory(GraphTensor tensor) const {
  const InUse use(state_, "memory");
  return state_->tensors[state_->index_of(tensor, "memory")].tensor;
}

std::string Graph::describe(GraphTensor tensor) const {
  const InUse use(state_, "describe");
  return state_->text_of_tensor(state_->index_of(tensor, "describe"));
}

}  // namespace mote
