// SPDX-License-Identifier: Apache-2.0
// Writes to variables: another value takes the place of the old one, which stays as long as
// something needs it. Memory is written over only if nothing does.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fail.h"
#include "mote/runtime/overlap.h"
#include "state.h"
#include "tensor/storage.h"

namespace mote::trace {
namespace {

/// True if only the variable has the value, and only the value has its memory, which is not the
/// program's and has a location for each element.
bool is_alone(const Value& value) {
  return value.tensor && value.handles == 1 && value.pins == 0 &&
         value.state->has_one_owner(*value.tensor) &&
         value.tensor->raw().storage->foreign == nullptr && value.tensor->is_distinct();
}

bool share_elements(const Tensor& a, const Tensor& b) {
  if (a.raw().storage != b.raw().storage && a.owns_memory() && b.owns_memory()) return false;
  const auto locations = [](const Tensor& x) {
    return ViewPlaces(x.form(),
                      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(x.data())));
  };
  return share_bytes(locations(a), locations(b));
}

/// Returns the step that needs elements of the value's memory, for messages; empty if none does.
std::string step_that_reads(const State& state, const Value& value) {
  for (const Step* step = state.steps; step != nullptr; step = step->next) {
    const auto reads = [&](const Value* read, bool is_pinned) {
      return read != nullptr && is_pinned &&
             (read == &value ||
              (read->tensor && value.tensor && share_elements(*read->tensor, *value.tensor)));
    };
    for (std::size_t k = 0; k < step->inputs.size(); ++k)
      if (reads(step->inputs[k], state.pin_count(*step, k) > 0))
        return (step->is_pending ? "pending " : "the gradient of ") + text_of(*step) + " reads it";
    for (std::size_t k = 0; k < step->outputs.size(); ++k)
      if (reads(step->outputs[k], is_in(step->pinned_outputs, k)))
        return "the gradient of " + text_of(*step) + " reads it";
  }
  return "";
}

/// Returns what needs the elements of the value's memory, for messages; empty if nothing does.
std::string reader_of(const State& state, const Value& value) {
  if (std::string step = step_that_reads(state, value); !step.empty()) return step;
  // A value without a variable has memory because something needs it.
  bool is_needed = value.pins > 0;
  for (const Value* other = state.all_values; other != nullptr; other = other->next) {
    if (other == &value || !other->tensor || !share_elements(*other->tensor, *value.tensor))
      continue;
    if (other->handles > 0) return "another variable has it";
    is_needed = true;
  }
  if (value.handles > 1) return "another variable has it";
  return is_needed ? "it is kept for equal commands" : "";
}

/// Returns the axes with several indices, from the outermost in memory; those along which elements
/// repeat come last.
std::vector<int> axes_in_memory(const TensorForm& form) {
  std::vector<int> axes;
  for (int axis = 0; axis < form.rank(); ++axis)
    if (form.shape[axis] > 1) axes.push_back(axis);
  std::ranges::stable_sort(axes, std::ranges::greater(),
                           [&](int axis) { return std::abs(form.strides[axis]); });
  return axes;
}

/// Returns strides without gaps whose axes follow each other in memory in that order.
AxisList strides_in_order(const TensorForm& form, const std::vector<int>& axes) {
  if (std::ranges::is_sorted(axes)) return checked_strides(form.dtype, form.shape);
  AxisList strides = form.strides;
  std::int64_t next = 1;
  for (std::size_t k = axes.size(); k-- > 0; next *= form.shape[axes[k]]) strides[axes[k]] = next;
  return strides;
}

TensorForm with_strides(const TensorForm& form, const AxisList& strides) {
  return {form.dtype, form.shape, strides, form.device};
}

TensorForm in_rows(const TensorForm& form) {
  return with_strides(form, checked_strides(form.dtype, form.shape));
}

/// Returns the form of the view of such a tensor; none if it needs a copy, as a reshape may.
std::optional<TensorForm> view_of_form(const ViewStep& view, const TensorForm& form) {
  try {
    return apply(view, ViewRegion{form, 0}).form;
  } catch (const StatusError&) {
    if (view.kind != ViewKind::reshape) throw;
    return std::nullopt;
  }
}

/// Returns the axes of a tensor of that rank that its last view has, in their order there; -1 for a
/// new one. Nothing behind a reshape.
std::optional<std::vector<int>> axes_of_view(int rank, std::span<const ViewStep> views) {
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  for (const ViewStep& view : views) {
    const AxisList& n = view.numbers;
    const std::vector<int> before = axes;
    if (view.kind == ViewKind::reshape) return std::nullopt;
    if (view.kind == ViewKind::select) axes.erase(axes.begin() + n[0]);
    if (view.kind == ViewKind::broadcast)
      axes.insert(axes.begin(), static_cast<std::size_t>(n.size()) - axes.size(), -1);
    if (view.kind == ViewKind::permute)
      for (int k = 0; k < n.size(); ++k)
        axes[static_cast<std::size_t>(k)] = before[static_cast<std::size_t>(n[k])];
  }
  return axes;
}

/// Returns the views that lead from a variable to one that is a view of it.
std::vector<ViewStep> views_between(const Handle& from, const Handle& to) {
  std::vector<ViewStep> views;
  for (const Handle* view = &to; view != &from; view = view->view_of->base)
    views.push_back(view->view_of->view);
  std::ranges::reverse(views);
  return views;
}

/// Calls a function for each part of the region's complement along one axis, from the outermost.
struct Parts {
  SymbolicGraph& graph;
  TensorSymbol from, to;

