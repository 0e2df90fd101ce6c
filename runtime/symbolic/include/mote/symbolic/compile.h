// SPDX-License-Identifier: Apache-2.0
// Compiles a symbolic graph to commands on tensors in planned memory. The results are those of the
// nodes run one after the other on memory of their own, bit for bit, with every option but
// `inexact`; only the sign and the payload of a NaN may differ.
//
//   Executable step = compile(g, {.outputs = {loss, gw}, .streams = 2}, context);
//   step.run({{x, images}, {w, weight}});
//   step.output(loss).real_at({});
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mote/base/export.h"
#include "mote/graph/graph.h"
#include "mote/memory/plan.h"
#include "mote/runtime/context.h"
#include "mote/symbolic/binding.h"
#include "mote/symbolic/order.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

/// The ways in which tensors get memory.
enum class MemoryMode : std::uint8_t {
  planned,   ///< tensors that are never needed at once share memory
  separate,  ///< each tensor has memory of its own (to find a fault of planning)
};

struct CompileOptions {
  /// The symbols that are asked for after a run; none: the graph's outputs. Each keeps its memory
  /// until the next run.
  std::vector<TensorSymbol> outputs = {};
  /// Outputs whose memory the caller binds for each run; they take no byte of the plan.
  std::vector<TensorSymbol> bound = {};
  /// The number of streams of the host that independent nodes are shared among.
  int streams = 1;
  bool in_place = true;
  EvaluationOrder order = EvaluationOrder::least;
  MemoryMode memory = MemoryMode::planned;
  /// Fills a tensor's memory with NaN before the first node writes to it and behind the last that
  /// uses it, so that elements are seen that no node wrote, and that are read too late.
  bool poison = false;
  /// A search for a better plan ends after this many steps, about 20 ms, by default.
  MemoryPlanOptions plan = {.steps = 20'000'000};
  /// The largest forms of inputs: memory is planned and taken once, for these, and runs with inputs
  /// of smaller extents take no other. Other inputs are at most as large as they are. An input
  /// without a shape must be in the list, unless that is empty: then each set of shapes has a plan
  /// and memory of its own, and with an input of unknown shape the first run makes the first one.
  std::vector<std::pair<TensorSymbol, TensorForm>> largest = {};
  /// The number of sets of input shapes that stay compiled; the one that has not run for longest
  /// goes.
  std::size_t kept_shapes = 8;
  /// The passes that run first, by name (pass.h); none: default_passes().
  std::optional<std::vector<std::string>> passes = {};
  /// False: the report lists neither nodes nor blocks. Their texts are a good part of the memory of
  /// a compiled graph of small nodes.
  bool describes = true;
  /// Allows passes what other roundings may follow from (PassOptions::inexact): a backend then
  /// computes whole sequences of cells, and rows of replacements that are not exact apply.
  bool inexact = false;
  /// No tensor holds a NaN or an infinity, or any result is accepted where one does: kernels that
  /// promise nothing then are asked too (RunOptions::without_nan).
  bool without_nan = false;
};

/// One node of a compiled graph, for people and tools.
struct CompiledNode {
  std::string text;  ///< "h = matmul(x, w)"
  int stream = 0;
  std::vector<std::uint32_t> waits;  ///< the positions of nodes on other streams that it waits for
  bool in_place = false;             ///< an output takes the memory of an input
};

/// One tensor of a compiled graph that has memory of its own.
struct CompiledBlock {
  std::string name;  ///< the symbol's, and those of symbols that share it in place
  std::size_t bytes = 0;
  std::size_t offset = 0;  ///< in the memory of its device
  std::size_t first = 0;   ///< the position of the node that writes it first
  std::size_t last =
      0;  ///< the position of the last node that reads it; one beyond the nodes for an output
  DLDevice device{kDLCPU, 0};
};

/// The planned memory of a device.
struct CompiledDevice {
  DLDevice device{kDLCPU, 0};
  std::size_t arena_bytes = 0;
  std::size_t lower_bound = 0;
};

