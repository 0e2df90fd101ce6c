// SPDX-License-Identifier: Apache-2.0
// Evaluates index expressions over the axes of a shape, for runs of elements in row-major order.
// Linear terms are steps, other terms of one axis are tables, made once; terms of several axes are
// tables too, or computed for each element.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <span>

#include "cell.h"
#include "mote/base/integer_arithmetic.h"

namespace mote::blocks {

Symbol loop_symbol(int axis);

/// An expression in a form that is fast to evaluate.
struct IndexTree {
  struct Factor {
    Atom::Kind kind = Atom::Kind::symbol;
    std::size_t axis = 0;  ///< symbol: the axis of the loop variable
    std::vector<IndexTree> args;
  };
  struct Product {
    std::int64_t coefficient = 1;
    std::vector<Factor> factors;
  };
  std::vector<Product> terms;

  std::int64_t value(std::span<const std::int64_t> index) const;
};
/// The tree with sizes and parameters replaced by their values.
IndexTree index_tree(const Expr& e, const Sizes& sizes);
/// Adds the axes whose loop variables the product mentions.
void axes_of(const IndexTree::Product& product, std::set<std::size_t>& axes);

/// A shape with its last axes merged into one, as long as that has no more than kTail elements or
/// only one of them has more than one. Work along the last axis then covers many elements at a
/// time.
struct Rows {
  static constexpr std::int64_t kTail = 1024;
  /// Shorter rows are taken several at a time.
  static constexpr std::int64_t kShort = 64;
  /// A shape of rank 0 counts as one axis with one element.
  explicit Rows(const Extents& of);

  Extents shape;      ///< the given shape, at least one axis
  Extents extents;    ///< the last one merges axes `first` and beyond
  std::size_t first;  ///< the first merged axis
};

/// A position that moves along the axes of a shape in row-major order.
class Walk {
 public:
  Walk(const Extents& shape, std::int64_t first);

  std::span<const std::int64_t> index() const { return {index_.data(), shape_.size()}; }
  /// The number of elements left on the last axis, at most `most`.
  std::int64_t run(std::int64_t most) const {
    return std::min(shape_.back() - index_[shape_.size() - 1], most);
  }
  /// Advances, but not beyond the end of the last axis.
  void advance(std::int64_t by) { advance_along(shape_.size() - 1, by); }
  /// Advances by whole rows, but not beyond the end of the last axis but one.
  void advance_rows(std::int64_t by) { advance_along(shape_.size() - 2, by); }
  /// Advances by elements, but not beyond the end of the last axis but one.
  void advance_over_rows(std::int64_t by) {
    std::int64_t& last = index_[shape_.size() - 1];
    const std::int64_t at = last + by;
    last = at % shape_.back();
    advance_rows(at / shape_.back());
  }

 private:
  void advance_along(std::size_t k, std::int64_t by) {
    index_[k] += by;
    for (; k > 0 && index_[k] == shape_[k]; --k) {
      index_[k] = 0;
      ++index_[k - 1];
    }
  }
  const Extents& shape_;
  std::array<std::int64_t, kMaxRank> index_;
};

/// Calls run(walk, count, out) for each stretch along the last axis among the elements from `first`
/// on.
template <typename Run>
void fill_by_runs(const Extents& shape, std::int64_t first, std::int64_t count, std::int64_t* out,
                  const Run& run) {
  Walk walk(shape, first);
  while (count > 0) {
    const std::int64_t n = walk.run(count);
    run(walk, n, out);
    walk.advance(n);
    out += n;
    count -= n;
  }
}

/// The value of one expression, as a sum of parts.
class IndexFunction {
 public:
  /// Sizes and parameters are replaced by their values.
  IndexFunction(const Expr& e, const Rows& rows, const Sizes& sizes);

  /// The values of the elements from `first` on, at most a block.
  void fill(std::int64_t first, std::int64_t count, std::int64_t* out) const;
  /// The values from the walk's position on, along the last axis of the rows.
  void values(const Walk& walk, std::int64_t count, std::int64_t* out) const;
  /// True if the value is the same all along the last axis.
  bool is_level() const { return is_apart() && along_.table.empty() && along_.step == 0; }
  /// True if the value is level() plus along() at the position on the last axis.
  bool is_apart() const { return mixed_.empty() && others_.terms.empty(); }
  std::int64_t level(const Walk& walk) const;  ///< the part that does not depend on the last axis
  std::int64_t along(std::int64_t at) const { return along_.at(at); }
  bool is_linear() const { return along_.table.empty(); }

