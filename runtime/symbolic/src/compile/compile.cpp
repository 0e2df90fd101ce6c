// SPDX-License-Identifier: Apache-2.0
// From a symbolic graph to commands in planned memory: passes, the order of evaluation, in place,
// streams, lifetimes, the plan, the concrete graph.
#include "mote/symbolic/compile.h"

#include <algorithm>
#include <utility>

#include "borrow.h"
#include "compile/build.h"
#include "compile/executable.h"
#include "compile/layout.h"
#include "fail.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/pass.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

class Compiler {
 public:
  Compiler(const SymbolicGraph& source, const CompileOptions& options, Context& context,
           std::optional<LargestShapes>* largest)
      : source_(source),
        options_(options),
        context_(context),
        largest_(largest),
        graph_(detail::Borrower::borrow(source)) {
    check_options();
  }

  std::unique_ptr<CompiledGraph> compile() {
    find_asked();
    run_passes();
    find_layout();
    build();
    describe();
    const StreamSchedule schedule = std::move(layout_.schedule);
    if (largest_ != nullptr && !*largest_)
      *largest_ = LargestShapes{std::move(layout_), compiled_->arena};
    layout_ = {};  // preparing needs memory of its own, and neither this nor the graph
    graph_ = SymbolicGraph(source_.name(), source_.registry());
    compiled_->graph.prepare(schedule, {.context = &context_, .streams = options_.streams});
    compiled_->report.workspace_bytes = compiled_->graph.statistics().workspace_bytes;
    return std::move(compiled_);
  }

 private:
  void check_options() const {
    if (options_.streams < 1)
      fail_graph("compile: streams must be at least 1, got " + std::to_string(options_.streams));
    for (std::uint32_t k = 0; k < source_.symbol_count(); ++k)
      if (!source_.symbols()[k].removed) source_.form(source_.at(k));
    for (const TensorSymbol symbol : options_.bound) {
      const SymbolInfo& info = source_.info(symbol);
      const SymbolOrigin kind = source_.symbols()[info.root].kind;
      if (kind != SymbolOrigin::tensor && kind != SymbolOrigin::zeros)
        fail_graph("compile: " + source_.text(symbol) +
                   " cannot be a bound output: no node writes it");
      if (info.root != symbol.index)
        fail_graph("compile: " + source_.text(symbol) +
                   " cannot be a bound output: it is a view of " +
                   source_.text(source_.root(symbol)));
    }
  }

  /// Lists the symbols that are asked for, by index of the source.
  void find_asked() {
    std::vector<TensorSymbol> asked = options_.outputs;
    if (asked.empty()) asked = source_.outputs();
    asked.insert(asked.end(), options_.bound.begin(), options_.bound.end());
    if (asked.empty())
      fail_graph("compile: " + source_.name() + " has no outputs, and none are asked for");
    for (const TensorSymbol symbol : asked) {
      source_.info(symbol);
      if (std::ranges::find(asked_, symbol.index) == asked_.end()) asked_.push_back(symbol.index);
    }
    std::vector<TensorSymbol> outputs;
    for (const std::uint32_t index : asked_) outputs.push_back(graph_.at(index));
    graph_.set_outputs(outputs);
  }

  /// Runs the passes. An output may be another symbol afterwards, in the same position.
  void run_passes() {
    const std::vector<std::string> own = default_passes();
    const std::vector<std::string> names = options_.passes.value_or(own);
    const bool are_own = std::ranges::all_of(
        names, [&](const std::string& name) { return std::ranges::find(own, name) != own.end(); });
    if (!are_own) graph_ = SymbolicGraph(graph_);  // they may keep references while they change it
    for (const PassReport& report : apply_passes(graph_, names, {.context = &context_}))
      compiled_->report.passes.push_back(report.text);
    for (const TensorSymbol symbol : options_.bound) own_memory(symbol);
    now_ = graph_.output_indices();
    for (const TensorSymbol symbol : options_.bound)
      bound_now_.push_back(now_[position_of(symbol)]);
  }

  std::size_t position_of(TensorSymbol asked) const {
    return static_cast<std::size_t>(std::ranges::find(asked_, asked.index) - asked_.begin());
  }

  /// Adds a copy where passes have found that a bound output is an input, a constant, a view, or
  /// equal to another output: its memory is the caller's, and no node would write there.
  void own_memory(TensorSymbol symbol) {
    const std::size_t position = position_of(symbol);
    std::vector<TensorSymbol> outputs = graph_.outputs();
    const TensorSymbol now = outputs[position];
    const bool is_shared =
        std::ranges::count(outputs, now) > 1 ||
        (graph_.producer(now) && graph_.info(graph_.producer(now)).kind == NodeKind::control);
    if (!is_shared && graph_.producer(now) && graph_.info(now).root == now.index) return;
    if (!is_shared && graph_.info(now).kind == SymbolOrigin::zeros &&
        !writers(graph_)[now.index].empty())
      return;
    const TensorSymbol own = graph_.tensor(source_.form(symbol));
    graph_.copy(now, own);
    outputs[position] = own;
    graph_.set_outputs(outputs);
  }