struct CompileReport {
  std::string graph;
  std::vector<CompiledNode> nodes;  ///< in their order
  std::vector<CompiledBlock> blocks;
  std::size_t arena_bytes = 0;     ///< of the host and all devices
  std::size_t lower_bound = 0;     ///< the most bytes that are needed at once
  std::size_t separate_bytes = 0;  ///< the sum of all blocks, each aligned
  std::size_t workspace_bytes = 0;
  int streams = 1;
  std::size_t events = 0;
  std::size_t in_place_pairs = 0;
  bool has_control = false;  ///< it has loops or branches
  /// The bytes of the copies that compile() has added to bodies of loops, in one iteration, and to
  /// branches: 0, whatever they carry over and give.
  std::size_t copied_bytes = 0;
  EvaluationOrder order = EvaluationOrder::program;
  std::vector<std::string> passes;           ///< "merge: 3 nodes removed"
  std::vector<CompiledDevice> devices = {};  ///< those other than the host
  /// The inputs whose shapes are not known yet. If there are some, passes have not run, the order
  /// is that of the program, and blocks and bytes are those of tensors that do not depend on them.
  std::vector<std::string> unknown = {};
};
std::string to_text(const CompileReport& report);
std::string to_json(const CompileReport& report);
/// Draws memory over time, as SVG.
std::string to_svg(const CompileReport& report);

/// One thread uses an executable at a time: a call while another thread is in one, or from a
/// function that a run calls, is refused with MOTE_INVALID. cancel() may come from any thread.
class Executable {
 public:
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  ~Executable();

  /// Binds inputs and bound outputs for the next runs. Inputs may have other shapes or strides than
  /// the graph's: the next run compiles for them (SymbolicGraph::with_forms()), or takes what was
  /// compiled for them before. Throws StatusError for another dtype, and for an extent that is
  /// larger than CompileOptions::largest has it. The run is refused if the memory is what it writes
  /// itself: that of its other outputs, planned memory; or, of a bound output, that of a constant.
  void bind(TensorSymbol symbol, const Tensor& tensor);
  /// Runs with what is bound. Throws StatusError if an input is not bound, if shapes do not fit, or
  /// if a node fails; then the next run is whole again.
  void run();
  void run(std::span<const TensorBinding> bindings);
  void run(std::initializer_list<TensorBinding> bindings) {
    run(std::span(bindings.begin(), bindings.size()));
  }
  /// Returns the symbol's tensor, which is valid until the next run. Throws StatusError for a
  /// symbol that was not asked for, and if no run with these shapes has ended well.
  Tensor output(TensorSymbol symbol) const;
  /// Makes a run in another thread end before its next node, with an error: MOTE_FAILED.
  void cancel();

  /// Returns what was done for the shapes of the last run, or for the largest ones, or the graph's,
  /// if there was none. Where some are not known yet it says which, and what is planned already.
  /// The reference is valid until a run with other shapes (CompileOptions::kept_shapes).
  const CompileReport& report() const;
  /// Returns the concrete graph of these shapes, for its picture, its trace and to tune it. Throws
  /// StatusError where some are not known yet. The reference is valid as report()'s is.
  Graph& graph();

  struct State;  ///< for functions of this library

 private:
  friend Executable compile(const SymbolicGraph&, const CompileOptions&, Context&);
  explicit Executable(std::unique_ptr<State> state);
  State& state() const;
  std::unique_ptr<State> state_;
};

/// Returns the report that compile() with these options would give, to the byte, and takes none of
/// the memory. Throws what compile() would throw, and StatusError if a shape is not known.
CompileReport plan_graph(const SymbolicGraph& graph, const CompileOptions& options,
                         Context& context);

/// Compiles the graph, which stays as it is and may be discarded. Handles of it name what they
/// named in it. Tensors of a device lie in memory of that device; copies (SymbolicGraph::convert())
/// are all that moves elements from one to another. The context must outlive the result. Throws
/// StatusError for outputs of another graph, for nodes that no kernel takes, for a device that no
/// plug-in offers, for largest forms that do not fit the graph, and if there is no memory.
Executable compile(const SymbolicGraph& graph, const CompileOptions& options, Context& context);

}  // namespace mote
