// SPDX-License-Identifier: Apache-2.0
// Checks that the memory of bound outputs is that of nothing else which a run reads or writes.
#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "compile/executable.h"

namespace mote {

/// Checks that each output that the caller binds shares memory with nothing else that is bound, as
/// far as it was bound since the last check.
void Executable::State::check_bound() {
  for (const std::uint32_t output : current->bound_outputs)
    if (!bound.contains(output)) refuse(output, " is a bound output and has no memory");
  constexpr std::size_t kFew = 8;
  if (current->bound_outputs.empty()) {
    changed.clear();
    return;
  }
  if (changed.size() > kFew) {
    check_all_bound();
  } else {
    const auto is_output = [&](std::uint32_t symbol) {
      return std::ranges::find(current->bound_outputs, symbol) != current->bound_outputs.end();
    };
    for (const std::uint32_t symbol : changed) {
      const Extent& extent = bound.at(symbol).extent;
      const bool is_written = is_output(symbol);
      for (const auto& [other, memory] : bound) {
        if (other == symbol || !memory.extent.meets(extent)) continue;
        if (is_written) refuse_sharing(symbol, other);
        if (is_output(other)) refuse_sharing(other, symbol);
      }
    }
  }
  changed.clear();
}

/// Does the same for all. Of what begins before a tensor, that which ends last meets it if anything
/// does.
void Executable::State::check_all_bound() const {
  const std::unordered_set<std::uint32_t> written(current->bound_outputs.begin(),
                                                  current->bound_outputs.end());
  std::vector<Extent> extents;
  for (const auto& [symbol, memory] : bound)
    if (memory.extent.low < memory.extent.high) extents.push_back(memory.extent);
  std::sort(extents.begin(), extents.end());
  const Extent* last = nullptr;         // of those before, the one that ends last
  const Extent* last_output = nullptr;  // likewise, of outputs
  for (const Extent& extent : extents) {
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