  /// Copies what lies before, behind and between the indices begin, begin + step, …, and returns
  /// the two tensors at these.
  void keep_beside(int axis, std::int64_t begin, std::int64_t count, std::int64_t step) {
    const std::int64_t extent = graph.form(from).shape[axis];
    if (step < 0) {
      begin += (count - 1) * step;
      step = -step;
    }
    const std::int64_t behind = count == 0 ? begin : begin + (count - 1) * step + 1;
    copy_slice(axis, 0, begin, 1);
    copy_slice(axis, behind, extent - behind, 1);
    for (std::int64_t k = 1; k < step; ++k) copy_slice(axis, begin + k, count - 1, step);
  }
  void copy_slice(int axis, std::int64_t begin, std::int64_t count, std::int64_t step) {
    if (count > 0)
      graph.copy(graph.slice(from, axis, begin, count, step),
                 graph.slice(to, axis, begin, count, step));
  }
};

}  // namespace

/// Returns a graph that computes a tensor of these strides with another part: its inputs are the
/// tensor and the part, which the views lead to.
std::shared_ptr<GraphWork> State::replacing(const SharedForm& whole, const SharedForm& part,
                                            std::span<const ViewStep> views,
                                            const AxisList& strides) {
  Structure structure{kReplacing, whole->id, part->id};
  for (const std::int64_t stride : strides) structure.push_back(static_cast<std::uint64_t>(stride));
  for (const ViewStep& view : views) trace::describe(view, structure);
  if (const CachedGraph* known = graphs.find(structure)) return known->work;
  SymbolicGraph graph("write");
  const TensorSymbol old = graph.input("old", whole->form);
  const TensorSymbol given = graph.input("part", part->form);
  const TensorSymbol made =
      graph.tensor({whole->form.dtype, whole->form.shape, strides, whole->form.device});
  Parts parts{graph, old, made};
  for (const ViewStep& view : views) {
    if (view.kind == ViewKind::slice)
      parts.keep_beside(static_cast<int>(view.numbers[0]), view.numbers[1], view.numbers[2],
                        view.numbers[3]);
    if (view.kind == ViewKind::select)
      parts.keep_beside(static_cast<int>(view.numbers[0]), view.numbers[1], 1, 1);
    parts.from = graph.view(parts.from, view);
    parts.to = graph.view(parts.to, view);
  }
  graph.copy(given, parts.to);
  auto work =
      std::make_shared<GraphWork>(std::move(graph), std::vector{old, given}, std::vector{made});
  graphs.add(std::move(structure), {.work = work, .inputs = {}});
  return work;
}

