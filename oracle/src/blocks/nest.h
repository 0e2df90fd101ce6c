// SPDX-License-Identifier: Apache-2.0
// The elements of a shape of which conditions on the position hold, as loops over its axes one
// inside the other: each runs over the positions that the conditions leave it, so that what is left
// out costs nothing. The positions of reads move along with the loops.
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
  /// Conditions are comparisons of positions (thin.h); none: every element counts. The axes in that
  /// order, from the outside in. Blocks have so many elements, but for the last.
  Nest(const std::vector<Uop>& conditions, const Extents& shape,
       const std::vector<std::size_t>& order, const Sizes& sizes, std::int64_t block);

  /// Of each block's elements the positions go there; -1 out of range. Of a tensor without axes
  /// they are the values of the one expression that there is.
  void add(const Read& read, std::int64_t* positions);
  /// Of the block that take() is called for no position of the read that was added as number `read`
  /// is out of range.
  bool inside(std::size_t read) const { return readings_[read].inside; }
  /// take(n) for each block of n elements, in the loops' order.
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
    std::set<std::size_t> around = {};  ///< the loops that make a difference to what is left
    Extents strides = {};               ///< of the lists, by loop; 0: it makes no difference
    std::vector<Extents> lists = {};    ///< positions that are left, for all around that differ
    std::vector<char> known = {};       ///< by list
    bool keeps = true;                  ///< else there is one list, made anew each time
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
  /// What the parts of the innermost loop add at the positions that are left of it.
  struct Line {
    std::vector<std::int64_t> offsets = {};  ///< by place in the list; none: not yet
    std::vector<Ends> ends = {};             ///< by part, of its index
  };
  struct Reading {
    std::vector<std::vector<Part>> by_loop;
    Extents offsets;  ///< outside of each loop; -1: out of range
    std::int64_t* positions;
    Extents strides = {};          ///< of the lines, by loop
    std::vector<Line> lines = {};  ///< none: they would be too many
    bool inside = true;            ///< the block at hand
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
  std::int64_t begun(const Part& part) const;  ///< what there is before it
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
  Extents at_;              ///< by loop
  Extents sums_;            ///< of the parts of all reads
  std::int64_t count_ = 0;  ///< elements of the block at hand
  bool possible_ = true;
};

}  // namespace mote::blocks
