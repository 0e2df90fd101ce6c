// SPDX-License-Identifier: Apache-2.0
// Index expressions over loops one inside the other, as parts that change with one loop each.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "index.h"

namespace mote::blocks {

/// Entries of a table; positions in all lists of a loop: a megabyte.
constexpr std::int64_t kMaxEntries = std::int64_t{1} << 17U;

/// The loops over a shape, its axes in some order from the outermost loop inwards: one for each
/// axis that moves, and one for several of the last of them. `conditions` are the axes that each
/// condition on the position depends on.
class Loops {
 public:
  Loops(Extents shape, std::vector<std::size_t> order,
        const std::vector<std::set<std::size_t>>& conditions);

  std::size_t count() const { return extents_.size(); }
  std::int64_t extent(std::size_t loop) const { return extents_[loop]; }
  /// Of what makes terms move.
  std::set<std::size_t> loops_of(const IndexTree::Product& term) const;
  /// That axis is all that the loop runs along.
  bool runs_along(std::size_t loop, std::size_t axis) const;
  /// The index by axis, of positions by loop.
  Extents index(const Extents& positions) const;
  /// The index at the loop's next position.
  void advance(std::size_t loop, Extents& index) const;

 private:
  std::int64_t extent_at(std::size_t place) const { return shape_[order_[place]]; }
  std::size_t begin_of_last(const std::vector<std::set<std::size_t>>& conditions) const;
  std::size_t end_of(std::size_t loop) const {
    return loop + 1 < count() ? first_[loop + 1] : order_.size();
  }

  Extents shape_;
  Extents extents_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> first_;  ///< axes of a loop: in that order, from here to the next loop's
};

/// An index expression as a sum of parts, one for each loop: that of the terms which no loop
/// further inside changes. Everything is by loop.
class NestedIndex {
 public:
  NestedIndex(const IndexTree& tree, const Loops& loops);

  /// What the terms of one loop and of those around it add.
  class Part {
   public:
    Part(IndexTree terms, std::size_t loop, const Loops& loops);
    std::size_t loop() const { return loop_; }
    /// Those that make a difference, its own among them.
    const std::set<std::size_t>& loops() const { return moving_; }
    std::int64_t at(const Extents& positions) const;

    /// What it adds at all positions of its own loop.
    const std::int64_t* row(const Extents& positions) const;

   private:
    std::size_t row_number(const Extents& positions) const;
    void fill(Extents positions, std::size_t row) const;

    const Loops& loops_;
    IndexTree terms_;
    std::size_t loop_;
    std::set<std::size_t> moving_;
    std::optional<std::int64_t> step_;               ///< linear: of its own loop
    bool keeps_ = true;                              ///< all rows; else one, made anew each time
    Extents strides_;                                ///< of the rows, by loop around
    mutable Extents table_;                          ///< rows, as they are needed
    mutable std::vector<const std::int64_t*> rows_;  ///< by number; null: not yet
  };

  std::int64_t constant() const { return constant_; }
  const std::vector<Part>& parts() const { return parts_; }  ///< from the outside in
  std::int64_t at(const Extents& positions) const;

 private:
  std::int64_t constant_ = 0;
  std::vector<Part> parts_;
};

/// Some term changes with several axes: tables of it would be larger than what most need of them.
bool is_nested(const std::vector<Expr>& from, const Extents& shape, const Sizes& sizes);

/// Those with more than one position that the expression changes with.
std::set<std::size_t> moving_axes(const IndexTree& tree, const Extents& shape);

/// The number of values of what those loops decide, with their strides in a table; 0: too many.
std::int64_t make_strides(const std::set<std::size_t>& which, const Loops& loops, Extents& strides);

/// In such a table, of the loops around one.
inline std::size_t place_of(const Extents& positions, const Extents& strides, std::size_t loop) {
  std::int64_t at = 0;
  for (std::size_t k = 0; k < loop; ++k) at += strides[k] * positions[k];
  return static_cast<std::size_t>(at);
}

}  // namespace mote::blocks
