// The elements of a shape of which conditions on the position hold, as loops over its axes one
// inside the other: each runs over the positions that the conditions leave it, so that what is left
// out costs nothing. The positions of reads move along with the loops.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index.h"
#include "plan.h"

namespace mote::blocks {

/// The loops over a shape: one for each axis that moves, and one for several of the last axes if
/// they are short.
class Loops {
 public:
  explicit Loops(const Extents& shape);

  std::size_t count() const { return extents_.size(); }
  std::int64_t extent(std::size_t loop) const { return extents_[loop]; }
  /// Of what makes terms move.
  std::set<std::size_t> loops_of(const IndexTree::Product& term) const;
  /// That axis is all that the loop runs along.
  bool runs_along(std::size_t loop, std::size_t axis) const;
  /// The index by axis, of positions by loop.
  Extents index(const Extents& positions) const;

 private:
  Extents shape_;
  Extents extents_;
  std::vector<std::size_t> first_;  ///< axes of a loop: from here to that of the next one
};

/// An index expression as a sum of parts, one for each loop: that of the terms which no loop
/// further inside changes. Everything is by loop.
class NestedIndex {
 public:
  NestedIndex(const Expr& e, const Loops& loops, const Sizes& sizes);

  /// What the terms of one loop and of those around it add.
  class Part {
   public:
    Part(IndexTree terms, std::size_t loop, const Loops& loops);
    std::size_t loop() const { return loop_; }
    /// Those that make a difference, its own among them.
    const std::set<std::size_t>& loops() const { return moving_; }
    std::int64_t at(const Extents& positions) const;

    /// What it adds at all positions of its own loop.
    struct Row {
      const std::int64_t* values;
      std::int64_t least, greatest;
    };
    Row row(const Extents& positions) const;

   private:
    std::size_t row_number(const Extents& positions) const;
    void fill(Extents positions, std::size_t row) const;

    const Loops& loops_;
    IndexTree terms_;
    std::size_t loop_;
    std::set<std::size_t> moving_;
    std::optional<std::int64_t> step_;  ///< linear: of its own loop
    bool keeps_ = true;                 ///< all rows; else one, made anew each time
    Extents strides_;                   ///< of the rows, by loop around
    mutable Extents table_;             ///< rows, as they are needed
    mutable std::vector<Row> rows_;     ///< by number; no values: not yet
  };

  std::int64_t constant() const { return constant_; }
  const std::vector<Part>& parts() const { return parts_; }  ///< from the outside in
  std::int64_t at(const Extents& positions) const;

 private:
  std::int64_t constant_ = 0;
  std::vector<Part> parts_;
};

/// Some term changes with several axes: tables of it would be larger than what most need of them.
bool is_nested(const Read& read, const Extents& shape, const Sizes& sizes);

class Nest {
 public:
  /// Conditions are comparisons of positions (thin.h); none: every element counts. Blocks have so
  /// many elements, but for the last.
  Nest(const std::vector<Uop>& conditions, const Extents& shape, const Sizes& sizes,
       std::int64_t block);

  /// Of each block's elements the positions go there; -1 out of range. Of a tensor without axes
  /// they are the values of the one expression that there is.
  void add(const Read& read, std::int64_t* positions);
  /// Of the block that take() is called for no position of the read that was added as number `read`
  /// is out of range.
  bool inside(std::size_t read) const { return readings_[read].inside; }
  /// take(n) for each block of n elements, in row-major order.
  template <typename Take>
  void run(const Take& take) {
    if (!possible_) return;
    walk(0, take);
    if (count_ > 0) flush(take);
  }

 private:
  using Shared = std::shared_ptr<const NestedIndex>;
  struct Condition {
    MapOp op;
    Shared a, b;
  };
  struct Loop {
    std::vector<Condition> conditions = {};
    Extents strides = {};             ///< of the lists, by loop; 0: it makes no difference
    std::vector<Extents> lists = {};  ///< positions that are left, for all around that differ
    std::vector<char> known = {};     ///< by list
    bool keeps = true;                ///< else there is one list, made anew each time
  };
  /// One axis of a read tensor, or a value, once the loop that completes it is entered.
  struct Part {
    std::size_t index;      ///< whose sum in sums_ it makes
    std::ptrdiff_t before;  ///< the part outside of it, in sums_; -1: the constant
    const NestedIndex::Part* part;
    std::int64_t constant, extent, stride;
    bool completes;
    bool is_value;  ///< any will do
  };
  struct Reading {
    std::vector<std::vector<Part>> by_loop;
    Extents offsets;  ///< outside of each loop; -1: out of range
    std::int64_t* positions;
    bool inside = true;  ///< the block at hand
  };

  Shared shared(const Expr& e);
  void add_condition(const Uop& condition);
  void make_lists(std::size_t at);
  const Extents& chosen(std::size_t at);
  void choose(std::size_t at, Extents& list);
  std::int64_t begun(const Part& part) const;  ///< what there is before it
  static std::int64_t moved(const Part& part, std::int64_t offset, std::int64_t at);
  void enter(std::size_t loop);
  void emit(std::span<const std::int64_t> list);
  void emit(Reading& r, std::span<const std::int64_t> list);

  template <typename Take>
  void flush(const Take& take) {
    take(std::exchange(count_, 0));
    for (Reading& r : readings_) r.inside = true;
  }
  template <typename Take>
  void walk(std::size_t at, const Take& take) {
    const Extents& list = chosen(at);
    if (at + 1 < loops_.count()) {
      for (const std::int64_t k : list) {
        at_[at] = k;
        enter(at);
        walk(at + 1, take);
      }
      return;
    }
    std::span<const std::int64_t> left = list;
    while (!left.empty()) {
      const auto n = std::min(left.size(), static_cast<std::size_t>(block_ - count_));
      emit(left.first(n));
      left = left.subspan(n);
      count_ += static_cast<std::int64_t>(n);
      if (count_ == block_) flush(take);
    }
  }

  Loops loops_;
  const Sizes& sizes_;
  std::int64_t block_;
  std::vector<Loop> by_loop_;
  std::vector<Reading> readings_;
  std::unordered_map<Expr, Shared> functions_;
  Extents at_;              ///< by loop
  Extents sums_;            ///< of the parts of all reads
  std::int64_t count_ = 0;  ///< elements of the block at hand
  bool possible_ = true;
};

}  // namespace mote::blocks
