// SPDX-License-Identifier: Apache-2.0
// A graph of operations on tensors: commands, copies, fills and functions of the caller's, with
// edges between them. It is prepared once for one or several streams and run any number of times.
//
// - Handles are small values; one of another graph, or of a node that was removed, is an error that
//   names it. A copy of a graph has tensors, nodes and edges of its own and takes the handles of
//   the graph that it was copied from.
// - The order in which nodes were added means nothing by itself: order() and find_order() make
//   edges.
// - One thread uses a graph at a time: a call while another thread is in one, or from a function
//   that the graph runs, is refused with MOTE_INVALID. cancel() may come from any thread. Two
//   threads run two copies.
// - All errors are StatusErrors that begin with "graph: ".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/arithmetic.h"
#include "mote/base/export.h"
#include "mote/graph/control.h"
#include "mote/graph/schedule.h"
#include "mote/runtime/command.h"
#include "mote/runtime/context.h"
#include "mote/runtime/stream.h"
#include "mote/runtime/tensor.h"
#include "mote/runtime/tensor_form.h"
#include "mote/runtime/tune.h"

namespace MOTE_API mote {

/// A tensor of a graph; without a graph it stands for an input or output that is left out.
struct GraphTensor {
  std::uint64_t graph = 0;
  std::uint32_t index = 0;
  friend bool operator==(const GraphTensor&, const GraphTensor&) = default;
};

struct GraphNode {
  std::uint64_t graph = 0;
  std::uint32_t index = 0;
  friend bool operator==(const GraphNode&, const GraphNode&) = default;
};

/// Some of a graph's nodes, as Graph::part() makes them.
struct GraphPart {
  std::uint64_t graph = 0;
  std::uint32_t index = 0;
  friend bool operator==(const GraphPart&, const GraphPart&) = default;
};

/// A function of the caller's that is a node. It gets the tensors that it was added with, in that
/// order. What it throws is the error of its node.
using NodeFunction =
    std::function<void(std::span<const Tensor> reads, std::span<const Tensor> writes)>;

struct NodeOptions {
  std::string name = {};  ///< for errors, pictures and traces; need not be unique
  /// Backends that this node's command asks first; they must outlive the graph.
  std::vector<const mote_backend*> backends = {};
};

/// A tensor of the graph around a sub-graph, and the placeholder of the sub-graph that has its
/// memory.
struct OuterTensor {
  GraphTensor outer;
  GraphTensor inner;
};

/// Makes a pointer (TensorChoice::pointer) show the memory that the tensor has then.
struct PointerMove {
  std::uint64_t pointer = 0;
  GraphTensor tensor = {};
};

/// Makes a pointer show the first of the regions in which no pointer of `held` shows anything.
/// There must be one.
struct RegionTake {
  std::uint64_t pointer = 0;
  std::vector<GraphTensor> regions = {};  ///< adjacent bytes each, apart from each other
  std::vector<std::uint64_t> held = {};
  std::int64_t begin = 0;  ///< the byte of the region that the pointer shows
};

/// A loop. All handles are of its body.
struct WhileLoop {
  /// The loop goes on while this is not 0: a bool or an integer of one element. The nodes that
  /// write it are among the evaluated ones.
  GraphTensor condition = {};
  ConditionFunction function = {};        ///< in place of the tensor
  std::vector<GraphTensor> reads = {};    ///< what the function gets
  std::vector<GraphNode> evaluated = {};  ///< these, and all before them, run before it is asked
  GraphTensor counter = {};               ///< an i64[] that gets the number of each iteration
  std::int64_t limit = kNoLimit;          ///< of iterations; one more is an error
  /// Clocks that show 0 when the loop begins, each of this loop alone: any other numbers than 0.
  std::vector<std::uint64_t> starts = {};
  std::vector<std::uint64_t> counts = {};  ///< clocks that go on by 1 after each iteration
  std::vector<RegionTake> takes = {};      ///< when an iteration begins, one after the other
  std::vector<PointerMove> begins = {};    ///< when the loop begins, before the takes
  std::vector<PointerMove> carries = {};   ///< after each iteration, all at once
};

/// A choice among branches. All handles are of the graph that the node is in.
struct CaseOf {
  /// The number of the branch: an integer of one element, or a bool, which is 0 or 1.
  GraphTensor index = {};
  BranchFunction function = {};         ///< in place of the tensor
  std::vector<GraphTensor> reads = {};  ///< what the function gets
  bool must_run = false;                ///< a negative index is an error
  /// By branch: clocks that go on by 1 when it has run (WhileLoop::starts).
  std::vector<std::vector<std::uint64_t>> counts = {};
  std::vector<PointerMove> without = {};  ///< if no branch runs
};

class Graph;

/// A branch of a case..of, and the tensors around that it uses.
struct GraphBranch;

/// Memory that is chosen anew as the graph runs. At position p it is that of first[p], or else of
/// cycle[(p - first.size()) % cycle.size()]; all have one form.
struct TensorChoice {
  std::vector<GraphTensor> first = {};
  std::vector<GraphTensor> cycle = {};
  /// A loop or case..of of this graph: from its end on, the position is the number of iterations
  /// that it ran, or 1 more than the index of the branch (0 if none ran). A default one stands for
  /// the loop that this graph is the body of: the position is the number of the iteration.
  GraphNode by = {};
  /// Not 0: the position is what this clock shows; with `by`, what it showed when that loop, which
  /// starts it, ended. So an inner loop goes on where it was in the iteration before of an outer
  /// one.
  std::uint64_t clock = 0;
  /// Not 0: the memory is what this pointer shows, which moves and takes of loops and branches
  /// change. The first tensor has the form; all together are what it may show, of any forms.
  std::uint64_t pointer = 0;
};

struct GraphOptions {
  /// The source of backends, workspace, measured times and threads; it must outlive the graph. A
  /// graph of one stream on the host needs none.
  Context* context = nullptr;
  int streams = 1;           ///< at most that many for each device
  bool without_nan = false;  ///< as in RunOptions
};

struct GraphStatistics {
  std::size_t nodes = 0;
  std::size_t edges = 0;               ///< different ones
  std::size_t edges_without_wait = 0;  ///< kept by a stream's order, or by other waits
  std::size_t waits = 0;
  std::size_t events = 0;
  std::size_t streams = 0;
  std::size_t workspace_bytes = 0;  ///< the most that a node needs
  /// The number of kernels chosen since the graph was made: one for nodes of one command whose
  /// tensors have the same forms.
  std::size_t prepared = 0;
  std::size_t runs = 0;        ///< that have begun, of the whole or of parts
  std::size_t sub_graphs = 0;  ///< bodies of loops and branches, at any depth
};

struct GraphTrace;

class Graph {
 public:
  Graph();
  Graph(const Graph& other);  ///< without what was prepared
  Graph& operator=(const Graph& other);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  /// Waits for the runs that are under way.
  ~Graph();

