// SPDX-License-Identifier: Apache-2.0
// From a symbolic graph to commands in planned memory: passes, the order of evaluation, in place,
// streams, lifetimes, the plan, the concrete graph.
#include "mote/symbolic/compile.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "borrow.h"
#include "compile/build.h"
#include "compile/executable.h"
#include "compile/layout.h"
#include "device_index.h"
#include "fail.h"
#include "mote/graph/large_pages.h"
#include "mote/runtime/device.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/pass.h"
#include "mote/symbolic/text.h"
#include "passes/registered.h"

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
    check_forms();
    find_asked();
    run_passes();
    find_layout();
    build();
    describe();
    prepare();
    return std::move(compiled_);
  }

  /// Does the same, but at addresses where no memory is.
  CompileReport plan() {
    check_forms();
    find_asked();
    run_passes();
    layout_ = lay_out(graph_, bound_now_, options_, &context_);
    if (planned_bytes(layout_) > static_cast<std::uint64_t>(kMostBytes))
      fail_graph("compile: " + source_.name() + " needs " + std::to_string(planned_bytes(layout_)) +
                     " bytes, expected at most " + std::to_string(kMostBytes),
                 MOTE_OUT_OF_MEMORY);
    for (std::size_t d = 0; d < layout_.plans.size(); ++d)
      arenas_.push_back(nowhere({DType::u8,
                                 {static_cast<std::int64_t>(layout_.plans[d].total)},
                                 {1},
                                 layout_.blocks.devices[d].device},
                                d));
    build(true);
    describe();
    prepare();
    return std::move(compiled_->report);
  }

  /// Plans the tensors whose shapes are known already, in the order in which nodes were added.
  CompileReport plan_known() {
    find_asked();
    CompileOptions options = options_;
    options.in_place = false;
    options.order = EvaluationOrder::program;
    layout_ = lay_out(graph_, {}, options, &context_);
    describe();
    CompileReport& report = compiled_->report;
    report.order = options.order;
    std::erase_if(report.blocks, [](const CompiledBlock& block) { return block.bytes == 0; });
    for (std::uint32_t k = 0; k < source_.symbol_count(); ++k) {
      const SymbolInfo& info = source_.symbols()[k];
      if (info.kind == SymbolOrigin::input && !info.removed && !info.has_form)
        report.unknown.push_back(source_.text(source_.at(k)));
    }
    return std::move(report);
  }

 private:
  void check_options() const {
    if (options_.streams < 1)
      fail_graph("compile: streams must be at least 1, got " + std::to_string(options_.streams));
    if (options_.memory > MemoryMode::separate)
      fail_graph("compile: memory mode " + std::to_string(static_cast<int>(options_.memory)) +
                 " is none");
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

  /// Checks that all forms are known, and on the host or on devices that plug-ins offer.
  void check_forms() const {
    const TensorForm* last = nullptr;  // mostly the next symbol has it too
    for (std::uint32_t k = 0; k < source_.symbol_count(); ++k) {
      if (source_.symbols()[k].removed) continue;
      const TensorForm& form = source_.form(source_.at(k));
      if (&form == std::exchange(last, &form)) continue;
      const std::int64_t bytes = checked_span(form.dtype, form.shape, form.strides);
      if (bytes > kMostBytes)
        fail_graph("compile: " + source_.text(source_.at(k)) + " is " + to_string(form) + ", of " +
                       std::to_string(bytes) + " bytes, expected at most " +
                       std::to_string(kMostBytes),
                   MOTE_OUT_OF_MEMORY);
      if (!form.is_on_host() && !Device::of(form.device))
        fail_graph("compile: " + source_.text(source_.at(k)) + " is " + to_string(form) +
                       ", on a device that no plug-in that was loaded offers",
                   MOTE_UNSUPPORTED);
    }
  }

  void prepare() {
    const StreamSchedule schedule = std::move(layout_.schedule);
    if (largest_ != nullptr && !*largest_)
      *largest_ = LargestShapes{std::move(layout_), compiled_->arenas};
    layout_ = {};  // preparing needs memory of its own, and neither this nor the graph
    graph_ = SymbolicGraph(source_.name(), source_.registry());
    compiled_->graph.prepare(
        schedule,
        {.context = &context_, .streams = options_.streams, .without_nan = options_.without_nan});
    compiled_->report.workspace_bytes = compiled_->graph.statistics().workspace_bytes;
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
      if (positions_.emplace(symbol.index, asked_.size()).second) asked_.push_back(symbol.index);
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
    for (const PassReport& report :
         apply_passes_here(graph_, names, {.context = &context_, .inexact = options_.inexact}))
      compiled_->report.passes.push_back(report.text);
    own_memory();
    now_ = graph_.output_indices();
    for (const TensorSymbol symbol : options_.bound)
      bound_now_.push_back(now_[position_of(symbol)]);
  }

  std::size_t position_of(TensorSymbol asked) const { return positions_.at(asked.index); }

  /// Adds copies where passes have found that a bound output is an input, a constant, a view, or
  /// equal to another output: its memory is the caller's, and no node would write there.
  void own_memory() {
    if (options_.bound.empty()) return;
    std::vector<TensorSymbol> outputs = graph_.outputs();
    std::unordered_map<std::uint32_t, std::size_t> counts;
    for (const TensorSymbol output : outputs) ++counts[output.index];
    std::optional<IndexLists> written;
    for (const TensorSymbol symbol : options_.bound) {
      TensorSymbol& now = outputs[position_of(symbol)];
      const NodeSymbol producer = graph_.producer(now);
      const bool is_shared =
          counts[now.index] > 1 || (producer && graph_.info(producer).kind == NodeKind::control);
      if (!is_shared && producer && graph_.info(now).root == now.index) continue;
      if (!is_shared && graph_.info(now).kind == SymbolOrigin::zeros) {
        if (!written) written = writers(graph_);
        if (!(*written)[now.index].empty()) continue;
      }
      const TensorSymbol own = graph_.tensor(source_.form(symbol));
      graph_.copy(now, own);
      --counts[now.index];
      now = own;
    }
    graph_.set_outputs(outputs);
  }

  /// Takes the layout of the largest shapes, or makes one, which must fit into their memory.
  void find_layout() {
    const bool is_given = largest_ != nullptr && largest_->has_value();
    if (is_given)
      if (auto within =
              lay_out_within((*largest_)->layout, graph_, bound_now_, options_, &context_)) {
        layout_ = std::move(*within);
        arenas_ = (*largest_)->arenas;
        return;
      }
    layout_ = lay_out(graph_, bound_now_, options_, &context_);
    if (is_given) return use_largest(**largest_);
    for (std::size_t d = 0; d < layout_.plans.size(); ++d)
      arenas_.push_back(allocated(layout_.blocks.devices[d].device, layout_.plans[d].total));
  }

  static Tensor allocated(DLDevice device, std::uint64_t bytes) {
    const AxisList shape = {static_cast<std::int64_t>(bytes)};
    const std::optional<Device> on = Device::of(device);
    return on ? Tensor(DType::u8, shape, *on) : Tensor(DType::u8, shape);
  }

  /// Takes the memory of the largest shapes.
  void use_largest(const LargestShapes& largest) {
    for (std::size_t d = 0; d < layout_.plans.size(); ++d) {
      const DLDevice device = layout_.blocks.devices[d].device;
      const std::uint32_t at = device_index(largest.layout.blocks.devices, device);
      const auto needed = static_cast<std::int64_t>(layout_.plans[d].total);
      const std::int64_t there =
          at < largest.arenas.size() ? largest.arenas[at].element_count() : 0;
      if (needed > there)
        fail_graph("compile: " + source_.name() + " needs " + std::to_string(needed) +
                       " bytes for these shapes, and " + std::to_string(there) +
                       " are planned for the largest ones",
                   MOTE_OUT_OF_MEMORY);
      arenas_.push_back(at < largest.arenas.size() ? largest.arenas[at] : allocated(device, 0));
    }
  }

  void build(bool is_plan = false) {
    BuiltGraph built = build_graph(graph_, layout_, now_, arenas_, is_plan);
    if (!options_.bound.empty() && !is_plan)
      compiled_->constants = constant_memory(graph_, layout_, built);
    compiled_->arenas = arenas_;
    compiled_->graph = std::move(built.graph);
    for (std::uint32_t k = 0; k < source_.symbol_count(); ++k)
      if (source_.symbols()[k].kind == SymbolOrigin::input)
        compiled_->bindable[k] = {source_.symbols()[k].form, built.tensors[k]};
    for (std::size_t k = 0; k < asked_.size(); ++k)
      compiled_->outputs.emplace(asked_[k], built.tensors[now_[k]]);
    for (std::size_t k = 0; k < options_.bound.size(); ++k) {
      const std::uint32_t index = options_.bound[k].index;
      compiled_->bindable[index] = {source_.symbols()[index].form, built.tensors[bound_now_[k]]};
      compiled_->bound_outputs.push_back(index);
    }
  }

  void describe() {
    CompileReport& report = compiled_->report;
    report.graph = source_.name();
    report.order = options_.order;
    report.streams = static_cast<int>(layout_.schedule.stream_count());
    report.events = layout_.schedule.events.size();
    report.in_place_pairs = layout_.pairs.size();
    report.has_control = !layout_.controls.empty();
    report.copied_bytes = layout_.copied_bytes;
    if (options_.describes) describe_nodes();
    for (std::size_t d = 0; d < layout_.plans.size(); ++d) describe_memory(d);
  }

  void describe_memory(std::size_t device) {
    CompileReport& report = compiled_->report;
    const DeviceBlocks& on = layout_.blocks.devices[device];
    const MemoryPlan& plan = layout_.plans[device];
    report.arena_bytes += plan.total;
    report.lower_bound += plan.bound;
    if (device > 0) report.devices.push_back({on.device, plan.total, plan.bound});
    if (options_.describes)
      detail::reserve_in_large_pages(report.blocks,
                                     report.blocks.size() + on.problem.blocks.size());
    for (std::size_t b = 0; b < on.problem.blocks.size(); ++b) {
      const MemoryBlock& block = on.problem.blocks[b];
      report.separate_bytes += (block.bytes + kAlignment - 1) / kAlignment * kAlignment;
      if (options_.describes)
        report.blocks.push_back(
            {block.name, block.bytes, plan.offsets[b], on.first[b], on.last[b], on.device});
    }
  }

  void describe_nodes() {
    std::vector<std::string> texts = node_texts(graph_);
    std::vector<bool> in_place(graph_.node_count());
    for (const SharedPair& pair : layout_.pairs) in_place[pair.node] = true;
    detail::reserve_in_large_pages(compiled_->report.nodes, layout_.steps.steps.size());
    for (std::uint32_t k = 0; k < layout_.steps.steps.size(); ++k) {
      const RunStep& step = layout_.steps.steps[k];
      CompiledNode node;
      node.text = step.kind == RunStepKind::node ? std::move(texts[step.index]) : fill_text(step);
      node.stream = static_cast<int>(layout_.schedule.stream[k]);
      for (std::size_t w = layout_.schedule.wait_begin[k]; w < layout_.schedule.wait_begin[k + 1];
           ++w)
        node.waits.push_back(layout_.schedule.events[layout_.schedule.waits[w]]);
      node.in_place = step.kind == RunStepKind::node && in_place[step.index];
      compiled_->report.nodes.push_back(std::move(node));
    }
  }

  std::string fill_text(const RunStep& step) const {
    return std::string(step.kind == RunStepKind::zeros ? "zeros" : "poison") + " of " +
           graph_.text(graph_.at(step.index)) +
           (step.kind == RunStepKind::death ? " at its end" : "");
  }

  const SymbolicGraph& source_;
  const CompileOptions& options_;
  Context& context_;
  std::optional<LargestShapes>* largest_;
  SymbolicGraph graph_;
  std::unique_ptr<CompiledGraph> compiled_ = std::make_unique<CompiledGraph>();
  std::unordered_map<std::uint32_t, std::size_t> positions_;  ///< in asked_
  std::vector<std::uint32_t> asked_;      ///< the symbols that are asked for, of the source
  std::vector<std::uint32_t> now_;        ///< the symbols that hold their values after the passes
  std::vector<std::uint32_t> bound_now_;  ///< those of bound outputs
  GraphLayout layout_;
  std::vector<Tensor> arenas_;  ///< by device of the layout
};

}  // namespace

std::unique_ptr<CompiledGraph> compile_shapes(const SymbolicGraph& graph,
                                              const CompileOptions& options, Context& context,
                                              std::optional<LargestShapes>* largest) {
  return Compiler(graph, options, context, largest).compile();
}

CompileReport plan_shapes(const SymbolicGraph& graph, const CompileOptions& options,
                          Context& context) {
  return Compiler(graph, options, context, nullptr).plan();
}

CompileReport plan_known_shapes(const SymbolicGraph& graph, const CompileOptions& options,
                                Context& context) {
  return Compiler(graph, options, context, nullptr).plan_known();
}

}  // namespace mote