  /// Takes the layout of the largest shapes, or makes one, which must fit into their memory.
  void find_layout() {
    const bool is_given = largest_ != nullptr && largest_->has_value();
    if (is_given)
      if (auto within =
              lay_out_within((*largest_)->layout, graph_, bound_now_, options_, &context_)) {
        layout_ = std::move(*within);
        arena_ = (*largest_)->arena;
        return;
      }
    layout_ = lay_out(graph_, bound_now_, options_, &context_);
    const auto bytes = static_cast<std::int64_t>(layout_.plan.total);
    if (!is_given) {
      arena_ = Tensor(DType::u8, {bytes});
    } else {
      arena_ = (*largest_)->arena;
      if (bytes > arena_.element_count())
        fail_graph("compile: " + source_.name() + " needs " + std::to_string(bytes) +
                       " bytes for these shapes, and " + std::to_string(arena_.element_count()) +
                       " are planned for the largest ones",
                   MOTE_OUT_OF_MEMORY);
    }
  }

  void build() {
    BuiltGraph built = build_graph(graph_, layout_, now_, arena_);
    compiled_->arena = built.arena;
    compiled_->graph = std::move(built.graph);
    for (std::uint32_t k = 0; k < source_.symbol_count(); ++k)
      if (source_.symbols()[k].kind == SymbolOrigin::input)
        compiled_->bindable.emplace(k, Bindable{source_.symbols()[k].form, built.tensors[k]});
    for (std::size_t k = 0; k < asked_.size(); ++k)
      compiled_->outputs.emplace(asked_[k], built.tensors[now_[k]]);
    for (std::size_t k = 0; k < options_.bound.size(); ++k) {
      const std::uint32_t index = options_.bound[k].index;
      compiled_->bindable.emplace(
          index, Bindable{source_.symbols()[index].form, built.tensors[bound_now_[k]]});
      compiled_->bound_outputs.push_back(index);
    }
  }

  void describe() {
    CompileReport& report = compiled_->report;
    report.graph = source_.name();
    report.order = options_.order;
    report.streams = static_cast<int>(layout_.schedule.stream_count());
    report.events = layout_.schedule.events.size();
    report.arena_bytes = layout_.plan.total;
    report.lower_bound = layout_.plan.bound;
    report.in_place_pairs = layout_.pairs.size();
    report.has_control = !layout_.controls.empty();
    report.copied_bytes = layout_.copied_bytes;
    describe_nodes();
    report.blocks.reserve(layout_.blocks.problem.blocks.size());
    for (std::size_t b = 0; b < layout_.blocks.problem.blocks.size(); ++b) {
      const MemoryBlock& block = layout_.blocks.problem.blocks[b];
      report.separate_bytes += (block.bytes + kAlignment - 1) / kAlignment * kAlignment;
      report.blocks.push_back({block.name, block.bytes, layout_.plan.offsets[b],
                               layout_.blocks.first[b], layout_.blocks.last[b]});
    }
  }

  void describe_nodes() {
    std::vector<std::string> texts = node_texts(graph_);
    std::vector<bool> in_place(graph_.node_count());
    for (const SharedPair& pair : layout_.pairs) in_place[pair.node] = true;
    compiled_->report.nodes.reserve(layout_.steps.steps.size());
    for (std::uint32_t k = 0; k < layout_.steps.steps.size(); ++k) {
      const Step& step = layout_.steps.steps[k];
      CompiledNode node;
      node.text = step.kind == StepKind::node ? std::move(texts[step.index]) : fill_text(step);
      node.stream = static_cast<int>(layout_.schedule.stream[k]);
      for (std::size_t w = layout_.schedule.wait_begin[k]; w < layout_.schedule.wait_begin[k + 1];
           ++w)
        node.waits.push_back(layout_.schedule.events[layout_.schedule.waits[w]]);
      node.in_place = step.kind == StepKind::node && in_place[step.index];
      compiled_->report.nodes.push_back(std::move(node));
    }
  }

  std::string fill_text(const Step& step) const {
    return std::string(step.kind == StepKind::zeros ? "zeros" : "poison") + " of " +
           graph_.text(graph_.at(step.index));
  }

  const SymbolicGraph& source_;
  const CompileOptions& options_;
  Context& context_;
  std::optional<LargestShapes>* largest_;
  SymbolicGraph graph_;
  std::unique_ptr<CompiledGraph> compiled_ = std::make_unique<CompiledGraph>();
  std::vector<std::uint32_t> asked_;      ///< the symbols that are asked for, of the source
  std::vector<std::uint32_t> now_;        ///< the symbols that hold their values after the passes
  std::vector<std::uint32_t> bound_now_;  ///< those of bound outputs
  GraphLayout layout_;
  Tensor arena_;
};

}  // namespace

std::unique_ptr<CompiledGraph> compile_shapes(const SymbolicGraph& graph,
                                              const CompileOptions& options, Context& context,
                                              std::optional<LargestShapes>* largest) {
  return Compiler(graph, options, context, largest).compile();
}

}  // namespace mote