  /// Adds a tensor with its memory, which nodes may read and write. The graph keeps memory that the
  /// tensor owns.
  GraphTensor tensor(const Tensor& memory, std::string_view name = {});
  /// Adds a tensor that no node may write.
  GraphTensor constant(const Tensor& memory, std::string_view name = {});
  /// Adds a tensor that holds nothing until a node writes it: a whole run in which a node may read
  /// it before any has written there is an error.
  GraphTensor intermediate(const Tensor& memory, std::string_view name = {});
  /// Adds a tensor that gets its memory by bind(). find_order() takes it for memory of its own.
  GraphTensor placeholder(const TensorForm& form, std::string_view name = {});
  /// Adds a view: form's first element is `byte_offset` bytes behind the first element of `of` (or
  /// before it, if it is negative). All its elements must lie within the bytes of `of`, aligned to
  /// their dtype, on its device.
  GraphTensor view(GraphTensor of, std::int64_t byte_offset, const TensorForm& form,
                   std::string_view name = {});

  /// Adds a tensor whose memory is one of several, without a copy of any byte.
  GraphTensor choice(const TensorChoice& choice, std::string_view name = {});

  /// Gives a placeholder its memory, also after another one. The form must be the placeholder's.
  /// The prepared calls stay: the next run moves pointers only, in all nodes that use it or views
  /// of it. That run is refused if the memory overlaps memory that find_order() took for another,
  /// and nodes that need an order have none. A run under way is waited for, by the next one.
  void bind(GraphTensor placeholder, const Tensor& memory);
  /// Returns the tensor with its memory; without data if it is a placeholder, or a view of one,
  /// that is not bound.
  Tensor memory(GraphTensor tensor) const;

