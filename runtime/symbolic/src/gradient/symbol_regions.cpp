// SPDX-License-Identifier: Apache-2.0
#include "gradient/symbol_regions.h"

#include <algorithm>
#include <utility>

namespace mote {
namespace {

/// A view that may repeat elements, and views that have these once: the last one has as many axes,
/// and one index along those that the first one repeats elements along.
class WithoutRepetition {
 public:
  explicit WithoutRepetition(const ViewRegion& base) : view_(base), distinct_(base) {}

  void add(const ViewStep& step) {
    const ViewRegion before = std::exchange(view_, mote::apply(step, view_));
    const AxisList& n = step.numbers;
    switch (step.kind) {
      case ViewKind::broadcast: {
        AxisList shape;
        for (int k = distinct_.form.rank(); k < n.size(); ++k) shape.push_back(1);
        for (const std::int64_t extent : distinct_.form.shape) shape.push_back(extent);
        if (shape != distinct_.form.shape) apply({ViewKind::broadcast, shape});
        break;
      }
      case ViewKind::permute:
        apply(step);
        break;
      case ViewKind::slice:
      case ViewKind::select: {
        const int axis = static_cast<int>(n[0]);
        const bool is_repeated = before.form.shape[axis] != distinct_.form.shape[axis];
        if (!is_repeated)
          apply(step);
        else if (step.kind == ViewKind::select)
          apply({ViewKind::select, {axis, 0}});
        break;
      }
      case ViewKind::reshape: {
        AxisList shape = view_.form.shape;
        for (int k = 0; k < shape.size(); ++k)
          if (view_.form.strides[k] == 0 && shape[k] > 1) shape[k] = 1;
        if (shape != distinct_.form.shape) apply({ViewKind::reshape, shape});
        break;
      }
    }
    // What has no elements repeats none.
    for (int k = 0; k < view_.form.rank(); ++k)
      if (view_.form.shape[k] == 0 && distinct_.form.shape[k] == 1)
        apply({ViewKind::slice, {k, 0, 0, 1}});
  }
  std::vector<ViewStep> steps() && { return std::move(steps_); }

 private:
  void apply(const ViewStep& step) {
    distinct_ = mote::apply(step, distinct_);
    steps_.push_back(step);
  }

  ViewRegion view_, distinct_;
  std::vector<ViewStep> steps_;  ///< to the distinct elements
};

}  // namespace

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

std::vector<ViewStep> SymbolRegions::views_without_repetition(
    std::uint32_t base, std::span<const std::uint32_t> views) const {
  WithoutRepetition found(region(base));
  for (const std::uint32_t view : views) found.add(graph_.view_step(graph_.at(view)));
  return std::move(found).steps();
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
