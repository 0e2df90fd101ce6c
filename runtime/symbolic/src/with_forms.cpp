// SPDX-License-Identifier: Apache-2.0
// A graph for inputs of other shapes: what follows from them is inferred anew, in the order of
// nodes.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "device_index.h"
#include "fail.h"
#include "gradient/tape.h"
#include "mote/runtime/error_under_way.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {
namespace {

/// Returns the target of a reshape from `before` to `target` for axes `now`: axes are paired in
/// groups of equal products, and in each group one axis of the target takes the new extent.
std::optional<AxisList> reshaped_target(const AxisList& before, const AxisList& target,
                                        const AxisList& now) {
  if (before == now) return target;
  AxisList result = target;
  int a = 0;
  int b = 0;
  while (a < before.size() || b < target.size()) {
    const int first_a = a;
    const int first_b = b;
    std::int64_t x = a < before.size() ? before[a++] : 1;
    std::int64_t y = b < target.size() ? target[b++] : 1;
    while (x != y) {
      if (x < y && a < before.size())
        x *= before[a++];
      else if (y < x && b < target.size())
        y *= target[b++];
      else
        return std::nullopt;
    }
    std::int64_t product = 1;
    for (int axis = first_a; axis < a; ++axis) product *= now[axis];
    if (product == x) continue;
    // All axes of the group in the target but one keep their extents.
    int changed = -1;
    for (int axis = first_b; axis < b; ++axis) {
      if (target[axis] == 0 || x == 0) return std::nullopt;
      const std::int64_t others = x / target[axis];
      const bool is_one_of_before =
          b - first_b == 1 ||
          std::any_of(before.begin() + first_a, before.begin() + a,
                      [&](std::int64_t extent) { return extent == target[axis]; });
      if (is_one_of_before && product % others == 0 && changed < 0) changed = axis;
    }
    if (changed < 0) return std::nullopt;
    result[changed] = product / (x / target[changed]);
  }
  return result;
}

/// The number of calls under way, one inside the other.
class Depth {
 public:
  explicit Depth(int& count) : count_(count) { ++count_; }
  ~Depth() { --count_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  int& count_;
};

}  // namespace

class FormChanger {
 public:
  FormChanger(const SymbolicGraph& source, SymbolicGraph& graph)
      : source_(source), graph_(graph), is_known_(graph.symbol_count()) {}