  /// Adds a command. A default GraphTensor stands for an input or output that is left out.
  GraphNode add(const Command& command, std::span<const GraphTensor> inputs,
                std::span<const GraphTensor> outputs, const NodeOptions& options = {});
  GraphNode add(const Command& command, std::initializer_list<GraphTensor> inputs,
                std::initializer_list<GraphTensor> outputs, const NodeOptions& options = {});
  /// Adds y[i] = x[i], as mote::copy() does it.
  GraphNode copy(GraphTensor x, GraphTensor y, const NodeOptions& options = {});
  /// Adds y[i] = value, as mote::fill() does it.
  template <Arithmetic T>
  GraphNode fill(GraphTensor y, T value, const NodeOptions& options = {}) {
    GraphNode node;
    to_real_or_integer(value, [&](auto converted) { node = add_fill(y, converted, options); });
    return node;
  }
  /// Adds a function. It runs on the host, also with tensors of a device.
  GraphNode call(NodeFunction function, std::span<const GraphTensor> reads,
                 std::span<const GraphTensor> writes, const NodeOptions& options = {});
  GraphNode call(NodeFunction function, std::initializer_list<GraphTensor> reads,
                 std::initializer_list<GraphTensor> writes, const NodeOptions& options = {});
  /// Adds a loop. In each iteration the evaluated nodes of the body run, then it is asked whether
  /// to go on, then the other nodes run: the body runs whole n times, and its evaluated nodes n + 1
  /// times. The body's edges are those that it has. Whatever of its tensors outlives an iteration
  /// is in memory, so that what is carried over is written where the next iteration reads it, or is
  /// a choice(). Errors name the node and the iteration. The body is a part of this graph from then
  /// on; the memory of its tensors counts in find_order().
  GraphNode add_while(Graph body, const WhileLoop& loop, std::span<const OuterTensor> tensors,
                      const NodeOptions& options = {});
  GraphNode add_while(Graph body, const WhileLoop& loop, std::initializer_list<OuterTensor> tensors,
                      const NodeOptions& options = {});
  /// Adds a node that runs one of the branches, or none. An index that is no branch's is an error
  /// if it is not negative.
  GraphNode add_case_of(std::vector<GraphBranch> branches, const CaseOf& choice,
                        const NodeOptions& options = {});
  /// Removes a node and its edges; its handle is dead.
  void remove(GraphNode node);

  /// Adds an edge: `after` begins when `before` is done.
  void order(GraphNode before, GraphNode after);
  /// Adds the edges that follow from memory and the order of addition: a read after a write, a
  /// write after a read, and a write after a write of the same bytes. Views of one memory that
  /// touch different elements do not conflict. An edge that follows from others may be left out.
  void find_order();

  std::vector<GraphNode> nodes() const;            ///< in the order of addition
  std::string describe(GraphNode node) const;      ///< "node 7 'h' (matmul)"
  std::string describe(GraphTensor tensor) const;  ///< "'x' f32[2,3]", "tensor 3 f32[2,3]"

