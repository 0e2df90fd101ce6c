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
  for (const std::uint32_t symbol : changed) check_arenas(symbol);
  if (!current->bound_outputs.empty()) check_bound_outputs();
  changed.clear();
}

/// Nodes write in the arenas before all that is bound was read.
void Executable::State::check_arenas(std::uint32_t symbol) const {
  const MemoryExtent& extent = bound.at(symbol).extent;
  for (const Tensor& arena : current->arenas) {
    if (!extent_of(arena).meets(extent)) continue;
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
    for (const auto& [other, memory] : bound) {
      if (other == symbol || !memory.extent.meets(extent)) continue;
      if (is_written) refuse_sharing(symbol, other);
      if (is_output(other)) refuse_sharing(other, symbol);
    }
  }
}

/// Does the same for all. Of what begins before a tensor, that which ends last meets it if anything
/// does.
void Executable::State::check_all_bound() const {
  const std::unordered_set<std::uint32_t> written(current->bound_outputs.begin(),
                                                  current->bound_outputs.end());
  for (const std::uint32_t output : written) check_constants(output);
  std::vector<MemoryExtent> extents;
  for (const auto& [symbol, memory] : bound)
    if (!memory.extent.is_empty()) extents.push_back(memory.extent);
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
