// SPDX-License-Identifier: Apache-2.0
// A graph that is ready to run: the operations with their tensors, and for each part a plan: which
// nodes run on which streams, and what they wait for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mote/graph/control.h"
#include "mote/graph/picture.h"
#include "mote/graph/schedule.h"
#include "mote/runtime/device.h"
#include "mote/runtime/stream.h"
#include "run/bound_operation.h"
#include "run/sharing.h"

namespace mote::graph {

struct Link;
struct MoveRecord;
struct SubLocation;
struct TakeRecord;
struct TensorRecord;
class Runner;

/// A step of giving a run to streams, in the order of the schedule, so that an event is recorded
/// before any stream is told to wait for it.
struct Action {
  enum class Kind : std::uint8_t { wait, run, record, control };
  Kind kind;
  std::uint32_t stream;
  std::uint32_t event = 0;
  std::uint32_t first = 0;  ///< the steps first to last - 1 of the plan, all of that stream; of a
                            ///< loop or case..of, its step
  std::uint32_t last = 0;
};

struct Step {
  BoundOperation* operation;
  std::uint32_t local;  ///< the number of the node in the plan
};

/// The prepared run of a part. Local numbers count its nodes in the order of addition.
struct Plan {
  std::vector<std::uint32_t> nodes;  ///< the graph's number of each local one
  StreamSchedule schedule;
  std::vector<std::optional<Device>> devices;  ///< of each stream
  bool is_loop = false;                        ///< one stream, on the host
  std::vector<Step> steps;                     ///< stream after stream; in a loop, the order
  /// The positions of loops and case..of among the steps, rising, if is_loop.
  std::vector<std::uint32_t> controls;
  bool has_controls = false;
  bool has_functions = false;
  std::vector<Action> actions;
  std::vector<Event> events;
  /// Placeholders that are needed, each with the first node that does.
  using Placeholders = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  Placeholders placeholders;
};

/// The plans of a sub-graph: a body has the evaluated nodes and the rest, a branch has a first one
/// only. Serial ones run in one thread, whatever streams there are.
struct SubPlans {
  std::shared_ptr<Plan> first, rest;
  std::shared_ptr<Plan> serial_first, serial_rest;
};

/// The operation of a node for some memory of its variable tensors.
struct Variant {
  std::vector<std::byte*> at;
  BoundOperation operation;  ///< empty while it is the node's
  std::uint64_t used = 0;
};
/// A node that has tensors whose memory changes while the graph runs.
struct VariableNode {
  std::uint32_t node = 0;
  std::vector<std::uint32_t> roots;  ///< its placeholders and choices
  std::vector<Variant> variants;
  std::size_t current = 0;
  std::size_t most = 0;  ///< variants that are kept
};
/// The result of a loop or a case..of that has not run yet. What is chosen by it is at position 0.
inline constexpr std::int64_t kUnknownResult = -1;

/// The tensors whose memory changes while the graph runs: choices, and placeholders that stand for
/// such tensors of the graph around.
struct Variables {
  std::vector<std::uint32_t> roots;  ///< each after those that it is chosen among
  std::vector<bool> is_root;         ///< by tensor
  std::vector<VariableNode> nodes;
  std::vector<bool> is_node;  ///< by node
  bool is_stale = true;       ///< memory has changed since the nodes were pointed at it
  std::uint64_t uses = 0;
  // These lists say what follows from a result. They are empty if clocks or pointers say where some
  // tensors are.
  using Lists = std::map<std::uint32_t, std::vector<std::uint32_t>>;
  bool has_results_alone = false;
  Lists chosen_by;                         ///< by node: the roots that are chosen by it
  Lists followers;                         ///< by root: those that are chosen among it and others
  Lists users;                             ///< by root: positions in `nodes`
  std::vector<std::uint32_t> open, moved;  ///< of refresh_results(); they keep their room
};

/// One run that is under way or over; the work of streams shares it.
struct RunState {
  std::uint64_t number = 0;
  const std::atomic<std::uint64_t>* cancelled_up_to = nullptr;
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<std::vector<BoundOperation>> operations;
  GraphTrace::Span* spans = nullptr;  ///< of the plan's nodes, if the run is traced
  std::optional<LoopOwner> own;       ///< unless the run is a part of another one
  LoopCounters counters;              ///< of the loops around
  std::uint64_t owner = 0;            ///< loop_owner()