  /// Returns the nodes and edges as numbers: node n is nodes()[n]. Weights are measured times, in
  /// nanoseconds, once autotune() has measured all commands.
  ScheduleProblem schedule_problem() const;
  /// Makes the nodes run one after the other on one stream of each device, in the order of addition
  /// as far as edges allow, whatever the options say: for a sub-graph whose memory is planned so.
  void run_one_by_one();
  /// Chooses kernels, by the forms of their tensors, and a schedule. Placeholders may be bound
  /// later. Throws for a cycle, for a node whose command is not legal, for an intermediate tensor
  /// that nothing writes.
  void prepare(const GraphOptions& options = {});
  /// Takes the schedule, which must be one of schedule_problem()'s nodes and keep its edges.
  void prepare(const StreamSchedule& schedule, const GraphOptions& options = {});
  /// Returns the schedule of the whole graph. Throws if the graph is not prepared.
  const StreamSchedule& schedule() const;

  /// Returns the nodes that can be reached from one of the sources and from which one of the
  /// destinations can be reached, these included; no sources, or no destinations, stand for all
  /// nodes.
  GraphPart part(std::span<const GraphNode> sources, std::span<const GraphNode> destinations);
  GraphPart part(std::initializer_list<GraphNode> sources,
                 std::initializer_list<GraphNode> destinations);
  std::vector<GraphNode> nodes(GraphPart part) const;

  /// Runs all nodes, or those of a part, and waits. A graph that was changed since prepare() is
  /// prepared again, with the same options. On one stream of the host this is a loop in the
  /// caller's thread, without the heap. If a node fails, the error names it, nodes that have not
  /// begun are skipped, and the graph can run again.
  void run();
  void run(GraphPart part);
  /// Gives a run to a stream: it begins after earlier work of that stream, and later work of it
  /// begins after the run. One of the graph's streams is the caller's, if it is on a device of the
  /// graph. An error is the stream's. The graph must outlive the run. Runs that share nodes, or
  /// have nodes with a path between them, run in the order in which they are given, also on
  /// different streams. The nodes of loops and branches are put on streams as those of the graph
  /// are; but a graph that has some runs its nodes one after the other if it is given to a stream,
  /// or traced.
  void run(Stream& stream);
  void run(GraphPart part, Stream& stream);
  /// Makes the runs under way end before the next node that has not begun, with the error "graph:
  /// cancelled before node 7 'h' (matmul)", MOTE_FAILED. Later runs are whole. It may be called
  /// from any thread. Work that a device was given already is not taken back.
  void cancel();

  /// Measures the kernels of each command on copies of its tensors (tune.h), in the context that
  /// the graph was prepared with, and prepares again. All placeholders must be bound. Returns how
  /// many commands it has asked for: all but those of untuned().
  std::size_t autotune(const TuningOptions& options = {});
  /// Returns the commands that the last autotune() has not measured, "node 1 (while): node 0 'h'
  /// (mul)": they read or write what a pointer shows, and nothing was there, since the loops and
  /// branches that point it have not run, or not since other tensors were bound.
  const std::vector<std::string>& untuned() const;
  /// Makes later runs add to the trace (picture.h), which must outlive them; null: no more. Nodes
  /// on a device are waited for one after the other while it is on.
  void trace_to(GraphTrace* trace);
  GraphStatistics statistics() const;

  struct State;
  /// Returns what the library's functions read. Throws StatusError after a move.
  const State& state() const;

 private:
  GraphNode add_fill(GraphTensor y, double value, const NodeOptions& options);
  GraphNode add_fill(GraphTensor y, std::int64_t value, const NodeOptions& options);

  std::unique_ptr<State> state_;  ///< null after a move
};

struct GraphBranch {
  Graph graph;
  std::vector<OuterTensor> tensors = {};
  std::vector<RegionTake> takes = {};   ///< of a case..of: when the branch begins
  std::vector<PointerMove> moves = {};  ///< of a case..of: when the branch has run, all at once
};

}  // namespace mote
