// SPDX-License-Identifier: Apache-2.0
// Checks that what is bound shares no memory with what a run writes: bound outputs with anything
// else, and inputs with the planned memory.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>
#include <vector>

#include "compile/executable.h"
#include "mote/base/dlpack.h"

namespace mote {
namespace {

/// Adds the memory of constants that the caller may have, in no order.
void add_constants(std::vector<ConstantMemory>& all, const SymbolicGraph& graph,
                   const GraphLayout& layout) {
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    if (graph.symbols()[k].kind != SymbolOrigin::constant || graph.symbols()[k].removed) continue;
    const TensorSymbol symbol = graph.at(k);
    all.push_back({extent_of(graph.value(symbol)), graph.text(symbol)});
  }
  for (const auto& [node, control] : layout.controls)
    for (const SubLayout& sub : control.subs) add_constants(all, sub.graph, *sub.layout);
}

}  // namespace

MemoryExtent extent_of(const Tensor& tensor, std::uint32_t symbol) {
  const std::span<std::byte> bytes = memory_of(tensor.dl());
  const auto low = reinterpret_cast<std::uintptr_t>(bytes.data());
  return {tensor.device(), low, low + bytes.size(), symbol};
}

std::vector<ConstantMemory> constant_memory(const SymbolicGraph& graph, const GraphLayout& layout,
                                            const BuiltGraph& built) {
  std::vector<ConstantMemory> all;
  add_constants(all, graph, layout);
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)  // zeros that no node writes
    if (graph.symbols()[k].kind == SymbolOrigin::zeros && built.tensors[k] != GraphTensor{} &&
        graph.symbols()[k].root == k && layout.blocks.owner[k] == Owner::constant)
      all.push_back({extent_of(built.graph.memory(built.tensors[k])), graph.text(graph.at(k))});
  std::erase_if(all, [](const ConstantMemory& memory) { return memory.extent.is_empty(); });
  std::ranges::stable_sort(all, std::less<>(), &ConstantMemory::extent);
  std::vector<ConstantMemory> merged;
  for (ConstantMemory& memory : all) {
    if (merged.empty() || !merged.back().extent.meets(memory.extent)) {
      merged.push_back(std::move(memory));
    } else if (memory.extent.ends_after(merged.back().extent)) {
      merged.back().extent.high = memory.extent.high;
    }
  }
  return merged;
}

/// Checks that nothing that is bound is in planned memory, and that each output that the caller
/// binds shares memory with nothing else, as far as it was bound since the last check.
void Executable::State::check_bound() {
  for (const std::uint32_t output : current->bound_outputs)
    if (!bound.contains(output)) refuse(output, " is a bound output and has no memory");
  std::erase_if(changed, [&](std::uint32_t symbol) { return !bound.contains(symbol); });  // refused
  check_arenas();
  if (!current->bound_outputs.empty()) check_bound_outputs();
  changed.clear();
}

/// Nodes write in the arenas before all that is bound was read.
void Executable::State::check_arenas() const {
  std::vector<MemoryExtent> arenas;
  for (const Tensor& arena : current->arenas) arenas.push_back(extent_of(arena));
  for (const std::uint32_t symbol : changed) {
    const MemoryExtent& extent = bound.at(symbol).extent;
    const auto meets = [&](const MemoryExtent& arena) { return arena.meets(extent); };
    if (std::ranges::none_of(arenas, meets)) continue;
    for (const auto& [output, tensor] : current->outputs)
      if (output != symbol && extent_of(current->graph.memory(tensor)).meets(extent))
        refuse(symbol, " shares memory with " + source.text(output) +
                           ", which the executable writes (bind a copy of it)");
    refuse(symbol, " is in the planned memory, which the executable writes (bind a copy of it)");
  }
}

void Executable::State::check_constants(std::uint32_t output) const {
  const std::vector<ConstantMemory>& constants = current->constants;
  MemoryExtent end = bound.at(output).extent;
  end.low = end.high;
  const auto after =
      std::ranges::lower_bound(constants, end, std::less<>(), &ConstantMemory::extent);
  if (after != constants.begin() && (after - 1)->extent.meets(bound.at(output).extent))
    refuse(output, " shares memory with the constant " + (after - 1)->name + ", and is written");
}

void Executable::State::check_bound_outputs() const {
  constexpr std::size_t kFew = 8;
  if (changed.size() > kFew) return check_all_bound();
  const auto is_output = [&](std::uint32_t symbol) {
    return std::ranges::find(current->bound_outputs, symbol) != current->bound_outputs.end();
  };
  for (const std::uint32_t symbol : changed) {
    const MemoryExtent& extent = bound.at(symbol).extent;
    const bool is_written = is_output(symbol);
    if (is_written) check_constants(symbol);
    bound.each([&](std::uint32_t other, const Bound& memory) {
      if (other == symbol || !memory.extent.meets(extent)) return;
      if (is_written) refuse_sharing(symbol, other);
      if (is_output(other)) refuse_sharing(other, symbol);
    });
  }
}

/// True if a bound output shares memory with anything else that is bound. Outputs that share none
/// are in the order of their ends too, so that of those that begin before the end of a tensor the
/// last one meets it if any does.
bool Executable::State::shares_bound_outputs() const {
  std::vector<MemoryExtent> outputs;
  for (const std::uint32_t output : current->bound_outputs)
    if (!bound.at(output).extent.is_empty()) outputs.push_back(bound.at(output).extent);
  std::sort(outputs.begin(), outputs.end());
  for (std::size_t k = 1; k < outputs.size(); ++k)
    if (outputs[k].symbol != outputs[k - 1].symbol && outputs[k].meets(outputs[k - 1])) return true;
  bool is_shared = false;
  bound.each([&](std::uint32_t symbol, const Bound& memory) {
    MemoryExtent end = memory.extent;
    end.low = end.high;
    const auto after = std::lower_bound(outputs.begin(), outputs.end(), end);
    if (after == outputs.begin()) return;
    const MemoryExtent& last = *(after - 1);
    is_shared = is_shared || (last.symbol != symbol && last.meets(memory.extent));
  });
  return is_shared;
}

/// Does the same for all. Of what begins before a tensor, that which ends last meets it if anything
/// does.
void Executable::State::check_all_bound() const {
  const std::unordered_set<std::uint32_t> written(current->bound_outputs.begin(),
                                                  current->bound_outputs.end());
  for (const std::uint32_t output : written) check_constants(output);
  if (!shares_bound_outputs()) return;
  std::vector<MemoryExtent> extents;
  bound.each([&](std::uint32_t, const Bound& memory) {
    if (!memory.extent.is_empty()) extents.push_back(memory.extent);
  });
  std::sort(extents.begin(), extents.end());
  const MemoryExtent* last = nullptr;         // of those before, the one that ends last
  const MemoryExtent* last_output = nullptr;  // likewise, of outputs
  for (const MemoryExtent& extent : extents) {
    const bool is_output = written.contains(extent.symbol);
    if (is_output && last != nullptr && last->meets(extent))
      refuse_sharing(extent.symbol, last->symbol);
    if (last_output != nullptr && last_output->meets(extent))
      refuse_sharing(last_output->symbol, extent.symbol);
    if (last == nullptr || !last->ends_after(extent)) last = &extent;
    if (is_output && (last_output == nullptr || !last_output->ends_after(extent)))
      last_output = &extent;
  }
}

void Executable::State::refuse_sharing(std::uint32_t output, std::uint32_t other) const {
  refuse(output, " shares memory with " + source.text(other) + ", and is written");
}

}  // namespace mote