  void change(std::span<const std::pair<TensorSymbol, TensorForm>> inputs) {
    for (const auto& [symbol, form] : inputs) set_input(source_.checked(symbol), form);
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k) {
      const SymbolOrigin kind = graph_.symbols_[k].kind;
      if (kind == SymbolOrigin::input || kind == SymbolOrigin::constant) learn(k);
    }
    for (const std::uint32_t node : topological_order(source_)) infer_node(node);
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k)
      if (!graph_.symbols_[k].removed) know(k);
    graph_.note_writes();
    ++graph_.version_;
    verify(graph_);
  }

 private:
  [[noreturn]] void refuse(std::uint32_t symbol, const std::string& why) const {
    fail_graph("other shapes for " + source_.name() + ": " + source_.text(source_.at(symbol)) +
               " was " + to_string(source_.symbols()[symbol].form) + ": " + why);
  }

  void set_input(std::uint32_t symbol, const TensorForm& form) {
    SymbolInfo& info = graph_.symbols_[symbol];
    if (info.kind != SymbolOrigin::input) refuse(symbol, "it is no input");
    if (info.form->dtype != form.dtype)
      refuse(symbol, "the dtype must stay, got " + to_string(form));
    if (!is_same_device(info.form->device, form.device))
      refuse(symbol, "the device must stay, got " + to_string(form));
    info.form = graph_.forms_.of(form);
    info.has_form = true;
  }

  /// Notes that the symbol's form is final, and which form took the place of its old one.
  void learn(std::uint32_t symbol) {
    is_known_[symbol] = true;
    const TensorForm& before = source_.symbols()[symbol].form;
    const TensorForm& now = graph_.symbols_[symbol].form;
    for (auto& [old, becomes] : changes_)
      if (old.shape == before.shape) {
        if (becomes && becomes->shape != now.shape) becomes.reset();  // two shapes became of it
        return;
      }
    changes_.emplace_back(before, now);
  }

  /// Sets the form of a symbol that no node writes whole.
  void know(std::uint32_t symbol) {
    if (is_known_[symbol]) return;
    SymbolInfo& info = graph_.symbols_[symbol];
    if (info.kind == SymbolOrigin::view) {
      know(info.base);
      place(symbol);
      is_known_[symbol] = true;
      return;
    }
    for (const auto& [old, becomes] : changes_) {
      if (old.shape != info.form->shape) continue;
      if (!becomes) refuse(symbol, "its shape became several others, so that it does not follow");
      set_shape(symbol, becomes->shape);
      break;
    }
    is_known_[symbol] = true;
  }

  void set_shape(std::uint32_t symbol, const AxisList& shape) {
    SharedForm& form = graph_.symbols_[symbol].form;
    if (form->shape == shape) return;
    if (!form->is_row_major()) refuse(symbol, "a layout that is not row-major does not follow");
    TensorForm now(form->dtype, shape);
    now.device = form->device;
    form = graph_.forms_.of(now);
  }

  void place(std::uint32_t symbol) {
    SymbolInfo& view = graph_.symbols_[symbol];
    const AxisList before = source_.symbols()[view.base].form->shape;
    const AxisList now = graph_.symbols_[view.base].form->shape;
    ViewStep& step = graph_.steps_[view.side];
    if (step.kind == ViewKind::slice) {
      const auto axis = static_cast<int>(step.numbers[0]);
      const bool is_whole =
          step.numbers[1] == 0 && step.numbers[3] == 1 && step.numbers[2] == before[axis];
      if (is_whole) step.numbers[2] = now[axis];
    } else if (step.kind == ViewKind::reshape) {
      const auto target = reshaped_target(before, step.numbers, now);
      if (!target) refuse(symbol, "how it is reshaped from " + to_string(now) + " does not follow");
      step.numbers = *target;
    } else if (step.kind == ViewKind::broadcast) {
      repeat(symbol, before, now, step);
    }
    try {
      graph_.place_view(view, step);
    } catch (const StatusError& e) {
      refuse(symbol, e.what());
    }
  }

  /// Sets the extents to which a view repeats its base: those of the shape that took the place of
  /// the old one, else the base's own where they were.
  void repeat(std::uint32_t symbol, const AxisList& before, const AxisList& now, ViewStep& step) {
    for (const auto& [old, becomes] : changes_) {
      if (old.shape != step.numbers) continue;
      if (!becomes) refuse(symbol, "its shape became several others, so that it does not follow");
      step.numbers = becomes->shape;
      return;
    }
    const int missing = step.numbers.size() - before.size();
    for (int axis = 0; axis < before.size(); ++axis)
      if (before[axis] == step.numbers[missing + axis]) step.numbers[missing + axis] = now[axis];
  }

  void infer_node(std::uint32_t index) {
    const NodeInfo& node = graph_.nodes_[index];
    for (const std::uint32_t input : node.inputs)
      if (input != kNoIndex) know(input);
    if (node.kind == NodeKind::command) {
      std::optional<DType> dtype;
      for (const std::uint32_t output : node.outputs)
        if (output != kNoIndex && !dtype) dtype = graph_.symbols_[output].form->dtype;
      const auto* const forms = graph_.inferred(*node.command, node.inputs, dtype);
      if (forms == nullptr) return;
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        if (node.outputs[k] != kNoIndex) set_output(node.outputs[k], (*forms)[k].shape);
    } else if (node.kind == NodeKind::control) {
      change_graphs(index);
    } else if (node.kind == NodeKind::copy) {
      set_output(node.outputs[0], graph_.symbols_[node.inputs[0]].form->shape);
    } else if (node.kind == NodeKind::function && node.function->shapes) {
      infer_function(node);
    }
  }

  std::vector<AxisList> shapes_of(const NodeInfo& node, std::span<const TensorForm> inputs) const {
    try {
      return node.function->shapes(inputs);
    } catch (...) {
      const auto [status, what] = error_under_way();
      fail_graph("other shapes for " + source_.name() + ": those that function " +
                     node.function->name + " gives: " + what,
                 status);
    }
  }

  void infer_function(const NodeInfo& node) {
    std::vector<TensorForm> forms;
    for (const std::uint32_t input : node.inputs)
      forms.push_back(input == kNoIndex ? TensorForm() : *graph_.symbols_[input].form);
    const std::vector<AxisList> shapes = shapes_of(node, forms);
    for (std::size_t k = 0; k < std::min(shapes.size(), node.outputs.size()); ++k)
      if (node.outputs[k] != kNoIndex) set_output(node.outputs[k], shapes[k]);
  }

  /// Gives the graphs of a loop or a case..of the forms of the node's inputs.
  void change_graphs(std::uint32_t index) {
    NodeInfo& node = graph_.nodes_[index];
    auto control = std::make_shared<ControlInfo>(*node.control);
    for (std::size_t g = 0; g < control->graphs.size(); ++g) {
      SymbolicGraph& sub = control->graphs[g];
      const std::vector<std::uint32_t> inputs = input_indices(sub);
      std::vector<std::pair<TensorSymbol, TensorForm>> changed;
      for (std::size_t k = 0; k < input_count(*control, g); ++k) {
        const TensorForm& form = graph_.symbols_[node.inputs[first_input(node, g) + k]].form;
        if (form != sub.symbols()[inputs[k]].form) changed.emplace_back(sub.at(inputs[k]), form);
      }
      if (!changed.empty()) sub = sub.with_forms(changed);
    }
    const SymbolicGraph& first = control->graphs[0];
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      set_output(node.outputs[k], first.symbols()[first.output_indices()[k]].form->shape);
      graph_.symbols_[node.outputs[k]].form = first.symbols()[first.output_indices()[k]].form;
    }
    graph_.nodes_[index].control = std::move(control);
  }

  /// Sets the shape of a root that a node writes whole; a view gets its own from its root.
  void set_output(std::uint32_t symbol, const AxisList& shape) {
    if (graph_.symbols_[symbol].root != symbol) return know(symbol);
    set_shape(symbol, shape);
    learn(symbol);
  }

  const SymbolicGraph& source_;
  SymbolicGraph& graph_;
  std::vector<bool> is_known_;
  std::vector<std::pair<TensorForm, std::optional<TensorForm>>> changes_;
};

SymbolicGraph SymbolicGraph::with_forms(
    std::span<const std::pair<TensorSymbol, TensorForm>> inputs) const {
  thread_local int graphs_around = 0;
  if (graphs_around == 0) forget_tape_shapes();
  const Depth depth(graphs_around);
  SymbolicGraph copy(*this);
  FormChanger(*this, copy).change(inputs);
  return copy;
}

}  // namespace mote