bool State::stays_parameter(const Handle& handle) const {
  return has_no_gradient() && handle.is_parameter && handle.value->is_traced;
}

/// Returns the value that the variable gets: within a NoGradient, that of a variable of the
/// program's is one with respect to which gradients can be asked for, and no function of anything.
Ref<Value> State::as_written(Handle& handle, const Ref<Value>& value) {
  if (!stays_parameter(handle)) return value;
  Ref<Value> own = view(*value, {ViewKind::broadcast, value->form->form.shape}, false);
  own->is_traced = true;
  return own;
}

/// Returns strides without gaps, in which views of the variable are views of its next value: axes
/// follow each other in memory as those of its present value do. Where that repeats elements along
/// several axes, views may join these in any order, and the first such view decides.
AxisList State::packed_strides(const Handle& handle) const {
  const TensorForm& form = handle.value->form->form;
  return handle.joined && repeats(form) ? *handle.joined
                                        : strides_in_order(form, axes_in_memory(form));
}

/// Notes strides without gaps that have the view too, for packed_strides(), if there are some: the
/// axes that it joins follow each other as in the tensor that it reshapes. A view that joins axes a
/// and b as (a, b) needs stride a = extent b * stride b, one that joins them as (b, a) the reverse:
/// no layout has both, since their extents are more than 1. The second one is a copy then.
void State::keep_joined(Handle& base, const ViewStep& step) {
  Handle* const root = base.view_of ? base.view_of->root : &base;
  if (root->views == 0) root->joined.reset();
  const TensorForm& form = root->value->form->form;
  if (step.kind != ViewKind::reshape || root->joined || !repeats(form)) return;
  if (base.view_of && base.view_of->view.kind == ViewKind::reshape) return;
  const std::vector<ViewStep> views = views_between(*root, base);
  const std::optional<std::vector<int>> reshaped = axes_of_view(form.rank(), views);
  if (!reshaped) return;
  std::vector<int> axes = axes_in_memory(form);
  const auto repeating = std::ranges::find(axes, 0, [&](int axis) { return form.strides[axis]; });
  // The axes that are not reshaped stay first.
  auto last = repeating;
  const std::vector<int> all(repeating, axes.end());
  const auto is_joined = [&](int axis) {
    return std::ranges::find(*reshaped, axis) != reshaped->end();
  };
  for (const int axis : all)
    if (!is_joined(axis)) *last++ = axis;
  for (const int axis : *reshaped)
    if (std::ranges::find(all, axis) != all.end()) *last++ = axis;
  const AxisList strides = strides_in_order(form, axes);
  TensorForm seen = with_strides(form, strides);
  for (const ViewStep& view : views) seen = *view_of_form(view, seen);
  if (view_of_form(step, seen)) root->joined = std::make_unique<AxisList>(strides);
}

/// Returns the view, or, where the layout has none, that of a copy in rows.
Ref<Value> State::view_or_copy(Value& x, const ViewStep& step, bool is_traced) {
  if (step.kind != ViewKind::reshape || view_of_form(step, x.form->form))
    return view(x, step, is_traced);
  std::optional<Tracing> traces;
  if (is_traced) traces.emplace();
  return view(*convert(x, kernels.form_of(in_rows(x.form->form))), step, is_traced);
}