  /// The part of an axis: an entry of a table, or the step times the index.
  struct Part {
    std::int64_t step = 0;
    Extents table;
    std::int64_t at(std::int64_t index) const;
  };
  const Part& outer(std::size_t axis) const { return outer_[axis]; }
  std::int64_t constant() const { return constant_; }

 private:
  /// Terms of merged axes and of others: a table with one row for each index of the others.
  struct Mixed {
    Extents strides;  ///< strides of the rows; 0: the axis has no part
    Extents table;
  };
  void add_term(const IndexTree::Product& term, std::size_t axis, Part& to) const;
  void make_along(const std::vector<Part>& inner, const IndexTree& within);
  void make_pattern();
  bool make_mixed(const std::vector<std::size_t>& axes, const IndexTree& terms);
  Extents full_index(const Walk& walk, std::int64_t along) const;

  const Rows& rows_;
  std::int64_t constant_ = 0;
  std::vector<Part> outer_;  ///< the part of each axis of the rows except the last
  Part along_;               ///< the part of the last axis
  std::vector<Mixed> mixed_;
  Extents pattern_;   ///< values of consecutive short rows
  IndexTree others_;  ///< terms of several axes for which a table would be too large
};

/// Positions of elements that follow one another: base + offsets[k], or base + step k. With pieces,
/// element k of piece j is at base + offsets[j] + step k; the first piece begins at k = skipped.
struct Stretch {
  std::int64_t count;
  std::int64_t base;
  std::int64_t step;
  const std::int64_t* offsets;  ///< null: the step gives them
  bool inside;                  ///< none is out of range; otherwise those are -1, and base is 0
  std::int64_t piece = 0;       ///< the length of each piece; 0: there are no pieces
  std::int64_t skipped = 0;
};

/// The position in a tensor that each element of a shape reads or writes: one expression for each
/// axis of the tensor.
class Positions {
 public:
  Positions(const std::vector<Expr>& to, const Extents& tensor, const Rows& rows,
            const Sizes& sizes);

  /// Row-major positions of the elements from `first` on, -1 if out of range, in stretches; `space`
  /// has room for `count` positions that must be stored.
  void stretches(std::int64_t first, std::int64_t count, std::int64_t* space,
                 std::vector<Stretch>& out) const;

 private:
  struct Axis {
    IndexFunction at;
    std::int64_t extent;
    std::int64_t stride;
    std::int64_t least, greatest;  ///< the range of along()
  };
  void make_offsets();
  bool is_inside(const Axis& a) const;
  void make_bases();
  bool base_of(const Walk& walk, std::int64_t& base) const;
  void make_pieces();
  void make_pattern();
  Stretch patterned(const Walk& walk, std::int64_t count) const;
  Stretch rows_from(const Walk& walk, std::int64_t count, std::int64_t* out) const;
  void run(const Walk& walk, std::int64_t count, std::int64_t* out) const;

  const Rows& rows_;
  std::vector<Axis> axes_;
  bool apart_ = true;  ///< offsets along the last axis are the same in all rows and fit
  std::int64_t step_ = 0;
  Extents offsets_;  ///< empty: the step gives them
  /// The offsets along the last axis of the rows move by one step for `piece_` elements.
  std::int64_t piece_ = 0;  ///< 0: there are no pieces
  Extents pieces_;          ///< the offsets at which pieces begin
  /// Used if nothing is out of range: the position of the first element, and the part of each axis.
  struct Base {
    std::size_t axis;
    IndexFunction::Part part;
  };
  bool inside_ = false;
  std::int64_t first_ = 0;
  std::vector<Base> bases_;
  /// The offsets of consecutive short rows, enough for a block from any position in a row.
  Extents pattern_;
};

/// The position in a tensor of each element of `shape`, which has its own index along one axis; the
/// tensor has the same extents on all other axes.
class AlongAxis {
 public:
  AlongAxis(int axis, const Extents& tensor, const Extents& shape);

  /// Row-major positions of the elements from `first` on, whose indices are `at`; -1 if out of
  /// range.
  void fill(const Operand& at, std::int64_t first, std::int64_t count, std::int64_t* out) const;

 private:
  Extents shape_;
  Extents strides_;  ///< strides of the tensor; 0 along the axis
  std::int64_t extent_;
  std::int64_t stride_;
};

}  // namespace mote::blocks
