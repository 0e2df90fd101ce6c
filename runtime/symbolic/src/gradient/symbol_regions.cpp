// SPDX-License-Identifier: Apache-2.0
#include "gradient/symbol_regions.h"

#include <algorithm>

namespace mote {

std::uint32_t SymbolRegions::root_of(std::uint32_t symbol) const {
  while (!is_root(symbol)) symbol = graph_.symbols()[symbol].base;
  return symbol;
}

std::vector<std::uint32_t> SymbolRegions::views_to(std::uint32_t symbol) const {
  std::vector<std::uint32_t> views;
  for (; !is_root(symbol); symbol = graph_.symbols()[symbol].base) views.push_back(symbol);
  std::ranges::reverse(views);
  return views;
}

TensorForm SymbolRegions::form_of(std::uint32_t root) const {
  const TensorForm& form = graph_.form(graph_.at(root));
  if (Tensor::over(nullptr, form.dtype, form.shape, form.strides, form.device).is_distinct())
    return form;
  return {form.dtype, form.shape, checked_strides(form.dtype, form.shape), form.device};
}

ViewRegion SymbolRegions::region(std::uint32_t symbol) const {
  if (is_root(symbol)) return {form_of(symbol), 0};
  const std::vector<std::uint32_t> views = views_to(symbol);
  ViewRegion region{form_of(graph_.symbols()[views.front()].base), 0};
  for (const std::uint32_t view : views) region = apply(graph_.view_step(graph_.at(view)), region);
  return region;
}

void ElementSet::add(std::uint32_t symbol) {
  const std::uint32_t root = regions_.root_of(symbol);
  if (is_whole(root)) return;
  if (regions_.is_root(symbol)) {
    if (root >= whole_.size()) whole_.resize(root + 1);
    whole_[root] = true;
    return;
  }
  RegionIndex& parts = parts_[root];
  if (parts.is_empty()) parts = RegionIndex(regions_.form_of(root));
  parts.add(regions_.region(symbol), symbol);
}

bool ElementSet::overlaps(std::uint32_t symbol) const {
  const std::uint32_t root = regions_.root_of(symbol);
  if (is_whole(root)) return true;
  const auto found = parts_.find(root);
  return found != parts_.end() && found->second.overlaps(regions_.region(symbol));
}

}  // namespace mote