/// Returns the last variable on the way to this one that is a copy of its base, if a write gives
/// these strides to the one that is no view; null if there is none.
Handle* State::last_copy(Handle& handle, const TensorForm& root) {
  std::vector<Handle*> way;
  for (Handle* view = &handle; view->view_of; view = view->view_of->base) way.push_back(view);
  const auto reshapes = [](const Handle* view) {
    return view->view_of->view.kind == ViewKind::reshape;
  };
  if (std::ranges::none_of(way, reshapes)) return nullptr;
  TensorForm seen = root;
  Handle* last = nullptr;
  for (auto view = way.rbegin(); view != way.rend(); ++view) {
    const ViewStep& step = (*view)->view_of->view;
    std::optional<TensorForm> next = view_of_form(step, seen);
    if (!next) {
      last = *view;
      next = view_of_form(step, in_rows(seen));
    }
    seen = *next;
  }
  return last;
}

/// Writes to a view of a copy of its base: to its base, what it becomes.
void State::assign_copy(Lock& lock, Handle& handle, Handle& copy, const Ref<Value>& value,
                        const char* what) {
  Ref<Value> made = value;
  const std::vector<ViewStep> views = views_between(copy, handle);
  Handle& base = *copy.view_of->base;
  const AxisList shape = current(base)->form->form.shape;
  if (!views.empty()) {
    const Ref<Value> whole(current(copy));
    Value* const inputs[] = {whole.get(), value.get()};
    const AxisList strides = in_rows(whole->form->form).strides;
    made = run_graph(lock, replacing(whole->form, value->form, views, strides), inputs,
                     traces(inputs))[0];
  }
  assign(lock, base,
         view_or_copy(*made, {ViewKind::reshape, shape}, made->is_traced && !has_no_gradient()),
         what);
}

/// Returns the value in a layout that has the views that the variable's old one has, if there are
/// variables for them.
Ref<Value> State::with_views(const Handle& handle, const Ref<Value>& value) {
  const TensorForm& old = handle.value->form->form;
  const AxisList strides = packed_strides(handle);
  if (handle.views == 0 || value->form->form.strides == strides) return value;
  return convert(*value, kernels.form_of({old.dtype, old.shape, strides, old.device}));
}

void State::assign(Lock& lock, Handle& handle, const Ref<Value>& value, const char* what) {
  forget_previous(handle);
  const Value& old = *current(handle);
  if (old.form->form.dtype != value->form->form.dtype ||
      old.form->form.shape != value->form->form.shape)
    fail(std::string(what) + ": a variable of " + to_string(old.form->form) +
         " cannot have the value " + to_string(value->form->form));
  if (!handle.view_of) {
    const Ref<Value> before(handle.value);
    set_value(handle, as_written(handle, with_views(handle, value)));
    forget_old(handle, before);
    return;
  }
  Handle* const root = handle.view_of->root;
  for (const Handle* view = &handle; view != root; view = view->view_of->base)
    if (element_count(view->value->form->form) >
        element_count(view->view_of->base->value->form->form))
      fail(std::string(what) +
           ": a view that repeats elements cannot be written to: " + to_string(old.form->form));
  const std::vector<ViewStep> views = views_between(*root, handle);
  const TensorForm& present = root->value->form->form;
  const AxisList strides = repeats(present) ? packed_strides(*root) : present.strides;
  if (Handle* copy = last_copy(handle, with_strides(present, strides)))
    return assign_copy(lock, handle, *copy, value, what);
  // The views' own values share the memory. The value that is written may be one of them.
  Value* const written[] = {value.get()};
  const Kept stays(*this, written);
  for (Handle* view = &handle; view != root; view = view->view_of->base) set_value(*view, {});
  const Ref<Value> owner(root->value);
  Value& whole = *owner;
  Value* const inputs[] = {&whole, value.get()};
  const bool is_traced = traces(inputs);
  if (!is_traced && !defers(inputs) && is_alone(whole)) {
    wait_for_devices(inputs);
    Tensor part = *whole.tensor;
    for (const ViewStep& view : views) part = apply(view, part);
    copy(*value->tensor, part);
    set_value(*root, make_value(whole.form, *whole.tensor, stays_parameter(*root)));
    return;
  }
  const Results results = run_graph(
      lock, replacing(whole.form, value->form, views, packed_strides(*root)), inputs, is_traced);
  set_value(*root, as_written(*root, results[0]));
}

