// SPDX-License-Identifier: Apache-2.0
#include "compile/blocks.h"

#include <algorithm>

#include "compile/stream_bounds.h"
#include "device_index.h"
#include "fail.h"
#include "mote/graph/large_pages.h"
#include "mote/runtime/tensor.h"
#include "written_parts.h"

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
        nodes_(detail::node_table(graph)),
        parts_(graph),
        same_(graph.symbol_count()) {
    blocks_.owner.assign(graph.symbol_count(), Owner::plan);
    blocks_.block.assign(graph.symbol_count(), kNoIndex);
    number_of({kDLCPU, 0});
    for (std::uint32_t k = 0; k < same_.size(); ++k) same_[k] = k;
  }

  Blocks find(std::span<const SharedPair> pairs, std::span<const std::uint32_t> kept,
              std::span<const std::uint32_t> bound, bool is_separate) {
    find_owners(bound);
    make_room();
    for (const SharedPair& pair : pairs)
      same_[find_same(pair.output)] = find_same(graph_.symbols()[pair.input].root);
    for (std::uint32_t k = 0; k < steps_.steps.size(); ++k) {
      if (steps_.steps[k].kind == RunStepKind::node) use_control(k);
      for (const std::uint32_t symbol : outputs_of(*nodes_, steps_.steps[k])) use(symbol, k, true);
      for (const std::uint32_t symbol : inputs_of(*nodes_, steps_.steps[k])) use(symbol, k, false);
    }
    for (const std::uint32_t symbol : kept) keep(symbol);
    if (!chosen_.empty()) use_locations();
    for (std::size_t d = 0; d < blocks_.devices.size(); ++d)
      if (is_separate)
        state_separate(blocks_.devices[d]);
      else if (schedule_.stream_count() <= 1)
        state_lifetimes(blocks_.devices[d]);
      else
        state_streams(blocks_.devices[d], uses_[d]);
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

  /// Takes memory for a block of each step on the host, which is what most graphs have.
  void make_room() {
    DeviceBlocks& host = blocks_.devices.front();
    detail::reserve_in_large_pages(host.problem.blocks, steps_.steps.size());
    host.first.reserve(steps_.steps.size());
    host.last.reserve(steps_.steps.size());
  }

  bool has_streams() const { return schedule_.stream_count() > 1; }

  std::uint32_t find_same(std::uint32_t k) {
    while (same_[k] != k) k = same_[k] = same_[same_[k]];
    return k;
  }

  /// A block of one of the devices.
  struct Block {
    std::uint32_t device = 0;
    std::uint32_t index = kNoIndex;
  };

  /// Returns the number of the device, which is listed from then on.
  std::uint32_t number_of(DLDevice device) {
    const std::uint32_t d = device_index(blocks_.devices, device);
    if (d == blocks_.devices.size()) blocks_.devices.push_back({.device = device});
    if (has_streams()) uses_.resize(blocks_.devices.size());
    return d;
  }

  /// Returns the block of a symbol's root; one without an index if the plan does not own it.
  Block block_of(std::uint32_t symbol) {
    const std::uint32_t root = graph_.symbols()[symbol].root;
    if (blocks_.owner[root] != Owner::plan) return {};
    const std::uint32_t shared = find_same(root);
    const TensorForm& form = graph_.symbols()[root].form;
    Block block{number_of(form.device), blocks_.block[shared]};
    if (block.index == kNoIndex) {
      block = new_block(form.device, bytes_of(form), graph_.text(graph_.at(root)));
    } else if (root != shared && blocks_.block[root] == kNoIndex) {
      blocks_.devices[block.device].problem.blocks[block.index].name +=
          "=" + graph_.text(graph_.at(root));
    }
    blocks_.block[shared] = block.index;
    blocks_.block[root] = block.index;
    return block;
  }

  static std::uint64_t bytes_of(const TensorForm& form) {
    return static_cast<std::uint64_t>(checked_span(form.dtype, form.shape, form.strides));
  }

  Block new_block(DLDevice device, std::uint64_t bytes, std::string name) {
    const std::uint32_t d = number_of(device);
    DeviceBlocks& on = blocks_.devices[d];
    on.problem.blocks.push_back({bytes, kAlignment, std::move(name)});
    on.first.push_back(kNoIndex);
    on.last.push_back(0);
    if (has_streams()) uses_[d].emplace_back();
    return {d, static_cast<std::uint32_t>(on.problem.blocks.size() - 1)};
  }

  /// Makes the blocks of a loop or a case..of: one on each device for the tensors in it, which it
  /// needs as long as it runs, and those of its results.
  void use_control(std::uint32_t step) {
    const auto found = controls_.find(steps_.steps[step].index);
    if (found == controls_.end()) return;
    ControlLayout& control = found->second;
    const std::string name = graph_.text(graph_.node_at(found->first));
    for (InnerArena& arena : control.arenas) {
      const Block block = new_block(arena.device, arena.bytes, "inside " + name);
      arena.block = block.index;
      use_block(block, step, true);
    }
    control.slot_blocks.clear();
    for (std::size_t k = 0; k < control.slots.size(); ++k) {
      if (is_lent(control, k)) {
        control.slot_blocks.push_back(kNoIndex);
        continue;
      }
      const Block block = new_block(control.slots[k].device, bytes_of(control.slots[k]),
                                    "result " + std::to_string(k) + " of " + name);
      control.slot_blocks.push_back(block.index);
      use_block(block, step, true);
    }
  }

  /// Calls block(b) for each block that a result of a loop or a case..of may be in, and symbol(s)
  /// for each symbol that it may be.
  template <typename UseBlock, typename UseSymbol>
  void each_location(std::uint32_t output, const UseBlock& block, const UseSymbol& symbol) {
    const std::uint32_t node = graph_.symbols()[output].producer;
    const NodeInfo& info = graph_.nodes()[node];
    const ControlLayout& control = controls_.at(node);
    const auto k =
        static_cast<std::size_t>(std::ranges::find(info.outputs, output) - info.outputs.begin());
    for (const auto* locations : {&control.results[k].first, &control.results[k].cycle})
      for (const ResultLocation& location : *locations) {
        if (location.kind == ResultLocation::Kind::slot && !is_lent(control, location.index))
          block(Block{number_of(control.slots[location.index].device),
                      control.slot_blocks[location.index]});
        if (location.kind == ResultLocation::Kind::input) symbol(info.inputs[location.index]);
      }
  }

  void use(std::uint32_t symbol, std::uint32_t step, bool writes) {
    if (symbol == kNoIndex) return;
    const std::uint32_t root = graph_.symbols()[symbol].root;
    if (blocks_.owner[root] == Owner::chosen) return note_use(chosen_[root], step);
    const Block block = block_of(symbol);
    if (block.index != kNoIndex && !writes) check_written(block, symbol, step);
    if (block.index != kNoIndex) use_block(block, step, writes);
  }

  /// A node that reads comes after those that write. What has no element needs none that writes.
  void check_written(Block block, std::uint32_t symbol, std::uint32_t step) {
    if (steps_.steps[step].kind != RunStepKind::node ||
        element_count(graph_.symbols()[symbol].form) == 0)
      return;
    const bool is_written = blocks_.devices[block.device].first[block.index] != kNoIndex;
    if (is_written && parts_.covers(symbol)) return;
    fail_graph(unwritten_read(graph_.text(graph_.node_at(steps_.steps[step].index)),
                              graph_.text(graph_.at(symbol)), is_written));
  }

  /// The last step of each stream that uses what a loop or a case..of gives.
  struct LastUses {
    std::vector<std::uint32_t> steps;
    bool is_kept = false;  ///< it is an output
  };

  void note_use(LastUses& uses, std::uint32_t step) const {
    const std::uint32_t stream = has_streams() ? schedule_.stream[step] : 0;
    const auto is_there = [&](std::uint32_t k) {
      return !has_streams() || schedule_.stream[k] == stream;
    };
    const auto known = std::ranges::find_if(uses.steps, is_there);
    if (known == uses.steps.end())
      uses.steps.push_back(step);
    else
      *known = std::max(*known, step);
  }

  /// Makes what loops and branches give, and later ones pass on, live as long as it is used. The
  /// last node comes first: by then all that uses what it passes on is known, so that a chain of
  /// loops takes a step for each.
  void use_locations() {
    for (std::size_t k = steps_.steps.size(); k-- > 0;) {
      if (steps_.steps[k].kind != RunStepKind::node || !controls_.contains(steps_.steps[k].index))
        continue;
      for (const std::uint32_t output : graph_.nodes()[steps_.steps[k].index].outputs)
        if (const auto found = chosen_.find(output); found != chosen_.end())
          use_locations(output, LastUses(found->second));
    }
  }

  void use_locations(std::uint32_t output, const LastUses& uses) {
    each_location(
        output,
        [&](Block block) {
          for (const std::uint32_t step : uses.steps) use_block(block, step, false);
          if (uses.is_kept) keep_block(block);
        },
        [&](std::uint32_t other) {
          for (const std::uint32_t step : uses.steps) use(other, step, false);
          if (uses.is_kept) keep(other);
        });
  }

  void use_block(Block block, std::uint32_t step, bool writes) {
    DeviceBlocks& on = blocks_.devices[block.device];
    if (on.first[block.index] == kNoIndex) on.first[block.index] = step;
    on.last[block.index] = std::max(on.last[block.index], step);
    if (has_streams()) uses_[block.device][block.index].push_back({step, writes});
  }

  void keep_block(Block block) {
    blocks_.devices[block.device].last[block.index] =
        static_cast<std::uint32_t>(steps_.steps.size());
  }

  void keep(std::uint32_t symbol) {
    const std::uint32_t root = graph_.symbols()[symbol].root;
    if (blocks_.owner[root] == Owner::chosen) {
      chosen_[root].is_kept = true;
      return;
    }
    const Block block = block_of(symbol);
    if (block.index == kNoIndex) return;
    if (blocks_.devices[block.device].first[block.index] != kNoIndex && !parts_.covers(symbol))
      fail_graph(unwritten_output(graph_.text(graph_.at(symbol)), true));
    DeviceBlocks& on = blocks_.devices[block.device];
    if (on.first[block.index] == kNoIndex) {
      // A tensor without elements needs no node that writes it.
      if (on.problem.blocks[block.index].bytes > 0)
        fail_graph(unwritten_output(graph_.text(graph_.at(symbol)), false));
      on.first[block.index] = 0;
    }
    keep_block(block);
  }

  static void state_separate(DeviceBlocks& on) {
    on.problem.interference =
        Interference::of_lifetimes(std::vector<Lifetime>(on.first.size(), {0, 1}));
  }

  static void state_lifetimes(DeviceBlocks& on) {
    std::vector<Lifetime> lifetimes;
    lifetimes.reserve(on.first.size());
    for (std::size_t b = 0; b < on.first.size(); ++b)
      lifetimes.push_back({on.first[b], std::int64_t{on.last[b]} + 1});
    on.problem.interference = Interference::of_lifetimes(std::move(lifetimes));
  }

  struct Use {
    std::uint32_t step;
    bool writes;
  };

  void state_streams(DeviceBlocks& on, const std::vector<std::vector<Use>>& uses) const {
    const HappensBefore before(schedule_);
    const std::size_t streams = schedule_.stream_count();
    std::vector<StreamLife> lives(uses.size());
    for (std::size_t b = 0; b < uses.size(); ++b) {
      StreamLife& life = lives[b];
      life.born.assign(streams, 0xFFFFFFFF);
      life.read.assign(streams, 0);
      for (const Use& use : uses[b]) {
        std::uint32_t& read = life.read[schedule_.stream[use.step]];
        read = std::max(read, schedule_.position[use.step] + 1);
        if (!use.writes) continue;
        for (std::size_t s = 0; s < streams; ++s)
          life.born[s] =
              std::min(life.born[s], before.done(static_cast<std::uint32_t>(s), use.step));
      }
      if (on.last[b] == steps_.steps.size()) std::ranges::fill(life.read, 0xFFFFFFFF);
    }
    on.problem.interference =
        Interference::of_streams(lives, stream_bounds(schedule_, before, lives, on.problem.blocks));
  }

  const SymbolicGraph& graph_;
  const Steps& steps_;
  const StreamSchedule& schedule_;
  std::map<std::uint32_t, ControlLayout>& controls_;
  std::shared_ptr<const detail::NodeTable> nodes_;
  WrittenParts parts_;
  std::vector<std::uint32_t> same_;                  ///< a forest: roots that share memory in place
  std::vector<std::vector<std::vector<Use>>> uses_;  ///< by device and block, on several streams
  std::map<std::uint32_t, LastUses> chosen_;         ///< by result of a loop or a case..of
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
