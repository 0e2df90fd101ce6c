// SPDX-License-Identifier: Apache-2.0
#include "check_known.h"

#include "fail.h"

namespace mote {

void check_known(const SymbolicGraph& graph, TensorSymbol symbol, const std::string& what) {
  if (graph.info(symbol).has_form) return;
  std::string open;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)
    if (const SymbolInfo& info = graph.symbols()[k];
        info.kind == SymbolOrigin::input && !info.has_form)
      open += (open.empty() ? "" : ", ") + graph.text(graph.at(k));
  fail_graph(what + " " + graph.text(symbol) +
             " is not known yet: expected shapes of all inputs (set_form), got none of " + open);
}

}  // namespace mote