/// Makes ready to compute into the memory of the variable's old value, if nothing else needs that;
/// none if something does.
Overwriting State::prepare_over(Handle& handle, const Command& command,
                                std::span<Value* const> inputs, std::size_t k, bool is_required) {
  Value& old = *inputs[k];
  // The op that reads the old value says more than that another reason comes first.
  const auto refuse = [&](const std::string& why) {
    if (!is_required) return Overwriting();
    const std::string reader = step_that_reads(*this, old);
    fail(to_string(command) + " cannot write over its input: " + (reader.empty() ? why : reader));
  };
  const Ref<Kernel> kernel = kernels.find(command, inputs, std::nullopt);
  BoundCall* call = kernels.in_place(*kernel, k);
  if (call == nullptr || kernel->outputs.size() != 1)
    return refuse("the op or its kernel does not allow that");
  if (handle.view_of) return refuse("it is a view of a variable");
  if (defers(inputs)) return refuse("commands are deferred");
  if (!is_alone(old)) {
    if (!is_required) return {};
    if (!reader_of(*this, old).empty()) forget_unasked();
    const std::string reader = reader_of(*this, old);
    if (!reader.empty()) return refuse(reader);
  }
  if (std::ranges::count(inputs, &old) > 1) return refuse("it is read twice");
  const GradientReads* reads = reads_of(*kernel, inputs);
  if (reads != nullptr && is_in(reads->inputs, k))
    return refuse("its own gradient reads the old value");
  // Nothing may fail behind the call, since the old value is gone then.
  Results results{
      make_value(kernel->outputs[0], *old.tensor, reads != nullptr || stays_parameter(handle))};
  if (reads != nullptr) pin_reads(*make_step(kernel, inputs, results, true, false), *reads);
  return {kernel, call, results[0]};
}

void State::finish_over(const Overwriting& over, std::span<Value* const> inputs, std::size_t k) {
  BoundCall& call = *over.call;
  for (std::size_t n = 0; n < inputs.size(); ++n)
    if (inputs[n] != nullptr) call.bind_input(static_cast<int>(n), inputs[n]->tensor->data());
  call.bind_output(0, inputs[k]->tensor->data());
  if (over.kernel->device) {
    const Tensor* const output = inputs[k]->tensor.get();
    over.made->on_device = call_on_device(*over.kernel, call, inputs, std::span(&output, 1));
  } else {
    wait_for_devices(inputs);
    call.run();
  }
  take_memory(*inputs[k]);
}

/// Computes into the memory of the variable's old value, if nothing else needs that; null if
/// something does.
Ref<Value> State::run_over(Handle& handle, const Command& command, std::span<Value* const> inputs,
                           std::size_t k, bool is_required) {
  const Overwriting over = prepare_over(handle, command, inputs, k, is_required);
  if (over.made) finish_over(over, inputs, k);
  return over.made;
}

void State::run_to(Lock& lock, Handle& handle, const Command& command,
                   std::span<Value* const> inputs) {
  forget_previous(handle);
  const Ref<Value> old(current(handle));
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] != old.get() || handle.view_of) continue;
    if (const Ref<Value> made = run_over(handle, command, inputs, k, false)) {
      set_value(handle, made);
      forget_old(handle, old);
      return;
    }
  }
  const CommandResults results = run(lock, command, inputs, std::nullopt);
  if (!results[0]) fail(to_string(command) + " has no output 0 with these inputs");
  assign(lock, handle, results[0], command.definition().name);
}

/// The value's elements are another value's now.
void State::take_memory(Value& value) {
  if (value.handles == 0) saved_bytes -= value.form->bytes;
  value.tensor.reset();
  if (value.is_waiting) count_waiting(value);
  if (value.is_in_memo) memo.forget(value);
}

}  // namespace mote::trace
