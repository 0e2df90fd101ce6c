// SPDX-License-Identifier: Apache-2.0
#include "compile/blocks.h"

#include <algorithm>

#include "fail.h"
#include "mote/runtime/tensor.h"

namespace mote {
namespace {

class BlockFinder {
 public:
  BlockFinder(const SymbolicGraph& graph, const Steps& steps, const StreamSchedule& schedule,
              std::map<std::uint32_t, ControlLayout>& controls)
      : graph_(graph),
        steps_(steps),
        schedule_(schedule),
        controls_(controls),
        same_(graph.symbol_count()) {
    blocks_.owner.assign(graph.symbol_count(), Owner::plan);
    blocks_.block.assign(graph.symbol_count(), kNoIndex);
    for (std::uint32_t k = 0; k < same_.size(); ++k) same_[k] = k;
  }

  Blocks find(std::span<const SharedPair> pairs, std::span<const std::uint32_t> kept,
              std::span<const std::uint32_t> bound, bool is_separate) {
    find_owners(bound);
    for (const SharedPair& pair : pairs)
      same_[find_same(pair.output)] = find_same(graph_.symbols()[pair.input].root);
    for (std::uint32_t k = 0; k < steps_.steps.size(); ++k) {
      if (steps_.steps[k].kind == StepKind::node) use_control(k);
      for (const std::uint32_t symbol : outputs_of(graph_, steps_.steps[k])) use(symbol, k, true);
      for (const std::uint32_t symbol : inputs_of(graph_, steps_.steps[k])) use(symbol, k, false);
    }
    for (const std::uint32_t symbol : kept) keep(symbol);
    if (is_separate)
      state_separate();
    else if (schedule_.stream_count() <= 1)
      state_lifetimes();
    else
      state_streams();
    return std::move(blocks_);
  }

 private:
  void find_owners(std::span<const std::uint32_t> bound) {
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k) {
      const SymbolOrigin kind = graph_.symbols()[k].kind;
      if (kind == SymbolOrigin::input) blocks_.owner[k] = Owner::caller;
      if (kind == SymbolOrigin::constant) blocks_.owner[k] = Owner::constant;
    }
    for (const std::uint32_t root : steps_.always_zero) blocks_.owner[root] = Owner::constant;
    for (const auto& [node, control] : controls_)
      for (const std::uint32_t output : graph_.nodes()[node].outputs)
        blocks_.owner[output] = Owner::chosen;
    for (const std::uint32_t symbol : bound)
      blocks_.owner[graph_.symbols()[symbol].root] = Owner::caller;
  }

  bool has_streams() const { return schedule_.stream_count() > 1; }

  std::uint32_t find_same(std::uint32_t k) {
    while (same_[k] != k) k = same_[k] = same_[same_[k]];
    return k;
  }

  /// Returns the block of a symbol's root; kNoIndex if the plan does not own it.
  std::uint32_t block_of(std::uint32_t symbol) {
    const std::uint32_t root = graph_.symbols()[symbol].root;
    if (blocks_.owner[root] != Owner::plan) return kNoIndex;
    const std::uint32_t shared = find_same(root);
    std::uint32_t& block = blocks_.block[shared];
    const TensorForm& form = graph_.symbols()[root].form;
    const auto bytes =
        static_cast<std::uint64_t>(checked_span(form.dtype, form.shape, form.strides));
    if (block == kNoIndex) {
      block = new_block(bytes, graph_.text(graph_.at(root)));
    } else if (root != shared && blocks_.block[root] == kNoIndex) {
      blocks_.problem.blocks[block].name += "=" + graph_.text(graph_.at(root));
    }
    blocks_.block[root] = block;
    return block;
  }

  std::uint32_t new_block(std::uint64_t bytes, std::string name) {
    blocks_.problem.blocks.push_back({bytes, kAlignment, std::move(name)});
    blocks_.first.push_back(kNoIndex);
    blocks_.last.push_back(0);
    if (has_streams()) uses_.emplace_back();
    return static_cast<std::uint32_t>(blocks_.problem.blocks.size() - 1);
  }

  /// Makes the blocks of a loop or a case..of: one for the tensors in it, which it needs as long as
  /// it runs, and those of its results.
  void use_control(std::uint32_t step) {
    const auto found = controls_.find(steps_.steps[step].index);
    if (found == controls_.end()) return;
    ControlLayout& control = found->second;
    const std::string name = graph_.text(graph_.node_at(found->first));
    control.arena_block = new_block(control.arena_bytes, "inside " + name);
    use_block(control.arena_block, step, true);
    control.slot_blocks.clear();
    for (std::size_t k = 0; k < control.slots.size(); ++k) {
      const TensorForm& form = control.slots[k];
      const std::int64_t bytes = checked_span(form.dtype, form.shape, form.strides);
      control.slot_blocks.push_back(new_block(static_cast<std::uint64_t>(bytes),
                                              "result " + std::to_string(k) + " of " + name));
      use_block(control.slot_blocks.back(), step, true);
    }
  }

