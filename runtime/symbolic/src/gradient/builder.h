// SPDX-License-Identifier: Apache-2.0
// Appends the nodes of a gradient to a graph: commands whose forms are inferred, sums over axes
// that were repeated, conversions, constants. A target is a symbol that the result is written to;
// without one the result is a new symbol, or one that has the value already.
#pragma once

#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "gradient/op_table.h"
#include "mote/base/tensor_mask.h"
#include "mote/symbolic/symbolic_graph.h"
#include "shape_notes.h"

namespace mote {

/// A shape, and the symbol whose axes it is made of (shape_notes.h).
struct MadeShape {
  AxisList shape = {};
  std::uint32_t of = kNoIndex;  ///< kNoIndex: none that is known
  AxisGroups groups = {};
};

class GraphBuilder {
 public:
  explicit GraphBuilder(SymbolicGraph& graph) : graph_(graph), ops_(graph.registry()) {}

  SymbolicGraph& graph() { return graph_; }
  OpTable& ops() { return ops_; }
  const TensorForm& form(TensorSymbol x) const { return graph_.form(x); }
  const AxisList& shape(TensorSymbol x) const { return graph_.form(x).shape; }
  DType dtype(TensorSymbol x) const { return graph_.form(x).dtype; }
  /// Returns the shape of x, or one that is made of its axes.
  MadeShape like(TensorSymbol x) const { return made_of(x, each_axis(shape(x).size())); }
  MadeShape made_of(TensorSymbol x, const AxisGroups& groups) const;

  /// Returns the command of that op with the other's parameters, as far as the op has them.
  const Command& command_like(const std::string& op, const Command& other, std::optional<int> axis);

  /// Likewise, with the default of one parameter.
  const Command& command_without(const std::string& op, const Command& other,
                                 std::optional<int> axis, std::string_view param);

  /// Returns the forms of all outputs, which are valid until forms are inferred again.
  const std::vector<TensorForm>& infer_forms(const Command& command,
                                             std::span<const TensorSymbol> inputs,
                                             std::optional<DType> dtype = std::nullopt) const;
  /// Adds a node with the outputs of the mask, and those that it may not leave out. `forms` are
  /// those of infer_forms(). Returns a symbol for each output of the op.
  std::vector<TensorSymbol> emit(const Command& command, std::span<const TensorSymbol> inputs,
                                 std::span<const TensorForm> forms, TensorMask wanted,
                                 std::span<const TensorSymbol> targets = {});
  /// Adds a node with one output.
  TensorSymbol op(const std::string& command, std::span<const TensorSymbol> inputs,
                  TensorSymbol target = {});
  TensorSymbol op(const std::string& command, std::initializer_list<TensorSymbol> inputs,
                  TensorSymbol target = {}) {
    return op(command, std::span(inputs.begin(), inputs.size()), target);
  }

  /// Returns a tensor of that dtype, shape and device whose elements have the value. It has the
  /// memory of one element.
  TensorSymbol filled(double value, const TensorForm& form, const MadeShape& shape = {});
  /// Likewise, with the form of x.
  TensorSymbol filled_like(double value, TensorSymbol x) { return filled(value, form(x), like(x)); }
  /// Returns a scalar of x's dtype, on its device.
  TensorSymbol number(double value, TensorSymbol x) {
    return filled(value, {dtype(x), {}, {}, form(x).device});
  }
  TensorSymbol add(TensorSymbol a, TensorSymbol b, TensorSymbol target = {}) {
    return op("add", {a, b}, target);
  }
  /// Adds the symbols that are not empty; returns an empty one if all are.
  TensorSymbol sum(std::span<const TensorSymbol> terms, TensorSymbol target = {});
  /// Sums over the axes that x has more than the shape, or where the shape has 1: the reverse of
  /// NumPy's broadcasting.
  TensorSymbol sum_to(TensorSymbol x, const MadeShape& shape, TensorSymbol target = {});
  /// Sums over the axes, which rise; they do not remain. The target has the shape of the result.
  TensorSymbol sum_over(TensorSymbol x, std::span<const int> axes, TensorSymbol target = {});
  /// Returns the elements in row-major order: a view, or one of a copy.
  TensorSymbol reshaped(TensorSymbol x, const MadeShape& shape);
  TensorSymbol reshaped(TensorSymbol x, const AxisList& shape) {
    return reshaped(x, MadeShape{shape});
  }
  /// Returns such a view of x, if its strides allow it, else an empty symbol.
  TensorSymbol try_reshape(TensorSymbol x, const MadeShape& shape);
  TensorSymbol broadcast(TensorSymbol x, const MadeShape& shape);
  /// Returns x in that dtype. The same question has the same answer.
  TensorSymbol converted(TensorSymbol x, DType dtype);
  /// Returns the target after copying x to it; x if there is no target, or if it is x.
  TensorSymbol into(TensorSymbol target, TensorSymbol x);

  /// Notes that x, which no node writes whole or which is a view, has that shape for all shapes of
  /// inputs.
  TensorSymbol following(TensorSymbol x, const MadeShape& shape);
  /// Notes that x, by what computes it, has that shape; a graph for shapes of inputs for which it
  /// has another one is refused.
  TensorSymbol expecting(TensorSymbol x, const MadeShape& shape);
  /// Notes that the value of x holds only for the shape that `of` has.
  void holding(TensorSymbol x, TensorSymbol of) {
    note_shape(graph_, x, {ShapeNoteKind::stays, of.index});
  }
  /// Notes that x holds only for the shapes for which the others do.
  void holding_like(TensorSymbol x, std::span<const TensorSymbol> others);

 private:
  const Command& parsed(const std::string& text);

  /// What was inferred last.
  struct Inferred {
    std::optional<Command> command;
    std::vector<std::optional<TensorForm>> inputs;
    std::optional<DType> dtype;
    std::vector<TensorForm> outputs;
  };

  SymbolicGraph& graph_;
  OpTable ops_;
  mutable Inferred last_;
  mutable std::vector<const TensorForm*> given_;  ///< of the last infer_forms()
  std::unordered_map<std::string, Command> commands_;
  std::unordered_map<std::string, std::unordered_map<Command, std::deque<Command>>> alike_;
  std::map<std::string, TensorSymbol> scalars_;
  std::map<std::pair<std::uint32_t, DType>, TensorSymbol> converted_;
};

}  // namespace mote
