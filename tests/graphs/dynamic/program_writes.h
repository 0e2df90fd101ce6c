// SPDX-License-Identifier: Apache-2.0
// The steps of a random program that write to variables, free them and look at them.
#pragma once

#include <string>
#include <vector>

#include "mote/runtime/status.h"
#include "program_commands.h"

namespace mote::test {

class ProgramWrites : protected ProgramCommands {
 protected:
  using ProgramCommands::ProgramCommands;

  /// Gives the model's variable another value, through views too.
  void set(Slot& slot, const Model& value) {
    std::vector<ViewStep> views;
    Slot* root = &slot;
    for (; root->base != nullptr; root = root->base.get()) views.insert(views.begin(), root->view);
    const bool stays_parameter = model_no_gradient && root->is_parameter && root->value->is_traced;
    has_written_parts_ = has_written_parts_ || !views.empty();
    Model made = views.empty() ? value : model_replace(root->value, views, value);
    if (stays_parameter) made = model_detached(made, true);
    root->value = made;
    root->is_leaf = stays_parameter;
    ++root->version;
  }
  static bool can_write(const Slot& slot) {
    for (const Slot* s = &slot; s->base != nullptr; s = s->base.get())
      if (s->view.kind == ViewKind::broadcast) return false;
    return true;
  }

  void write() {
    const SlotPtr x = some(), y = some();
    const Model a = present(*x), b = present(*y);
    if (!can_write(*x)) return;
    const int kind = rng_.below(10);
    if (kind == 0 && x->base == nullptr) {
      const std::vector<double> values = numbers(a->shape);
      say("set " + name(*x));
      x->variable.set(tensor(a->shape, values));
      x->value = model_leaf(a->shape, values, a->is_traced);
      x->is_leaf = true;
      ++x->version;
      return;
    }
    if (kind < 3) {
      if (a->shape != b->shape) return;
      say("assign " + name(*x) + " " + name(*y));
      x->variable.assign(y->variable);
      return set(*x, b);
    }
    const auto op = binary_op(a, b);
    if (!op) return;
    const Model made = op->model(a, b);
    if (made->shape != a->shape) return;
    if (kind < 6) {
      const SlotPtr z = some_like(made->shape, made->shape.size());
      if (!z || !can_write(*z)) return;
      say("run_to " + name(*z) + " " + op->name + " " + name(*x) + " " + name(*y));
      g_.run_to(z->variable, Command(op->name), {x->variable, y->variable});
      return set(*z, made);
    }
    if (op->name == std::string("matmul")) return;
    say("update " + name(*x) + " " + op->name + " " + name(*y));
    if (op->model == model_add) x->variable += y->variable;
    if (op->model == model_sub) x->variable -= y->variable;
    if (op->model == model_mul) x->variable *= y->variable;
    set(*x, made);
  }

  void in_place() {
    const SlotPtr x = some();
    const Model made = model_neg(present(*x));
    try {
      g_.run_in_place(x->variable, Command("neg"));
    } catch (const StatusError&) {
      return;  // something needs the value
    }
    say("in_place " + name(*x));
    set(*x, made);
  }

  void free() {
    const auto at = rng_.below(static_cast<int>(slots_.size()));
    say("free " + name(*slots_[static_cast<std::size_t>(at)]));
    // Views that are left keep what they are views of, and so does the last question.
    if (rng_.chance(50)) {
      last_of_.clear();
      last_wrt_.clear();
    }
    slots_.erase(slots_.begin() + at);
  }

  void detach() {
    const SlotPtr x = some();
    const Model made = model_detached(present(*x));
    say("detach " + name(*x));
    add(x->variable.detach(), made, true);
  }

  void look(Slot& slot, bool knows_if_traced = true) {
    const Model expected = present(slot);
    say("look " + name(slot));
    const Tensor got = slot.variable.value();
    if (got.shape() != expected->shape || got.dtype() != dtype_)
      throw Difference{name(slot) + " is " + describe(got) + " instead of " +
                       to_string(expected->shape)};
    const Tensor list = clone(got).reshape({got.element_count()});
    for (std::size_t k = 0; k < expected->elements.size(); ++k) {
      const double element = list.real_at({static_cast<std::int64_t>(k)});
      if (element != expected->elements[k])
        throw Difference{name(slot) + " has " + std::to_string(element) + " as element " +
                         std::to_string(k) + " instead of " +
                         std::to_string(expected->elements[k])};
    }
    if (knows_if_traced && slot.variable.is_traced() != expected->is_traced)
      throw Difference{name(slot) + (expected->is_traced ? " is not traced" : " is traced")};
  }
};

}  // namespace mote::test
