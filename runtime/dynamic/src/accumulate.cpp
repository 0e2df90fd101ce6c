// SPDX-License-Identifier: Apache-2.0
// Gradients are added to variables: to all of them, or, if something fails, to none.
#include <algorithm>
#include <utility>
#include <vector>

#include "state.h"

namespace mote::trace {

/// A term that is added to a variable.
struct State::Sum {
  Handle* handle;
  Ref<Value> old, term;
  Overwriting over;  ///< without a call the sum has memory of its own
};

namespace {

const Command& add_command() {
  static const Command add("add");
  return add;
}

Handle* root_of(Handle* handle) { return handle->view_of ? handle->view_of->root : handle; }

/// Returns the variables, sorted, that are no views and that these have elements of.
std::vector<Handle*> roots_of(std::span<Handle* const> handles) {
  std::vector<Handle*> roots;
  for (Handle* handle : handles)
    if (handle != nullptr) roots.push_back(root_of(handle));
  std::ranges::sort(roots);
  return roots;
}

/// Gives variables the values back that they had, unless all has been done.
class Before {
 public:
  Before(State& state, std::span<Handle* const> roots)
      : state_(state), values_(values_of(state, roots)), stay_(state, pointers_of(values_)) {}
  ~Before() {
    if (is_done_) return;
    for (const auto& [root, value] : values_)
      if (root->value != value.get()) state_.set_value(*root, value);
  }
  Before(const Before&) = delete;
  Before& operator=(const Before&) = delete;
  void set_done() { is_done_ = true; }

 private:
  using Values = std::vector<std::pair<Handle*, Ref<Value>>>;
  static Values values_of(State& state, std::span<Handle* const> roots) {
    Values values;
    for (Handle* root : roots) values.emplace_back(root, Ref<Value>(state.current(*root)));
    return values;
  }
  static std::vector<Value*> pointers_of(const Values& values) {
    std::vector<Value*> pointers;
    for (const auto& [root, value] : values) pointers.push_back(value.get());
    return pointers;
  }

  State& state_;
  Values values_;
  Kept stay_;  // nothing is written over
  bool is_done_ = false;
};

}  // namespace

/// Computes the sum, or makes ready to compute it in the variable's memory.
void State::prepare_sum(Lock& lock, Sum& sum) {
  forget_previous(*sum.handle);
  sum.old = Ref<Value>(current(*sum.handle));
  Value* const inputs[] = {sum.old.get(), sum.term.get()};
  sum.over = prepare_over(*sum.handle, add_command(), inputs, 0, false);
  if (sum.over.made) return;
  const CommandResults results = run(lock, add_command(), inputs, std::nullopt);
  sum.over.made = as_written(*sum.handle, with_views(*sum.handle, results[0]));
}

/// Adds each term to its variable, of its dtype and shape; null: to none.
void State::add_to(Lock& lock, std::span<Handle* const> handles,
                   std::span<const Ref<Value>> terms) {
  const std::vector<Handle*> all = roots_of(handles);
  std::vector<Sum> sums;
  std::vector<std::size_t> in_turn;
  std::vector<Handle*> roots;
  for (std::size_t k = 0; k < handles.size(); ++k) {
    if (handles[k] == nullptr) continue;
    if (!handles[k]->view_of && std::ranges::equal_range(all, handles[k]).size() == 1) {
      sums.push_back({handles[k], {}, terms[k], {}});
    } else {
      in_turn.push_back(k);
      roots.push_back(root_of(handles[k]));
    }
  }
  Before before(*this, roots);
  for (const std::size_t k : in_turn) {
    Value* const inputs[] = {current(*handles[k]), terms[k].get()};
    run_to(lock, *handles[k], add_command(), inputs);
  }
  // Pending commands may give up the lock, so that what is about to be written over comes last.
  const auto defers_sum = [&](const Sum& sum) {
    Value* const inputs[] = {current(*sum.handle), sum.term.get()};
    return defers(inputs);
  };
  std::ranges::stable_partition(sums, defers_sum);
  for (Sum& sum : sums) prepare_sum(lock, sum);
  before.set_done();
  for (const Sum& sum : sums) {
    Value* const inputs[] = {sum.old.get(), sum.term.get()};
    if (sum.over.call != nullptr) finish_over(sum.over, inputs, 0);
    set_value(*sum.handle, sum.over.made);
    forget_old(*sum.handle, sum.old);
  }
}

}  // namespace mote::trace
