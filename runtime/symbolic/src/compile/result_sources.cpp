// SPDX-License-Identifier: Apache-2.0
#include "compile/result_sources.h"

#include <algorithm>

#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"

namespace mote {

namespace {

using SourceKind = ResultSource::Kind;

}  // namespace

std::optional<ViewRegion> part_of(const std::optional<ViewRegion>& outer,
                                  const std::optional<ViewRegion>& inner) {
  if (!outer || !inner) return outer ? outer : inner;
  return ViewRegion{inner->form, outer->offset + inner->offset};
}

ResultSources::ResultSources(SymbolicGraph& graph) : graph_(graph), inputs_(input_indices(graph)) {}

std::vector<ResultSource> ResultSources::find(const std::vector<bool>& elsewhere) {
  std::vector<ResultSource> sources;
  std::vector<TensorSymbol> outputs = graph_.outputs();
  for (std::size_t k = 0; k < elsewhere.size(); ++k) {
    if (elsewhere[k]) {
      sources.push_back({SourceKind::elsewhere, static_cast<std::uint32_t>(k)});
      continue;
    }
    const ResultSource source = source_of(outputs[k].index);
    if (source.kind == SourceKind::root) outputs[k] = graph_.at(source.index);
    sources.push_back(source);
  }
  graph_.set_outputs(outputs);
  return sources;
}

ResultSource ResultSources::source_of(std::uint32_t symbol) {
  const SymbolInfo& info = graph_.symbols()[symbol];
  const SymbolInfo& root = graph_.symbols()[info.root];
  std::optional<ViewRegion> part;
  if (info.offset != 0 || info.form != root.form) part = {info.form, info.offset};
  if (root.kind == SymbolOrigin::constant) return {SourceKind::constant, info.root, part};
  if (root.kind == SymbolOrigin::input) {
    const auto at =
        static_cast<std::size_t>(std::ranges::find(inputs_, info.root) - inputs_.begin());
    return {SourceKind::input, static_cast<std::uint32_t>(at), part};
  }
  if (writers(graph_)[info.root].empty()) {  // zeros, or no elements
    const TensorSymbol own = graph_.tensor(info.form);
    graph_.fill(own, 0);
    return {SourceKind::root, own.index};
  }
  return {SourceKind::root, info.root, part};
}

}  // namespace mote
