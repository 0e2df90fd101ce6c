// SPDX-License-Identifier: Apache-2.0
// The steps of a random program that make variables: leaves, commands, functions and views.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program_slots.h"

namespace mote::test {

class ProgramCommands : protected ProgramSlots {
 protected:
  using ProgramSlots::ProgramSlots;

  template <typename F>
  void with_no_gradient(const F& f) {
    if (!rng_.chance(6)) return f();
    const NoGradient none;
    model_no_gradient = true;
    log_ += " no gradient:\n";
    try {
      f();
    } catch (...) {
      model_no_gradient = false;
      throw;
    }
    model_no_gradient = false;
  }

  void leaf() {
    AxisList shape;
    switch (rng_.below(5)) {
      case 0:
        break;
      case 1:
        shape = {extents_[0]};
        break;
      case 2:
        shape = {extents_[1], extents_[0]};
        break;
      default:
        shape = {extents_[0], extents_[1]};
    }
    const std::vector<double> values = numbers(shape);
    const int kind = rng_.below(10);
    if (kind == 0) {
      add(g_.zeros({dtype_, shape}), model_zeros(shape), true);
    } else {
      const Tensor given = tensor(shape, values);
      add(kind < 7 ? g_.variable(given) : g_.constant(given), model_leaf(shape, values, kind < 7),
          true);
      slots_.back()->is_parameter = kind < 7;
    }
    say((kind == 0  ? "zeros "
         : kind < 7 ? "variable "
                    : "constant ") +
        name(*slots_.back()) + to_string(shape));
  }

  /// A binary op that the two shapes allow; null if none is.
  struct Op {
    const char* name;
    Model (*model)(const Model&, const Model&);
  };
  static bool broadcasts(const AxisList& x, const AxisList& y) {
    for (int axis = 1; axis <= std::min(x.size(), y.size()); ++axis) {
      const std::int64_t a = x[x.size() - axis], b = y[y.size() - axis];
      if (a != b && a != 1 && b != 1) return false;
    }
    return true;
  }
  std::optional<Op> binary_op(const Model& x, const Model& y) {
    const int kind = rng_.below(4);
    if (kind == 0 && x->shape.size() == 2 && y->shape.size() == 2 && x->shape[1] == y->shape[0])
      return Op{"matmul", model_matmul};
    if (!broadcasts(x->shape, y->shape)) return std::nullopt;
    return std::vector<Op>{{"add", model_add},
                           {"sub", model_sub},
                           {"mul", model_mul},
                           {"add", model_add}}[static_cast<std::size_t>(kind)];
  }

  void command() {
    const SlotPtr x = some(), y = some();
    const Model a = present(*x), b = present(*y);
    const int kind = rng_.below(13);
    const std::string names = name(*x) + " " + name(*y);
    if (kind < 7) {
      const auto op = binary_op(a, b);
      if (!op) return;
      const Model made = op->model(a, b);
      say(op->name + std::string(" ") + names);
      Variable result = g_.run(op->name, {x->variable, y->variable});
      return add(std::move(result), made, false);
    }
    if (kind < 9 && a->shape.size() > 0) {
      const int axis = parts_.below(a->shape.size());
      const Model made = model_sum(a, axis);
      say("sum " + name(*x) + " axis " + std::to_string(axis));
      Variable sum = g_.run("sum axis=" + std::to_string(axis), {x->variable});
      return add(std::move(sum), made, false);
    }
    if (kind == 9) {
      const Model made = model_neg(a);
      say("neg " + name(*x));
      return add(-x->variable, made, false);
    }
    if (kind == 12) return pool(x, a);
    function(kind, x, a);
  }

  static Variable with_four_axes(const Variable& x) {
    AxisList shape{1, 1, 1, 1};
    const AxisList own = x.form().shape;
    for (int axis = 0; axis < own.size(); ++axis) shape[axis + 4 - own.size()] = own[axis];
    return x.broadcast_to(shape);
  }

  /// x and a constant that is gone at once, through an op whose gradient reads its second output
  /// alone: what that is computed from is gone too.
  void pool(const SlotPtr& x, const Model& a) {
    const std::vector<double> values = numbers(a->shape);
    const Model made = model_add(a, model_leaf(a->shape, values, false));
    say("pool " + name(*x));
    const Variable sum = x->variable + g_.constant(tensor(a->shape, values));
    const Variable pooled = g_.run(
        "max_pool2d_with_indices kernel0=1 kernel1=1 stride0=1 stride1=1", {with_four_axes(sum)});
    add(g_.convert(pooled.reshape(a->shape), {dtype_, a->shape}), made, false);
  }

  void function(int kind, const SlotPtr& x, const Model& a) {
    const Model square = model_mul(a, a);
    const std::vector<VariableRef> given{x->variable};
    if (kind == 10) {
      say("call square " + name(*x));
      const TensorForm form = x->variable.form();
      const std::vector<TensorForm> outputs{{form.dtype, form.shape}};
      return add(g_.call(square_function(), given, outputs).at(0), square, false);
    }
    const Function which =
        rng_.pick({Function::sum, Function::product, Function::loop, Function::nested});
    const Model made = which == Function::product ? model_mul(square, model_add(a, a))
                       : which == Function::loop  ? model_mul(square, a)
                                                  : model_add(square, a);
    say((which == Function::nested ? "nested "
         : which == Function::sum  ? "static "
         : which == Function::loop ? "loop "
                                   : "product ") +
        name(*x));
    add(g_.run(graph_function(which, dtype_, a->shape.size()), given).at(0), made, false);
  }

  std::optional<ViewStep> some_step(const AxisList& shape) {
    const int rank = shape.size();
    switch (rng_.below(5)) {
      case 0:
      case 1: {
        if (rank == 0) return std::nullopt;
        const int axis = parts_.below(rank);
        const auto extent = static_cast<int>(shape[axis]);
        const int begin = parts_.below(extent);
        const int count = 1 + parts_.below(extent - begin);
        return ViewStep{ViewKind::slice, {axis, begin, count, 1}};
      }
      case 2:
        if (rank == 0) return std::nullopt;
        return ViewStep{ViewKind::select, {0, parts_.below(static_cast<int>(shape[0]))}};
      case 3:
        if (rank != 2) return std::nullopt;
        return ViewStep{ViewKind::permute, {1, 0}};
      default: {
        if (rank != 1) return ViewStep{ViewKind::broadcast, shape};
        return ViewStep{ViewKind::broadcast, {2, shape[0]}};
      }
    }
  }

  void view() {
    const SlotPtr x = some();
    const Model a = present(*x);
    const auto step = some_step(a->shape);
    if (!step) return;
    const Model made = model_view(a, *step);
    say(std::string("view ") + mote::name(step->kind) + " " + to_string(step->numbers) + " of " +
        name(*x));
    const AxisList& n = step->numbers;
    Variable variable =
        step->kind == ViewKind::slice ? x->variable.slice(static_cast<int>(n[0]), n[1], n[2], n[3])
        : step->kind == ViewKind::select  ? x->variable.select(static_cast<int>(n[0]), n[1])
        : step->kind == ViewKind::permute ? x->variable.permute(n)
                                          : x->variable.broadcast_to(n);
    const auto slot = std::make_shared<Slot>();
    slot->variable = std::move(variable);
    slot->value = made;
    slot->base = x;
    slot->view = *step;
    slot->base_version = x->version;
    slot->is_traced_view = !model_no_gradient;
    append(slot);
  }
};

}  // namespace mote::test
