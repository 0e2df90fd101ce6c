// SPDX-License-Identifier: Apache-2.0
// A graph for inputs of other shapes: what follows from them is inferred anew, in the order of
// nodes.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device_index.h"
#include "fail.h"
#include "gradient/tape.h"
#include "mote/runtime/error_under_way.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/symbolic_graph.h"
#include "same_overlaps.h"
#include "shape_changes.h"
#include "shape_notes.h"

namespace mote {
namespace {

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
      : source_(source),
        graph_(graph),
        is_known_(graph.symbol_count()),
        is_inferred_(graph.node_count()) {}

  void change(std::span<const std::pair<TensorSymbol, TensorForm>> inputs) {
    for (const auto& [symbol, form] : inputs) set_input(source_.checked(symbol), form);
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k) {
      const SymbolOrigin kind = graph_.symbols_[k].kind;
      if (!graph_.symbols_[k].removed &&
          (kind == SymbolOrigin::input || kind == SymbolOrigin::constant))
        learn(k);
    }
    for (const std::uint32_t node : topological_order(source_)) infer_node(node);
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k)
      if (!graph_.symbols_[k].removed) know(k);
    for (const auto& [symbol, extent] : kept_) check_kept(symbol, extent);
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k)
      if (!graph_.symbols_[k].removed) check_notes(k);
    if (has_shape_notes(source_)) check_overlaps();
    graph_.note_writes();
    ++graph_.version_;
    check_graph();
  }

 private:
  std::string subject() const { return "other shapes for " + source_.name() + ": "; }
  [[noreturn]] void refuse(std::uint32_t symbol, const std::string& why) const {
    fail_graph(subject() + source_.text(source_.at(symbol)) + " was " +
               to_string(source_.symbols()[symbol].form) + ": " + why);
  }
  const AxisList& before(std::uint32_t symbol) const {
    return source_.symbols()[symbol].form->shape;
  }
  const AxisList& now(std::uint32_t symbol) const { return graph_.symbols_[symbol].form->shape; }

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
    changes_.learn(before(symbol), now(symbol));
  }

  /// Sets the form of a symbol that no node writes whole.
  void know(std::uint32_t symbol) {
    if (is_known_[symbol]) return;
    is_known_[symbol] = true;  // what follows from itself keeps its shape
    if (graph_.symbols_[symbol].kind == SymbolOrigin::view) {
      know(graph_.symbols_[symbol].base);
      place(symbol);
      return;
    }
    if (const auto shape = noted_shape(symbol)) return set_shape(symbol, *shape);
    if (const auto shape = taken_shape(symbol, before(symbol))) return set_shape(symbol, *shape);
    for (const std::int64_t extent : before(symbol)) keep(symbol, extent);
  }

  /// Returns the shape that is noted to follow from that of a symbol which is still there.
  std::optional<AxisList> noted_shape(std::uint32_t symbol) {
    for (const ShapeNote& note : shape_notes(source_, symbol)) {
      if (note.kind != ShapeNoteKind::follows || graph_.symbols_[note.of].removed) continue;
      infer(note.of);
      return note.groups.of(now(note.of));
    }
    return std::nullopt;
  }

  /// Makes the form of a symbol known.
  void infer(std::uint32_t symbol) {
    const std::uint32_t root = graph_.symbols_[symbol].root;
    if (const std::uint32_t node = graph_.symbols_[root].producer; node != kNoIndex)
      infer_node(node);
    know(symbol);
  }

  /// Returns the shape that took the place of an old one, if a symbol had that.
  std::optional<AxisList> taken_shape(std::uint32_t symbol, const AxisList& old) const {
    const std::vector<AxisList>& taken = changes_.of(old);
    if (taken.size() > 1)
      refuse(symbol, "its shape became " + to_string(taken[0]) + " and " + to_string(taken[1]) +
                         ", so that it does not follow");
    return taken.empty() ? std::nullopt : std::optional(taken[0]);
  }

  /// Keeps an extent that follows from nothing. It is checked at the end, when all extents that
  /// change are known.
  void keep(std::uint32_t symbol, std::int64_t extent) { kept_.emplace_back(symbol, extent); }

  void check_kept(std::uint32_t symbol, std::int64_t extent) const {
    const std::set<std::int64_t>& others = changes_.of(extent);
    if (!others.empty())
      refuse(symbol, "its extent " + std::to_string(extent) + " may be one that became " +
                         std::to_string(*others.begin()) + ", and nothing says so");
  }

  void check_notes(std::uint32_t symbol) const {
    for (const ShapeNote& note : shape_notes(source_, symbol)) {
      const bool is_there = !graph_.symbols_[note.of].removed;
      const auto text = [&] { return source_.text(source_.at(note.of)); };
      if (note.kind == ShapeNoteKind::stays) {
        if (!is_there || now(note.of) != before(note.of))
          refuse(symbol, "it was written for the shape " + to_string(before(note.of)) + " of " +
                             text() + " alone");
      } else if (!is_there) {
        for (const std::int64_t extent : before(note.of)) check_repeated(symbol, extent);
      } else if (note.groups.of(now(note.of)) != now(symbol)) {
        refuse(symbol, "it must have the shape " + to_string(note.groups.of(now(note.of))) +
                           " now, by that of " + text() + ", and has " + to_string(now(symbol)));
      }
    }
  }

  /// Checks that the same views share elements: a gradient sums those of views that do.
  void check_overlaps() const {
    const auto changed = changed_overlap(source_, graph_);
    if (!changed) return;
    const auto text = [&](std::uint32_t view) { return source_.text(source_.at(view)); };
    refuse(changed->first, "it would share elements with " + text(changed->second) +
                               " where it did not, or no longer, and a gradient depends on that");
  }

  /// Checks the graph whole: a part that is cut may not fit any more, or leave elements unwritten.
  void check_graph() const {
    try {
      verify(graph_);
    } catch (const StatusError& e) {
      constexpr std::string_view kLayer = "symbolic graph: ";
      std::string what = e.what();
      if (what.starts_with(kLayer)) what.erase(0, kLayer.size());
      fail_graph("other shapes for " + what, e.status());
    }
  }

  /// Checks that an extent of a shape that is not known any more was not repeated and is not now:
  /// the symbol would be summed, or would not.
  void check_repeated(std::uint32_t symbol, std::int64_t extent) const {
    if (extent == 1 || changes_.of(extent).contains(1)) check_kept(symbol, extent);
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
    const std::uint32_t base = graph_.symbols_[symbol].base;
    ViewStep& step = graph_.steps_[graph_.symbols_[symbol].side];
    const bool has_shape = step.kind == ViewKind::reshape || step.kind == ViewKind::broadcast;
    if (const auto shape = has_shape ? noted_shape(symbol) : std::nullopt)
      step.numbers = *shape;
    else if (step.kind == ViewKind::slice)
      cut(before(base), now(base), step);
    else if (step.kind == ViewKind::reshape)
      reshape(symbol, base, step);
    else if (step.kind == ViewKind::broadcast)
      repeat(symbol, base, step);
    try {
      graph_.place_view(graph_.symbols_[symbol], step);
    } catch (const StatusError& e) {
      refuse(symbol, e.what());
    }
  }

  /// A slice of a whole axis takes the whole new one.
  static void cut(const AxisList& before, const AxisList& now, ViewStep& step) {
    const auto axis = static_cast<int>(step.numbers[0]);
    const bool is_whole =
        step.numbers[1] == 0 && step.numbers[3] == 1 && step.numbers[2] == before[axis];
    if (is_whole) step.numbers[2] = now[axis];
  }

  void reshape(std::uint32_t symbol, std::uint32_t base, ViewStep& step) const {
    const std::vector<AxisList> targets = reshaped_targets(before(base), step.numbers, now(base));
    if (targets.empty())
      refuse(symbol, "how it is reshaped from " + to_string(now(base)) + " does not follow");
    if (targets.size() > 1)
      refuse(symbol, "it may be reshaped from " + to_string(now(base)) + " to " +
                         to_string(targets[0]) + " or to " + to_string(targets[1]));
    step.numbers = targets[0];
  }

  /// Sets the extents to which a view repeats its base: those of the shape that took the place of
  /// the old one, else the base's own where they were.
  void repeat(std::uint32_t symbol, std::uint32_t base, ViewStep& step) {
    const AxisList old = step.numbers;
    if (const auto shape = old == before(base) ? std::nullopt : taken_shape(symbol, old)) {
      step.numbers = *shape;
      return;
    }
    const int missing = old.size() - before(base).size();
    for (int axis = 0; axis < old.size(); ++axis) {
      const bool is_own = axis >= missing && before(base)[axis - missing] == old[axis];
      if (is_own) step.numbers[axis] = now(base)[axis - missing];
      // An extent of 1 may have become another one to which the base is repeated.
      if (!is_own || (old[axis] == 1 && step.numbers[axis] == 1)) keep(symbol, old[axis]);
    }
  }

  void infer_node(std::uint32_t index) {
    if (is_inferred_[index]) return;
    is_inferred_[index] = true;
    const NodeInfo node = graph_.nodes_[index];
    for (const std::uint32_t input : node.inputs)
      if (input != kNoIndex) infer(input);
    if (node.kind == NodeKind::command) {
      infer_command(index);
    } else if (node.kind == NodeKind::control) {
      change_graphs(index);
    } else if (node.kind == NodeKind::copy) {
      set_output(node.outputs[0], now(node.inputs[0]));
    } else if (node.kind == NodeKind::function && node.function->shapes) {
      infer_function(node);
    }
  }

  void infer_command(std::uint32_t index) {
    const NodeInfo& node = graph_.nodes_[index];
    std::optional<DType> dtype;
    for (const std::uint32_t output : node.outputs)
      if (output != kNoIndex && !dtype) dtype = graph_.symbols_[output].form->dtype;
    std::vector<AxisList> shapes;
    try {
      const auto* const forms = graph_.inferred(*node.command, node.inputs, dtype);
      if (forms == nullptr) return;
      for (const TensorForm& form : *forms) shapes.push_back(form.shape);
    } catch (const StatusError& e) {
      fail_graph(subject() + source_.text(source_.node_at(index)) + ": " + e.what(), e.status());
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (node.outputs[k] != kNoIndex) set_output(node.outputs[k], shapes[k]);
  }

  std::vector<AxisList> shapes_of(const NodeInfo& node, std::span<const TensorForm> inputs) const {
    try {
      return node.function->shapes(inputs);
    } catch (...) {
      const auto [status, what] = error_under_way();
      fail_graph(subject() + "those that function " + node.function->name + " gives: " + what,
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
    if (graph_.symbols_[symbol].root != symbol) {
      know(symbol);
      const TensorForm& form = graph_.symbols_[symbol].form;
      for (int axis = 0; axis < form.shape.size(); ++axis)
        if (form.shape[axis] > 1 && form.strides[axis] == 0)
          refuse(symbol,
                 "a node writes it, and as " + to_string(form) + " its elements share memory");
      return;
    }
    set_shape(symbol, shape);
    learn(symbol);
  }

  const SymbolicGraph& source_;
  SymbolicGraph& graph_;
  std::vector<bool> is_known_;
  std::vector<bool> is_inferred_;  ///< by node
  ShapeChanges changes_;
  std::vector<std::pair<std::uint32_t, std::int64_t>> kept_;  ///< symbols, and extents of theirs
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
