// SPDX-License-Identifier: Apache-2.0
// A dynamic graph: commands run as they are given, and what was run is remembered as far as a
// gradient needs it.
//
//   DynamicGraph g(context);
//   Variable w = g.variable(weight);
//   const Variable x = g.constant(images);
//   const Variable loss = sum(tanh(matmul(x, w)));     // mote/dynamic/ops.h
//   const Variable gw = g.backward({loss}, {w})[0];
//   w -= 0.1 * gw;
//
// The trace is a graph whose values are written once; variables name its values. backward() takes
// the part of the trace between two sets of variables as a symbolic graph, differentiates it
// (mote/symbolic/gradient.h), and compiles that; a part of the same structure, with tensors of the
// same forms, runs what was compiled before. A value that no variable has any more gives its memory
// back as soon as no gradient can need it; values that no variable depends on are forgotten.
// Many threads may use a graph at once; each call is whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mote/base/export.h"
#include "mote/dynamic/variable.h"
#include "mote/runtime/context.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

struct DynamicOptions {
  /// Commands are not run when they are given but when a value that depends on them is looked at:
  /// then all that it depends on is compiled as one graph, with the same bits. A command whose
  /// values are never looked at is never run.
  bool deferred = false;
  /// In deferred mode, everything that a variable has is computed when pending values, and those
  /// that no variable has and that only wait for pending commands, need more bytes than this.
  std::size_t pending_bytes = std::size_t{1} << 30U;
  /// Results are kept, up to this many bytes, and returned for an equal command on the same values.
  /// The least recently used ones go first; results of random ops are never kept. 0: none.
  std::size_t memo_bytes = 0;
  /// If values that only gradients need take more bytes than this, some of them are dropped, and
  /// computed again by backward(). 0: none is dropped.
  std::size_t saved_bytes = 0;
  /// The number of compiled graphs that are kept for the next trace of the same structure; the
  /// least recently used one goes.
  std::size_t kept_graphs = 64;
  /// The most bytes of planned memory that kept graphs may have together; the least recently used
  /// ones go, and the last one stays whatever it has.
  std::size_t kept_graph_bytes = std::size_t{1} << 30U;
};

struct BackwardOptions {
  /// The gradients of what `of` is used for, of their dtypes and shapes; none: all 1.
  std::vector<Variable> seeds = {};
  /// Variables, one for each of `wrt`, that the gradients are added to.
  std::vector<Variable> into = {};
  /// Gradients are traced, so that they can be differentiated again.
  bool is_traced = false;
};

/// The reasons for which values keep their memory, and what a graph consists of.
struct DynamicStatistics {
  std::size_t variables = 0;       ///< those that the program has
  std::size_t values = 0;          ///< tensors that the graph knows, with memory or without
  std::size_t steps = 0;           ///< commands, views and functions that are remembered
  std::size_t pending_steps = 0;   ///< those that have not run
  std::size_t variable_bytes = 0;  ///< of values that variables have
  std::size_t saved_bytes = 0;     ///< of values that only gradients or pending steps need
  std::size_t memo_bytes = 0;      ///< of values that are only kept for equal commands
  std::size_t free_bytes = 0;      ///< memory that the next values take
  std::size_t memo_hits = 0;
  std::size_t compiled_graphs = 0;  ///< those that are kept
  std::size_t compilations = 0;     ///< those that were made, ever
  std::size_t compiled_bytes = 0;   ///< of the memory of those that are kept
  std::size_t computed_again = 0;   ///< steps that ran again because their values had been dropped
  std::size_t forgotten = 0;        ///< steps that went since no gradient could be asked for
};

/// Returns a line for each count, for people.
std::string to_text(const DynamicStatistics& statistics);

/// Memory that values share, and why it is kept.
struct KeptMemory {
  std::string form;    ///< `f32[2,3]`, of one of the values
  std::size_t bytes;   ///< of that value, or of a tape
  std::string reason;  ///< "a variable has it", "the gradient of tanh reads it", …
};

/// While one exists, no graph remembers what is run in this thread: results are constants. A
/// variable of DynamicGraph::variable() that is written to is one with respect to which gradients
/// can be asked for as before, and computed from nothing: w -= 0.1 * gw.
class NoGradient {
 public:
  NoGradient();
  ~NoGradient();
  NoGradient(const NoGradient&) = delete;
  NoGradient& operator=(const NoGradient&) = delete;
};

/// A symbolic graph as one step of dynamic graphs. Its inputs are the graph's, in the order of
/// their symbols; its outputs the graph's outputs. It is compiled once for each set of forms.
class StaticFunction {
 public:
  /// Throws StatusError if the graph has no outputs.
  explicit StaticFunction(SymbolicGraph graph);
  const SymbolicGraph& graph() const;

 private:
  friend class DynamicGraph;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

class DynamicGraph {
 public:
  /// The context must outlive the graph and all of its variables.
  explicit DynamicGraph(Context& context, const DynamicOptions& options = {});
  DynamicGraph(const DynamicGraph&) noexcept;  ///< the same graph
  DynamicGraph& operator=(const DynamicGraph&) noexcept;
  ~DynamicGraph();

  Context& context() const;
  const DynamicOptions& options() const;

  // ---- variables; they share the memory of the tensor, which must not be written to
  // (Variable::set)