  /// Calls block(b) for each block that a result of a loop or a case..of may be in, and symbol(s)
  /// for each symbol that it may be.
  template <typename Block, typename Symbol>
  void each_location(std::uint32_t output, const Block& block, const Symbol& symbol) {
    const std::uint32_t node = graph_.symbols()[output].producer;
    const NodeInfo& info = graph_.nodes()[node];
    const ControlLayout& control = controls_.at(node);
    const auto k =
        static_cast<std::size_t>(std::ranges::find(info.outputs, output) - info.outputs.begin());
    for (const auto* locations : {&control.results[k].first, &control.results[k].cycle})
      for (const ResultLocation& location : *locations) {
        if (location.kind == ResultLocation::Kind::slot) block(control.slot_blocks[location.index]);
        if (location.kind == ResultLocation::Kind::input) symbol(info.inputs[location.index]);
      }
  }

  void use(std::uint32_t symbol, std::uint32_t step, bool writes) {
    if (symbol == kNoIndex) return;
    const std::uint32_t root = graph_.symbols()[symbol].root;
    if (blocks_.owner[root] == Owner::chosen)
      return each_location(
          root, [&](std::uint32_t block) { use_block(block, step, writes); },
          [&](std::uint32_t other) { use(other, step, false); });
    const std::uint32_t block = block_of(symbol);
    if (block != kNoIndex) use_block(block, step, writes);
  }

  void use_block(std::uint32_t block, std::uint32_t step, bool writes) {
    if (blocks_.first[block] == kNoIndex) blocks_.first[block] = step;
    blocks_.last[block] = std::max(blocks_.last[block], step);
    if (has_streams()) uses_[block].push_back({step, writes});
  }

  void keep_block(std::uint32_t block) {
    blocks_.last[block] = static_cast<std::uint32_t>(steps_.steps.size());
  }

  void keep(std::uint32_t symbol) {
    const std::uint32_t root = graph_.symbols()[symbol].root;
    if (blocks_.owner[root] == Owner::chosen)
      return each_location(
          root, [&](std::uint32_t block) { keep_block(block); },
          [&](std::uint32_t other) { keep(other); });
    const std::uint32_t block = block_of(symbol);
    if (block == kNoIndex) return;
    if (blocks_.first[block] == kNoIndex) {
      // A tensor without elements needs no node that writes it.
      if (blocks_.problem.blocks[block].bytes > 0)
        fail_graph("output " + graph_.text(graph_.at(symbol)) + " is written by no node");
      blocks_.first[block] = 0;
    }
    keep_block(block);
  }

  void state_separate() {
    blocks_.problem.interference =
        Interference::of_lifetimes(std::vector<Lifetime>(blocks_.first.size(), {0, 1}));
  }

  void state_lifetimes() {
    std::vector<Lifetime> lifetimes;
    for (std::size_t b = 0; b < blocks_.first.size(); ++b)
      lifetimes.push_back({blocks_.first[b], std::int64_t{blocks_.last[b]} + 1});
    blocks_.problem.interference = Interference::of_lifetimes(std::move(lifetimes));
  }

  void state_streams() {
    const HappensBefore before(schedule_);
    const std::size_t streams = schedule_.stream_count();
    std::vector<StreamLife> lives(uses_.size());
    for (std::size_t b = 0; b < uses_.size(); ++b) {
      StreamLife& life = lives[b];
      life.born.assign(streams, 0xFFFFFFFF);
      life.read.assign(streams, 0);
      for (const Use& use : uses_[b]) {
        std::uint32_t& read = life.read[schedule_.stream[use.step]];
        read = std::max(read, schedule_.position[use.step] + 1);
        if (!use.writes) continue;
        for (std::size_t s = 0; s < streams; ++s)
          life.born[s] =
              std::min(life.born[s], before.done(static_cast<std::uint32_t>(s), use.step));
      }
      if (blocks_.last[b] == steps_.steps.size()) std::ranges::fill(life.read, 0xFFFFFFFF);
    }
    blocks_.problem.interference = Interference::of_streams(lives);
  }

  struct Use {
    std::uint32_t step;
    bool writes;
  };

  const SymbolicGraph& graph_;
  const Steps& steps_;
  const StreamSchedule& schedule_;
  std::map<std::uint32_t, ControlLayout>& controls_;
  std::vector<std::uint32_t> same_;     ///< a forest: roots that share memory in place
  std::vector<std::vector<Use>> uses_;  ///< by block, on several streams
  Blocks blocks_;
};

}  // namespace

Blocks find_blocks(const SymbolicGraph& graph, const Steps& steps, const StreamSchedule& schedule,
                   std::span<const SharedPair> pairs, std::span<const std::uint32_t> kept,
                   std::span<const std::uint32_t> bound, bool is_separate,
                   std::map<std::uint32_t, ControlLayout>& controls) {
  return BlockFinder(graph, steps, schedule, controls).find(pairs, kept, bound, is_separate);
}

}  // namespace mote
