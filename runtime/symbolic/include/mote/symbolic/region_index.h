// SPDX-License-Identifier: Apache-2.0
// Regions of one tensor, with an entry kept for each: found are those that share an element with
// another region, in time that grows with the logarithm of their number where regions are slices of
// the tensor, along whichever axes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "mote/base/export.h"
#include "mote/symbolic/view.h"

namespace MOTE_API mote {

/// A box around a region in the coordinates of a tensor: an interval for each of its axes, both
/// ends included.
struct RegionBox {
  AxisList low;
  AxisList high;
  bool is_full = false;  ///< the region, of distinct elements, holds every one of the box

  bool meets(const RegionBox& other) const;
  void include(const RegionBox& other);
  /// Returns the number of coordinates in both.
  std::int64_t common(const RegionBox& other) const;
};

/// The coordinates of elements: digits of the offset in the tensor's strides as radices.
class RegionCoordinates {
 public:
  explicit RegionCoordinates(const TensorForm& tensor);
  /// Adds the region's strides to the radices where they divide, and are divided: what takes every
  /// second column of an even number has no gaps in these coordinates.
  void refine(const ViewRegion& region);
  /// Returns none for a region without elements.
  std::optional<RegionBox> box(const ViewRegion& region) const;

 private:
  std::vector<std::int64_t> radices_;  ///< falling; each divides the one before; the last is 1
};

class RegionIndex {
 public:
  /// Makes an index of slices of that tensor.
  explicit RegionIndex(const TensorForm& tensor) : coordinates_(tensor) {}
  /// Makes an index of any regions, by their first and last elements alone.
  RegionIndex() : RegionIndex(TensorForm(DType::f32, {})) {}

  void add(const ViewRegion& region, std::uint32_t entry);
  /// Removes the regions of that entry that share an element with the region.
  void remove(const ViewRegion& region, std::uint32_t entry);
  bool is_empty() const { return alive_ == 0; }

  /// Calls function(entry) for each region that shares an element with this one, until it returns
  /// true; returns whether it did.
  template <typename Function>
  bool any_overlapping(const ViewRegion& region, const Function& function) const {
    return any_near(region, [&](const Kept& kept) {
      return overlap(kept.region, region) && function(kept.entry);
    });
  }
  bool overlaps(const ViewRegion& region) const {
    return any_overlapping(region, [](std::uint32_t) { return true; });
  }
  /// Returns the number of the region's elements, which are distinct, that are in the regions,
  /// which share none among themselves; nothing where regions have gaps, so that boxes do not tell.
  std::optional<std::int64_t> count_common(const ViewRegion& region) const;

 private:
  struct Kept {
    ViewRegion region;
    RegionBox box;
    std::uint32_t entry = 0;
    bool is_alive = true;
  };
  struct Node {
    RegionBox box;
    std::uint32_t begin = 0;  ///< its regions, as positions in `order`
    std::uint32_t end = 0;
    std::uint32_t right = 0;  ///< its second child; the first stands behind it; 0: a leaf
  };
  struct Tree {
    std::vector<std::uint32_t> order;  ///< positions in kept_
    std::vector<Node> nodes;
  };

  std::optional<std::int64_t> count_in_finer(const ViewRegion& region) const;
  bool any_near(const ViewRegion& region, const std::function<bool(const Kept&)>& function) const;
  bool any_in(const Tree& tree, const RegionBox& box,
              const std::function<bool(const Kept&)>& function) const;
  void grow_tree();
  void build(Tree& tree, std::uint32_t begin, std::uint32_t end) const;
  int widest_axis(const Tree& tree, std::uint32_t begin, std::uint32_t end) const;

  RegionCoordinates coordinates_;
  std::vector<Kept> kept_;
  std::vector<Tree> trees_;  ///< each has less than half of the regions of the one before
  std::vector<std::uint32_t> pending_;  ///< positions in kept_ that are in no tree yet
  std::size_t alive_ = 0;
};

}  // namespace mote