  /// Makes a variable whose gradient may be asked for. Throws StatusError if the tensor is not
  /// real.
  Variable variable(const Tensor& value);
  /// Makes a variable through which no gradient flows.
  Variable constant(const Tensor& value);
  /// Makes a constant of one element and no axes.
  Variable scalar(DType dtype, double value);
  /// Makes one of the dtype, and on the device, of another variable.
  Variable scalar(const Variable& like, double value);
  /// Makes a variable of zeros, of which parts can be written through views.
  Variable zeros(const TensorForm& form);

  // ---- commands; inputs of another graph throw StatusError

  /// Runs a command with one output, or returns the first of several.
  Variable run(const Command& command, std::initializer_list<VariableRef> inputs,
               std::optional<DType> dtype = std::nullopt);
  Variable run(std::string_view command, std::initializer_list<VariableRef> inputs,
               std::optional<DType> dtype = std::nullopt);
  /// Returns all outputs; one that depends on an input that is left out is none.
  std::vector<Variable> run_all(const Command& command, std::span<const VariableRef> inputs,
                                std::optional<DType> dtype = std::nullopt);
  /// Writes the first output to a variable of its dtype and shape, or to the elements of one that a
  /// view has. If nothing needs the old value the result takes its memory, where the op allows
  /// that.
  void run_to(const Variable& output, const Command& command,
              std::initializer_list<VariableRef> inputs);
  void run_to(const Variable& output, const Command& command, std::span<const VariableRef> inputs);
  /// Writes the output over the first input's memory, which keeps its address. Throws StatusError,
  /// with both ops, if a gradient, a pending command or another variable needs the old value; and
  /// if the op can't do so. A tensor that value() returned before has the new elements then.
  void run_in_place(const Variable& x, const Command& command,
                    std::initializer_list<VariableRef> others = {});
  void run_in_place(const Variable& x, const Command& command, std::span<const VariableRef> others);
  /// Returns x in another dtype, layout or on another device.
  Variable convert(const Variable& x, const TensorForm& form);
  /// Runs a symbolic graph as one step.
  std::vector<Variable> run(const StaticFunction& function,
                            std::initializer_list<VariableRef> inputs);
  std::vector<Variable> run(const StaticFunction& function, std::span<const VariableRef> inputs);
  /// Calls the caller's code, whose outputs have these forms. A gradient is its `gradient`'s.
  std::vector<Variable> call(const std::shared_ptr<const NamedFunction>& function,
                             std::span<const VariableRef> inputs,
                             std::span<const TensorForm> outputs);

  // ---- gradients

  /// Returns the gradient of sum_k <seeds[k], of[k]> with respect to each of `wrt`: variables of
  /// their dtypes and shapes. What nothing depends on gets zeros. Throws StatusError as
  /// gradient() does (mote/symbolic/gradient.h).
  std::vector<Variable> backward(std::span<const Variable> of, std::span<const Variable> wrt,
                                 const BackwardOptions& options = {});
  std::vector<Variable> backward(std::initializer_list<Variable> of,
                                 std::initializer_list<Variable> wrt,
                                 const BackwardOptions& options = {});
  /// Runs the function, and keeps of all that it computes only what it returns: backward() computes
  /// the rest again, with the same bits.
  std::vector<Variable> checkpoint(
      const std::function<std::vector<Variable>(std::span<const Variable>)>& function,
      std::span<const Variable> inputs);
  /// True if a gradient of y with respect to x can be other than zeros.
  bool has_effect(const Variable& x, const Variable& y) const;

  /// Computes everything pending that a variable has, and waits for what devices were given. Throws
  /// StatusError for a command that failed on a device if nobody has seen that yet.
  void finish();
  DynamicStatistics statistics() const;
  /// Returns all memory that values and tapes have, the latest value first, each once, with the
  /// first reason of: a variable, a gradient or pending command that reads it, equal commands.
  std::vector<KeptMemory> memory() const;
  /// Gives back memory that is free, and forgets what was compiled and what is kept for equal
  /// commands.
  void trim();

 private:
  friend class Variable;
  friend struct trace::State;
  explicit DynamicGraph(trace::State* state) noexcept;
  trace::State* state_;
};

/// Runs a command in the graph of the first input that is there. Throws StatusError if none is.
Variable run(const Command& command, std::initializer_list<VariableRef> inputs);
std::vector<Variable> run_all(const Command& command, std::initializer_list<VariableRef> inputs);
/// Returns the n outputs of the command.
template <std::size_t n>
std::array<Variable, n> run_each(const Command& command,
                                 std::initializer_list<VariableRef> inputs) {
  std::vector<Variable> outputs = run_all(command, inputs);
  std::array<Variable, n> each;
  for (std::size_t k = 0; k < n && k < outputs.size(); ++k) each[k] = std::move(outputs[k]);
  return each;
}

/// Makes a function node of a symbolic graph from code that uses a dynamic graph: it is given
/// variables of the node's inputs and returns its outputs. The way back runs it again, traced, and
/// differentiates that. It may be called in several threads; the context must outlive it.
NamedFunction dynamic_function(
    std::string name, Context& context,
    std::function<std::vector<Variable>(DynamicGraph& graph, std::span<const Variable> inputs)>
        function);

}  // namespace mote
