// SPDX-License-Identifier: Apache-2.0
// Runs a graph that has loops and branches. It keeps a list of what is under way, from the
// outermost graph to the innermost, and never calls itself: nests are as deep as memory allows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "run/give.h"
#include "state.h"

namespace mote::graph {

class Runner {
 public:
  /// Makes room for the deepest nest.
  explicit Runner(Graph::State& root);

  struct Start {
    std::uint64_t number = 0;
    /// Nodes run one after the other, whatever streams there are.
    bool is_serial = false;
    GraphTrace::Span* spans = nullptr;  ///< of the plan's nodes, if the run is traced
    std::vector<GraphTrace::InnerSpan>* inner = nullptr;
  };
  /// Runs the plan and waits. Throws StatusError with the loops that the error comes from.
  void run(const std::shared_ptr<Plan>& plan, const Start& start);

 private:
  /// A graph that is under way.
  struct Frame {
    Graph::State* state = nullptr;
    const std::shared_ptr<Plan>* plan = nullptr;
    const NodeRecord* node = nullptr;   ///< whose sub-graph it is; null: the outermost graph
    const ControlWork* work = nullptr;  ///< its
    std::int64_t branch = 0;
    std::int64_t begun = 0;              ///< when, if the run is traced
    std::size_t at = 0;                  ///< the next step, or action
    std::size_t next_control = 0;        ///< in Plan::controls
    bool is_asked = false;               ///< the rest of the body is under way
    std::shared_ptr<RunState> run = {};  ///< if it is on streams
    RunStreams streams = {};
  };

  void work();
  void begin(Frame& frame);
  bool advance(Frame& frame);
  bool advance_steps(Frame& frame);
  bool advance_streams(Frame& frame);
  void run_steps(Frame& frame, std::size_t end);
  void trace_steps(Frame& frame, std::size_t end);
  void add_span(const Frame& frame, const NodeRecord& node, std::int64_t begin);
  bool enter(Frame& frame, const Step& step);
  void begin_plan(Frame& frame, bool is_rest);
  void begin_iteration(Frame& frame);
  void count_on(const Frame& frame);
  void finish_plan();
  void leave(std::int64_t result);
  static void set_result(Frame& frame, const NodeRecord& node, std::int64_t result);
  std::int64_t ask(const Graph::State& state, const ControlWork& work);
  static std::int64_t integer_at(DType dtype, const void* data);
  [[noreturn]] void rethrow_inside();
  void abandon_all() noexcept;
  bool is_cancelled() const {
    return root_.prepared.cancelled_up_to.load(std::memory_order_relaxed) >= start_.number;
  }

  Graph::State& root_;
  std::uint64_t owner_ = 0;  ///< of the run under way
  Start start_;
  std::vector<Frame> frames_;
  std::vector<std::int64_t> counters_;  ///< of the loops under way
  /// The tensors that the functions are given.
  std::unordered_map<const ControlWork*, std::vector<Tensor>> reads_;
};

/// Finds the loops and branches among the steps.
void find_controls(Plan& plan);
/// Returns "graph: where: error", with one "graph: " at the beginning.
std::string inside(const std::string& where, const std::string& error);
/// Prepares one graph, without its sub-graphs.
void prepare_one(Graph::State& state, const GraphOptions& options, const StreamSchedule* given);

}  // namespace mote::graph
