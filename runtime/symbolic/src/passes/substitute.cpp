// SPDX-License-Identifier: Apache-2.0
// Replaces symbols by equal ones, and keeps the outputs of the graph.
#include "passes/substitute.h"

#include <vector>

namespace mote {

std::uint32_t Substitution::end(std::uint32_t symbol) const {
  for (auto found = by_index_.find(symbol); found != by_index_.end();
       found = by_index_.find(symbol))
    symbol = found->second;
  return symbol;
}

void Substitution::apply() {
  if (by_index_.empty()) return;
  const std::vector<TensorSymbol> outputs = graph_.outputs();
  graph_.replace_uses(by_index_);
  graph_.set_outputs(outputs);
  std::vector<bool> is_written(graph_.symbol_count());
  for (const TensorSymbol output : outputs) {
    const SymbolInfo& info = graph_.info(output);
    if (!has(output.index) || info.kind != SymbolOrigin::tensor || is_written[output.index])
      continue;
    is_written[output.index] = true;
    graph_.copy(graph_.at(end(output.index)), output);
  }
}

}  // namespace mote
