// SPDX-License-Identifier: Apache-2.0
// Variables: names of values, and views of other variables.
#include <bit>
#include <string>
#include <utility>
#include <vector>

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

/// Makes the value that of the variable, and raises the version. Its views, and what it is a view
/// of, have to look at it again.
void State::set_value(Handle& handle, const Ref<Value>& value) {
  ++(handle.view_of ? *handle.view_of->root : handle).writes;
  name_value(handle, value);
}

void State::name_value(Handle& handle, const Ref<Value>& value) {
  Value* old = handle.value;
  handle.value = value.get();
  if (Value* now = handle.value) {
    ++now->refs;
    if (now->handles++ == 0 && now->tensor) saved_bytes -= now->form->bytes;
    if (now->is_waiting) count_waiting(*now);
    if (!now->tensor) count_unseen(*now);
  }
  ++handle.version;
  if (old == nullptr) return;
  if (--old->handles == 0) {
    has_lost_names = has_lost_names || old->is_traced;
    if (old->tensor) saved_bytes += old->form->bytes;
    if (old->pending_reads > 0) count_waiting(*old);
    if (old->is_unseen) count_unseen(*old);
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
      name_value(*handle, {});  // nothing is a view of it
      if (base != nullptr) --base->views;
      --variables;
    }
    delete handle;
    handle = base;
    ++gone;
  }
  release(gone);
}

void State::count_unseen(Value& value) noexcept {
  const bool is_unseen = value.handles > 0 && !value.tensor;
  if (std::exchange(value.is_unseen, is_unseen) == is_unseen) return;
  if (is_unseen) {
    value.previous_unseen = nullptr;
    value.next_unseen = std::exchange(unseen, &value);
    if (value.next_unseen != nullptr) value.next_unseen->previous_unseen = &value;
    return;
  }
  (value.previous_unseen != nullptr ? value.previous_unseen->next_unseen : unseen) =
      value.next_unseen;
  if (value.next_unseen != nullptr) value.next_unseen->previous_unseen = value.previous_unseen;
}

/// Gives the view, and those that it is a view of, the values that they have since the last write
/// to any of them. There is no recursion: the way may be long.
void State::see_writes(Handle& handle) {
  const std::uint64_t writes = handle.view_of->root->writes;
  std::vector<Handle*> way;
  for (Handle* view = &handle; view->view_of && view->view_of->root_writes != writes;
       view = view->view_of->base)
    way.push_back(view);
  for (auto view = way.rbegin(); view != way.rend(); ++view) {
    ViewOf& of = *(*view)->view_of;
    Value& base = *of.base->value;
    if (of.base_version != of.base->version || (*view)->value == nullptr) {
      // A NoGradient in which it is looked at is not one in which it was made.
      name_value(**view, view_or_copy(base, of.view, base.is_traced && of.is_traced));
      of.base_version = of.base->version;
    }
    of.root_writes = writes;
  }
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
  const Tensor tensor = filled(*form, value);
  if (scalars.size() == kKept) scalars.erase(scalars.begin());
  const Ref<Value> made = make_value(form, tensor, false);
  pin(*made);
  return scalars.emplace_back(value, made).second;
}

Variable State::view_of(Handle& base, const ViewStep& step) {
  Value& whole = *current(base);
  keep_joined(base, step);
  Handle& root = base.view_of ? *base.view_of->root : base;
  Variable variable = give(view(whole, step, whole.is_traced && !has_no_gradient()));
  variable.handle_->view_of = std::make_unique<ViewOf>(ViewOf{.base = &base,
                                                              .root = &root,
                                                              .view = step,
                                                              .base_version = base.version,
                                                              .root_writes = root.writes,
                                                              .is_traced = !has_no_gradient()});
  base.refs.fetch_add(1, std::memory_order_relaxed);
  ++base.views;
  return variable;
}

}  // namespace mote::trace
