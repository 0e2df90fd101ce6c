// SPDX-License-Identifier: Apache-2.0
// Variables: names of values, and views of other variables.
#include <bit>
#include <string>
#include <utility>

#include "fail.h"
#include "state.h"

namespace mote::trace {

Variable State::give(Ref<Value> value) {
  auto* handle = new Handle;
  handle->state = this;
  retain();
  ++variables;
  set_value(*handle, value);
  handle->version = 0;
  return Variable(handle);
}

/// Makes the value that of the variable, and raises the version.
void State::set_value(Handle& handle, const Ref<Value>& value) {
  Value* old = handle.value;
  handle.value = value.get();
  if (Value* now = handle.value) {
    ++now->refs;
    if (now->handles++ == 0 && now->tensor) saved_bytes -= now->form->bytes;
    if (now->is_waiting) count_waiting(*now);
  }
  ++handle.version;
  if (old == nullptr) return;
  if (--old->handles == 0) {
    has_lost_names = has_lost_names || old->is_traced;
    if (old->tensor) saved_bytes += old->form->bytes;
    if (old->pending_reads > 0) count_waiting(*old);
    if (old->is_in_memo) memo.forget_if_unnamed(*old);
    drop_memory_if_unneeded(*old);
  }
  if (--old->refs == 0) drop(old);
}

/// Releases a variable, and those that it is a view of if nothing else has them.
void State::release(Handle* handle) noexcept {
  std::uint32_t gone = 0;
  while (handle != nullptr && handle->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Handle* base = handle->view_of ? handle->view_of->base : nullptr;
    {
      const Lock lock(mutex);
      handle->previous.reset();
      set_value(*handle, {});
      if (base != nullptr) --base->views;
      --variables;
    }
    delete handle;
    handle = base;
    ++gone;
  }
  release(gone);
}

Value* State::current(Handle& handle) {
  if (!handle.view_of) return handle.value;
  ViewOf& of = *handle.view_of;
  Value* base = current(*of.base);
  if (of.base_version != of.base->version || handle.value == nullptr) {
    // A NoGradient in which it is looked at is not one in which it was made.
    set_value(handle, view_or_copy(*base, of.view, base->is_traced && of.is_traced));
    of.base_version = of.base->version;
  }
  return handle.value;
}

Value* State::operand(const Variable* variable, const char* op) {
  if (variable == nullptr) return nullptr;
  if (!*variable) fail(std::string(op) + ": there is no variable");
  if (variable->handle_->state != this)
    fail(std::string(op) + ": a variable belongs to another dynamic graph");
  return current(*variable->handle_);
}

Ref<Value> State::scalar(const TensorForm& like, double value) {
  constexpr std::size_t kKept = 64;
  const SharedForm form = kernels.form_of({like.dtype, {}, {}, like.device});
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (const auto& [known, constant] : scalars)
    if (std::bit_cast<std::uint64_t>(known) == bits && constant->form == form) return constant;
  const Tensor tensor = allocate(*form);
  fill(tensor, value);
  if (scalars.size() == kKept) scalars.erase(scalars.begin());
  const Ref<Value> made = make_value(form, tensor, false);
  pin(*made);
  return scalars.emplace_back(value, made).second;
}

Variable State::view_of(Handle& base, const ViewStep& step) {
  Value& whole = *current(base);
  keep_joined(base, step);
  Variable variable = give(view(whole, step, whole.is_traced && !has_no_gradient()));
  variable.handle_->view_of = std::make_unique<ViewOf>(ViewOf{
      .base = &base, .view = step, .base_version = base.version, .is_traced = !has_no_gradient()});
  base.refs.fetch_add(1, std::memory_order_relaxed);
  ++base.views;
  return variable;
}

}  // namespace mote::trace
