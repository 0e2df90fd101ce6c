// SPDX-License-Identifier: Apache-2.0
// Finds regions by boxes in trees; a tree is built at once, and small ones are built anew with
// larger ones, so that n regions are added in n log² n steps.
#include "mote/symbolic/region_index.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace mote {
namespace {

/// The number of regions that are looked at one by one.
constexpr std::size_t kFew = 8;

}  // namespace

bool RegionBox::meets(const RegionBox& other) const {
  for (int axis = 0; axis < low.size(); ++axis)
    if (low[axis] > other.high[axis] || high[axis] < other.low[axis]) return false;
  return true;
}

void RegionBox::include(const RegionBox& other) {
  for (int axis = 0; axis < low.size(); ++axis) {
    low[axis] = std::min(low[axis], other.low[axis]);
    high[axis] = std::max(high[axis], other.high[axis]);
  }
}

std::int64_t RegionBox::common(const RegionBox& other) const {
  std::int64_t count = 1;
  for (int axis = 0; axis < low.size(); ++axis) {
    const std::int64_t first = std::max(low[axis], other.low[axis]);
    const std::int64_t last = std::min(high[axis], other.high[axis]);
    if (last < first) return 0;
    count *= last - first + 1;
  }
  return count;
}

RegionCoordinates::RegionCoordinates(const TensorForm& tensor) {
  for (int axis = 0; axis < tensor.shape.size(); ++axis)
    if (tensor.shape[axis] > 1 && tensor.strides[axis] != 0)
      radices_.push_back(std::abs(tensor.strides[axis]));
  std::ranges::sort(radices_, std::greater<>());
  std::vector<std::int64_t> chain;
  for (const std::int64_t radix : radices_)
    if (chain.empty() || (radix < chain.back() && chain.back() % radix == 0))
      chain.push_back(radix);
  if (chain.empty() || chain.back() != 1) chain.push_back(1);
  if (chain.size() > static_cast<std::size_t>(kMaxAxes)) chain.erase(chain.begin());
  radices_ = std::move(chain);
}

void RegionCoordinates::refine(const ViewRegion& region) {
  for (int axis = 0; axis < region.form.shape.size(); ++axis) {
    const std::int64_t radix = std::abs(region.form.strides[axis]);
    if (region.form.shape[axis] < 2 || radix < 2) continue;
    const auto next = std::ranges::lower_bound(radices_, radix, std::greater<>());
    if (*next == radix || radix % *next != 0 ||
        (next != radices_.begin() && *std::prev(next) % radix != 0))
      continue;
    if (radices_.size() == static_cast<std::size_t>(kMaxAxes)) return;
    radices_.insert(next, radix);
  }
}

std::optional<RegionBox> RegionCoordinates::box(const ViewRegion& region) const {
  const TensorForm& form = region.form;
  std::int64_t lowest = region.offset;
  for (int axis = 0; axis < form.shape.size(); ++axis) {
    if (form.shape[axis] == 0) return std::nullopt;
    lowest += std::min<std::int64_t>(0, (form.shape[axis] - 1) * form.strides[axis]);
  }
  const int count = static_cast<int>(radices_.size());
  const auto digit = [&](std::int64_t offset, int k) {
    const std::int64_t radix = radices_[static_cast<std::size_t>(k)];
    if (k == 0) return offset >= 0 ? offset / radix : -((radix - 1 - offset) / radix);
    const std::int64_t above = radices_[static_cast<std::size_t>(k - 1)];
    const std::int64_t rest = offset % above;
    return (rest < 0 ? rest + above : rest) / radix;
  };
  RegionBox box;
  for (int k = 0; k < count; ++k) {
    box.low.push_back(digit(lowest, k));
    box.high.push_back(box.low[k]);
  }
  for (int axis = 0; axis < form.shape.size(); ++axis)
    for (int k = 0; k < count; ++k)
      box.high[k] += (form.shape[axis] - 1) * digit(std::abs(form.strides[axis]), k);
  for (int k = count - 1; k > 0; --k) {
    const std::int64_t base =
        radices_[static_cast<std::size_t>(k - 1)] / radices_[static_cast<std::size_t>(k)];
    if (box.high[k] < base) continue;
    box.high[k - 1] += box.high[k] / base;
    box.low[k] = 0;
    box.high[k] = base - 1;
  }
  // The box holds all of the region, so that equal numbers say that they are equal.
  box.is_full = box.common(box) == element_count(form);
  return box;
}

void RegionIndex::add(const ViewRegion& region, std::uint32_t entry) {
  std::optional<RegionBox> box = coordinates_.box(region);
  if (!box) return;
  kept_.push_back({region, *box, entry, true});
  try {
    pending_.push_back(static_cast<std::uint32_t>(kept_.size() - 1));
  } catch (...) {
    kept_.pop_back();
    throw;
  }
  ++alive_;
  if (pending_.size() <= kFew) return;
  try {
    grow_tree();
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the next call tries again
  }
}