  bool is_cancelled() const { return cancelled_up_to->load(std::memory_order_relaxed) >= number; }
  /// Keeps the exception under way unless the run has failed before.
  void fail() noexcept {
    const std::lock_guard lock(mutex);
    if (!error) error = std::current_exception();
    has_failed.store(true, std::memory_order_release);
  }
  void throw_error() {
    if (!has_failed.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex);
    std::rethrow_exception(error);
  }

  std::atomic<bool> has_failed{false};
  std::mutex mutex;
  std::exception_ptr error;
};

/// The nodes that use each placeholder, in rising order.
struct PlaceholderUsers {
  std::span<const std::uint32_t> of(std::uint32_t root) const {
    if (std::size_t{root} + 1 >= begin.size()) return {};  // it was added later
    return std::span(nodes).subspan(begin[root], begin[root + 1] - begin[root]);
  }

  std::vector<std::uint32_t> begin;  ///< by tensor, in `nodes`, and their end
  std::vector<std::uint32_t> nodes;
};

/// A run that was given to a stream.
struct GivenRun {
  std::uint32_t part;
  std::shared_ptr<RunState> run;
  Event end;
  std::vector<Stream*> own;  ///< the graph's streams that it uses
};

/// A count of iterations that goes on while loops inside of another one end and begin.
struct Clock {
  std::int64_t now = 0;
  std::int64_t at_end = 0;  ///< when the loop that starts it ended last
};
using Clocks = std::map<std::uint64_t, Clock>;

/// The memory that a pointer shows.
struct Pointed {
  bool has_memory = false;
  std::byte* data = nullptr;
  std::shared_ptr<Tensor> owner = nullptr;
};
using Pointers = std::map<std::uint64_t, Pointed>;

struct PreparedGraph {
  bool is_current = false;  ///< nothing was added, removed or ordered since
  bool has_given_schedule = false;
  std::size_t edges = 0;   ///< different ones
  std::size_t chosen = 0;  ///< how many kernels were chosen before `plans` was made
  std::unique_ptr<KernelPlans> plans;
  NodeTensors bound_now;  ///< of the node that is being bound; it keeps its room
  std::shared_ptr<std::vector<BoundOperation>> operations;  ///< by node
  PlaceholderUsers users;
  std::shared_ptr<Plan> whole;
  std::vector<std::shared_ptr<Plan>> parts;  ///< by part; null: not made yet. The first is `whole`
  std::vector<std::uint64_t> bound;          ///< by part: the binding that was looked at last
  std::shared_ptr<const Sharing> sharing;    ///< of the whole, once a placeholder is bound
  std::optional<HappensBefore> before;       ///< of the whole, once it is asked for
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> related;  ///< parts that need an order

  Variables variables;
  SubPlans sub_plans;                  ///< of a body or a branch
  std::int64_t iteration = 0;          ///< of the loop that this is the body of
  std::vector<std::int64_t> results;   ///< by node: the position of choices by it
  std::shared_ptr<Clocks> clocks;      ///< of the outermost graph, which its sub-graphs share
  std::shared_ptr<Pointers> pointers;  ///< so are these
  std::vector<std::uint64_t> moved;    ///< the pointers that loops and branches in it move
  std::vector<Link> variable_links;    ///< of a sub-graph
  std::vector<SubLocation> subs;       ///< of the outermost graph, those around others first
  std::shared_ptr<Runner> runner;      ///< of the outermost graph
  std::mutex choosing;                 ///< while nodes are pointed at what is chosen

