// SPDX-License-Identifier: Apache-2.0
// Visits the elements of a shape for which conditions on the position hold, by nested loops over
// its axes: each loop runs over the positions that the conditions allow, so that other elements
// cost nothing. The positions of reads move along with the loops.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nested_index.h"
#include "plan.h"

namespace mote::blocks {

class Nest {
 public:
  struct Ends {
    std::int64_t least, greatest;
  };
  /// Conditions are comparisons of positions (masked.h); without any, every element counts. `order`
  /// lists the axes from the outermost inwards. Blocks have `block` elements, except the last.
  Nest(const std::vector<Uop>& conditions, const Extents& shape,
       const std::vector<std::size_t>& order, const Sizes& sizes, std::int64_t block);

  /// Makes the nest write the positions of each block's elements to `positions`; -1 if out of
  /// range. For a read of no tensor these are the values of its only expression.
  void add(const Read& read, std::int64_t* positions);
  /// True if no position in the current block is out of range, for the read that was added as
  /// number `read`.
  bool inside(std::size_t read) const { return readings_[read].inside; }
  /// Calls take(n) for each block of n elements, in the order of the loops.
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
    std::set<std::size_t> around = {};  ///< the outer loops that change the list
    Extents strides = {};  ///< strides of the lists, by loop; 0: it does not change the list
    std::vector<Extents> lists = {};  ///< the allowed positions, for each combination of `around`
    std::vector<char> known = {};     ///< set for known lists
    bool keeps = true;                ///< otherwise there is one list, remade each time
  };
  /// One axis of a read tensor, or a value; complete once its innermost loop is entered.
  struct Part {
    std::size_t index;      ///< index of its sum in sums_
    std::ptrdiff_t before;  ///< index in sums_ of the outer part; -1: the constant
    const NestedIndex::Part* part;
    std::int64_t constant, extent, stride;
    bool completes;
    bool is_value;  ///< a value: it is never out of range
  };
  /// The amounts that the parts of the innermost loop add at its allowed positions.
  struct Line {
    std::vector<std::int64_t> offsets = {};  ///< by position in the list; empty: not yet known
    std::vector<Ends> ends = {};             ///< the range of each part's index
  };
  struct Reading {
    std::vector<std::vector<Part>> by_loop;
    Extents offsets;  ///< before each loop is entered; -1: out of range
    std::int64_t* positions;
    Extents strides = {};          ///< strides of the lines, by loop
    std::vector<Line> lines = {};  ///< empty: they would be too many
    bool inside = true;            ///< nothing in the current block is out of range
  };

  class Side;
  const IndexTree& tree(const Expr& e);
  std::vector<std::set<std::size_t>> choose_conditions(const std::vector<Uop>& conditions,
                                                       const Extents& shape);
  Shared shared(const Expr& e);
  void add_condition(const Uop& condition);
  void make_lists(std::size_t at);
  const Extents& chosen(std::size_t at);
  void choose(std::size_t at, Extents& list);
  std::int64_t begun(const Part& part) const;  ///< the sum before the part
  static std::int64_t moved(const Part& part, std::int64_t offset, std::int64_t at);
  void enter(std::size_t loop);
  void make_lines(Reading& r) const;
  const Line& line_of(Reading& r, const Extents& list) const;
  bool emit_line(Reading& r, const Extents& list, std::size_t from, std::size_t count) const;
  void emit(Reading& r, const Extents& list, std::size_t from, std::size_t count) const;

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
    for (std::size_t from = 0; from < list.size();) {
      const auto n = std::min(list.size() - from, static_cast<std::size_t>(block_ - count_));
      for (Reading& r : readings_) emit(r, list, from, n);
      from += n;
      count_ += static_cast<std::int64_t>(n);
      if (count_ == block_) flush(take);
    }
  }

  const Sizes& sizes_;
  std::unordered_map<Expr, IndexTree> trees_;
  std::vector<Uop> conditions_;
  Loops loops_;
  std::int64_t block_;
  std::vector<Loop> by_loop_;
  std::vector<Reading> readings_;
  std::unordered_map<Expr, Shared> functions_;
  Extents at_;              ///< the position in each loop
  Extents sums_;            ///< the sums of the parts of all reads
  std::int64_t count_ = 0;  ///< elements of the current block
  bool possible_ = true;
};

}  // namespace mote::blocks
