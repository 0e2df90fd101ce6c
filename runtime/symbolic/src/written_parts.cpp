// SPDX-License-Identifier: Apache-2.0
#include "written_parts.h"

#include <vector>

#include "dependency_cache.h"
#include "mote/base/dtype.h"
#include "mote/runtime/covered.h"

namespace mote {
namespace {

/// Returns the region with each element once: what repeats it does not count.
ViewRegion without_repeats(ViewRegion region) {
  for (int axis = 0; axis < region.form.shape.size(); ++axis)
    if (region.form.strides[axis] == 0 && region.form.shape[axis] > 1) region.form.shape[axis] = 1;
  return region;
}

ViewPlaces places_of(const ViewRegion& region) {
  const auto size = static_cast<std::int64_t>(size_of(region.form.dtype));
  return {region.form, region.offset * size};
}

/// Calls use(root, output) for each view that a node writes.
template <typename Use>
void each_written_view(const SymbolicGraph& graph, const Use& use) {
  const auto nodes = detail::node_table(graph);
  for (std::uint32_t node = 0; node < nodes->size(); ++node)
    for (const std::uint32_t output : nodes->outputs(node))
      if (output != kNoIndex && graph.symbols()[output].root != output)
        use(graph.symbols()[output].root, output);
}

}  // namespace

bool is_covered(const SymbolicGraph& graph, const RegionIndex& written, const ViewRegion& read) {
  const ViewRegion once = without_repeats(read);
  if (const auto count = written.count_common(once)) return *count == element_count(once.form);
  std::vector<ViewPlaces> near;
  written.any_overlapping(once, [&](std::uint32_t symbol) {
    near.push_back(places_of(graph.region(graph.at(symbol))));
    return false;
  });
  return are_covered(places_of(once), near);
}

std::string unwritten_read(const std::string& reader, const std::string& symbol, bool some) {
  return reader + " reads " + symbol +
         (some ? ", of which some elements are not written" : ", which no node writes");
}

std::string unwritten_output(const std::string& symbol, bool some) {
  return "output " + symbol +
         (some ? " has elements that no node writes" : " is written by no node");
}

/// Counts the elements that are left of each root; regions are kept only where some are, since
/// parts mostly tile their tensor. No two writes share an element.
void WrittenParts::find() {
  is_found_ = true;
  each_written_view(graph_, [&](std::uint32_t root, std::uint32_t output) {
    const auto [left, is_new] = left_.try_emplace(root, 0);
    if (is_new) left->second = element_count(graph_.symbols()[root].form);
    left->second -= element_count(graph_.symbols()[output].form);
  });
  each_written_view(graph_, [&](std::uint32_t root, std::uint32_t output) {
    if (left_.at(root) == 0) return;
    const SymbolInfo& part = graph_.symbols()[output];
    regions_.try_emplace(root, graph_.symbols()[root].form)
        .first->second.add({part.form, part.offset}, output);
  });
}

bool WrittenParts::covers(std::uint32_t symbol) {
  const SymbolInfo& info = graph_.symbols()[symbol];
  const SymbolInfo& root = graph_.symbols()[info.root];
  if (root.kind != SymbolOrigin::tensor || root.producer != kNoIndex) return true;
  if (!info.has_form || element_count(info.form) == 0) return true;
  if (!is_found_) find();
  const auto left = left_.find(info.root);
  if (left == left_.end()) return false;
  return left->second == 0 || is_covered(graph_, regions_.at(info.root), {info.form, info.offset});
}

}  // namespace mote