/// Makes a tree of the pending regions and of those trees that are not much larger.
void RegionIndex::grow_tree() {
  Tree tree{pending_, {}};
  std::size_t left = trees_.size();
  for (; left > 0 && trees_[left - 1].order.size() <= 2 * tree.order.size(); --left)
    tree.order.insert(tree.order.end(), trees_[left - 1].order.begin(),
                      trees_[left - 1].order.end());
  std::erase_if(tree.order, [&](std::uint32_t k) { return !kept_[k].is_alive; });
  if (!tree.order.empty()) build(tree, 0, static_cast<std::uint32_t>(tree.order.size()));
  trees_.reserve(trees_.size() + 1);
  // Nothing below needs memory.
  trees_.erase(trees_.begin() + static_cast<std::ptrdiff_t>(left), trees_.end());
  if (!tree.order.empty()) trees_.push_back(std::move(tree));
  pending_.clear();
}

/// Returns the axis along which the boxes are spread most, measured in their mean length.
int RegionIndex::widest_axis(const Tree& tree, std::uint32_t begin, std::uint32_t end) const {
  int widest = 0;
  double most = -1;
  for (int axis = 0; axis < kept_[tree.order[begin]].box.low.size(); ++axis) {
    std::int64_t least = kept_[tree.order[begin]].box.low[axis];
    std::int64_t greatest = least;
    double length = 0;
    for (std::uint32_t k = begin; k < end; ++k) {
      const RegionBox& box = kept_[tree.order[k]].box;
      least = std::min(least, box.low[axis]);
      greatest = std::max(greatest, box.low[axis]);
      length += static_cast<double>(box.high[axis] - box.low[axis] + 1);
    }
    const double spread = static_cast<double>(greatest - least) / length;
    if (spread <= most) continue;
    most = spread;
    widest = axis;
  }
  return widest;
}

void RegionIndex::build(Tree& tree, std::uint32_t begin, std::uint32_t end) const {
  const std::size_t at = tree.nodes.size();
  Node node{kept_[tree.order[begin]].box, begin, end, 0};
  for (std::uint32_t k = begin + 1; k < end; ++k) node.box.include(kept_[tree.order[k]].box);
  tree.nodes.push_back(node);
  if (end - begin <= kFew) return;
  const int axis = widest_axis(tree, begin, end);
  const std::uint32_t middle = begin + (end - begin) / 2;
  const auto first = tree.order.begin();
  std::nth_element(first + begin, first + middle, first + end,
                   [&](std::uint32_t a, std::uint32_t b) {
                     return kept_[a].box.low[axis] < kept_[b].box.low[axis];
                   });
  build(tree, begin, middle);
  tree.nodes[at].right = static_cast<std::uint32_t>(tree.nodes.size());
  build(tree, middle, end);
}

bool RegionIndex::any_in(const Tree& tree, const RegionBox& box,
                         const std::function<bool(const Kept&)>& function) const {
  std::vector<std::uint32_t> open = {0};
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    const Node& node = tree.nodes[at];
    open.pop_back();
    if (!node.box.meets(box)) continue;
    if (node.right != 0) {
      open.push_back(node.right);
      open.push_back(at + 1);
      continue;
    }
    for (std::uint32_t k = node.begin; k < node.end; ++k) {
      const Kept& kept = kept_[tree.order[k]];
      if (kept.is_alive && kept.box.meets(box) && function(kept)) return true;
    }
  }
  return false;
}

bool RegionIndex::any_near(const ViewRegion& region,
                           const std::function<bool(const Kept&)>& function) const {
  const std::optional<RegionBox> box = coordinates_.box(region);
  if (!box) return false;
  for (const Tree& tree : trees_)
    if (any_in(tree, *box, function)) return true;
  return std::ranges::any_of(pending_, [&](std::uint32_t k) {
    return kept_[k].is_alive && kept_[k].box.meets(*box) && function(kept_[k]);
  });
}

void RegionIndex::remove(const ViewRegion& region, std::uint32_t entry) {
  std::vector<std::size_t> found;
  any_near(region, [&](const Kept& kept) {
    if (kept.entry == entry && overlap(kept.region, region))
      found.push_back(static_cast<std::size_t>(&kept - kept_.data()));
    return false;
  });
  for (const std::size_t k : found) kept_[k].is_alive = false;
  alive_ -= found.size();
  if (!is_empty()) return;
  kept_.clear();
  trees_.clear();
  pending_.clear();
}

std::optional<std::int64_t> RegionIndex::count_common(const ViewRegion& region) const {
  const std::optional<RegionBox> box = coordinates_.box(region);
  if (!box) return 0;
  std::int64_t count = 0;
  const bool has_gaps = !box->is_full || any_near(region, [&](const Kept& kept) {
    count += kept.box.common(*box);
    return !kept.box.is_full;
  });
  return has_gaps ? count_in_finer(region) : std::optional(count);
}

/// Does the same in coordinates in which regions that step have no gaps.
std::optional<std::int64_t> RegionIndex::count_in_finer(const ViewRegion& region) const {
  RegionCoordinates finer = coordinates_;
  finer.refine(region);
  std::vector<const ViewRegion*> near;
  any_near(region, [&](const Kept& kept) {
    near.push_back(&kept.region);
    finer.refine(kept.region);
    return false;
  });
  const std::optional<RegionBox> box = finer.box(region);
  if (!box->is_full) return std::nullopt;
  std::int64_t count = 0;
  for (const ViewRegion* other : near) {
    const std::optional<RegionBox> held = finer.box(*other);
    if (!held->is_full) return std::nullopt;
    count += held->common(*box);
  }
  return count;
}

}  // namespace mote