  Context* streams_of = nullptr;  ///< the context of own_streams
  std::map<std::pair<int, int>, std::vector<std::unique_ptr<Stream>>> own_streams;  ///< by device
  std::vector<GivenRun> given;
  std::uint64_t runs = 0;
  std::atomic<std::uint64_t> runs_begun{0};
  std::atomic<std::uint64_t> cancelled_up_to{0};
};

/// Chooses kernels and a schedule, or takes the given one.
void prepare(Graph::State& state, const GraphOptions& options, const StreamSchedule* given);
/// Returns the plan of a part, ready to run: prepared again if the graph was changed, bound to the
/// latest tensors.
const std::shared_ptr<Plan>& ready_plan(Graph::State& state, std::uint32_t part);
/// Tells the nodes of placeholders that they have other tensors.
void apply_bindings(Graph::State& state);
/// Makes the node's operation. Throws StatusError "graph: node …: why".
void bind_node(Graph::State& state, std::uint32_t node);
/// Throws StatusError if nodes have no order whose memory overlaps, of all placeholders or of those
/// that were bound since the last run (`rebound`, sorted).
void check_sharing(Graph::State& state, bool all);
/// Throws StatusError if a node may read an intermediate tensor before one wrote it.
void check_producers(const Graph::State& state, const Plan& whole, const HappensBefore& before);
/// `placeholders`: those of the nodes, if they were found already.
std::shared_ptr<Plan> plan_of(Graph::State& state, std::vector<std::uint32_t> nodes,
                              StreamSchedule schedule,
                              const Plan::Placeholders* placeholders = nullptr);
/// Returns the schedule of some of the plan's nodes (graph numbers, rising): the same streams, and
/// the order that the plan guarantees.
StreamSchedule restriction(const Plan& whole, const HappensBefore& before,
                           const std::vector<std::uint32_t>& nodes);

/// Returns the same run in one thread.
std::shared_ptr<Plan> serial_plan(const Plan& plan);
/// Prepares the sub-graphs, with the options of the graph.
void prepare_sub_graphs(Graph::State& state);
/// Gives the placeholders of sub-graphs the memory that the tensors around them have now.
void bind_sub_graphs(Graph::State& state);
/// Finds the variable tensors of a graph, and the nodes that use them.
void find_variables(Graph::State& state, std::vector<bool> is_root);
/// Gives variable tensors their memory, and points the nodes at it.
void refresh(Graph::State& state);
/// Does the same once the result of the node is known: only what is chosen by it can have moved.
void refresh_results(Graph::State& state, std::uint32_t node);
/// Points a placeholder or a choice, and its views, at memory.
void point_tensor(Graph::State& state, std::uint32_t root, const TensorRecord& at);
/// Moves pointers, all at once. The tensors are the graph's.
void move_pointers(const Graph::State& state, std::span<const MoveRecord> moves);
/// Gives pointers regions that others do not show, one after the other.
void take_regions(const Graph::State& state, std::span<const TakeRecord> takes);
/// True if the graph has loops or branches, or tensors whose memory is chosen.
bool has_control(const Graph::State& state);

/// Runs the plan in the caller's thread, which has one stream on the host.
void run_loop(Graph::State& state, const std::shared_ptr<Plan>& plan);
/// Runs the plan of a graph that has loops or branches.
void run_controls(Graph::State& state, const std::shared_ptr<Plan>& plan);
void run_and_wait(Graph::State& state, std::uint32_t part);
void give_run(Graph::State& state, std::uint32_t part, Stream& stream);
/// Waits for the runs that streams were given; their errors are theirs. False if they are not over,
/// since the work of a stream cannot wait.
bool wait_for_given(Graph::State& state) noexcept;
/// Waits for them, or throws StatusError.
void wait_to_change(Graph::State& state, const char* op);

/// Rethrows the exception under way as a StatusError that begins with "graph: node …".
[[noreturn]] void rethrow_of(const NodeRecord& node);
[[noreturn]] void refuse_cancelled(const NodeRecord& node);
std::int64_t trace_clock();

}  // namespace mote::graph
