// SPDX-License-Identifier: Apache-2.0
// Splits index expressions over nested loops into parts that change with one loop each.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "index.h"

namespace mote::blocks {

/// The maximum number of entries of a table, and of positions in all lists of a loop (1 MiB).
constexpr std::int64_t kMaxEntries = std::int64_t{1} << 17U;

/// The loops over a shape, with its axes in some order from the outermost loop inwards: one loop
/// for each axis, except that several of the last axes share one. `conditions` are the axes that
/// each condition on the position depends on.
class Loops {
 public:
  Loops(Extents shape, std::vector<std::size_t> order,
        const std::vector<std::set<std::size_t>>& conditions);

  std::size_t count() const { return extents_.size(); }
  std::int64_t extent(std::size_t loop) const { return extents_[loop]; }
  /// The loops that change the term.
  std::set<std::size_t> loops_of(const IndexTree::Product& term) const;
  /// True if the loop runs along that axis only.
  bool runs_along(std::size_t loop, std::size_t axis) const;
  /// The index by axis, for positions by loop.
  Extents index(const Extents& positions) const;
  /// Moves the index to the loop's next position.
  void advance(std::size_t loop, Extents& index) const;

 private:
  std::int64_t extent_at(std::size_t location) const { return shape_[order_[location]]; }
  std::size_t begin_of_last(const std::vector<std::set<std::size_t>>& conditions) const;
  std::size_t end_of(std::size_t loop) const {
    return loop + 1 < count() ? first_[loop + 1] : order_.size();
  }

  Extents shape_;
  Extents extents_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> first_;  ///< the position in order_ of each loop's first axis
};

/// An index expression as a sum of parts, one for each loop: the terms that the loop changes and no
/// inner loop does. All arguments and results are by loop.
class NestedIndex {
 public:
  NestedIndex(const IndexTree& tree, const Loops& loops);

  /// The sum of the terms of one loop, which outer loops may change too.
  class Part {
   public:
    Part(IndexTree terms, std::size_t loop, const Loops& loops);
    std::size_t loop() const { return loop_; }
    /// The loops that change it, including its own.
    const std::set<std::size_t>& loops() const { return moving_; }
    std::int64_t at(const Extents& positions) const;

    /// Its values at all positions of its own loop.
    const std::int64_t* row(const Extents& positions) const;

   private:
    std::size_t row_number(const Extents& positions) const;
    void fill(Extents positions, std::size_t row) const;

    const Loops& loops_;
    IndexTree terms_;
    std::size_t loop_;
    std::set<std::size_t> moving_;
    std::optional<std::int64_t> step_;  ///< set if it is linear in its own loop alone
    bool keeps_ = true;                 ///< all rows; otherwise one row, remade each time
    Extents strides_;                   ///< strides of the rows, by outer loop
    mutable Extents table_;             ///< the rows, made when needed
    mutable std::vector<const std::int64_t*> rows_;  ///< the rows by number; null: not yet made
  };

  std::int64_t constant() const { return constant_; }
  const std::vector<Part>& parts() const { return parts_; }  ///< outermost first
  std::int64_t at(const Extents& positions) const;

 private:
  std::int64_t constant_ = 0;
  std::vector<Part> parts_;
};

/// True if some term changes with several axes, so that tables of it would be larger than the
/// entries that are needed.
bool is_nested(const std::vector<Expr>& from, const Extents& shape, const Sizes& sizes);

/// The axes with more than one position that change the expression.
std::set<std::size_t> moving_axes(const IndexTree& tree, const Extents& shape);

/// The number of combinations of those loops, with their strides in a table; 0: too many.
std::int64_t make_strides(const std::set<std::size_t>& which, const Loops& loops, Extents& strides);

/// The position in such a table, from the loops outside of `loop`.
inline std::size_t location_of(const Extents& positions, const Extents& strides, std::size_t loop) {
  std::int64_t at = 0;
  for (std::size_t k = 0; k < loop; ++k) at += strides[k] * positions[k];
  return static_cast<std::size_t>(at);
}

}  // namespace mote::blocks
