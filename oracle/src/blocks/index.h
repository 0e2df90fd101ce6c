// SPDX-License-Identifier: Apache-2.0
// Index expressions over the axes of a shape, for runs of elements in row-major order. Terms that
// are linear are steps, others that mention one axis are tables, made once; what mentions several
// is a table too, or computed for each element.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <span>

#include "cell.h"

namespace mote::blocks {

inline std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

Symbol loop_symbol(int axis);

/// An expression in a form that is fast to evaluate.
struct IndexTree {
  struct Factor {
    Atom::Kind kind = Atom::Kind::symbol;
    std::size_t axis = 0;  ///< symbol: the loop variable of that axis
    std::vector<IndexTree> args;
  };
  struct Product {
    std::int64_t coefficient = 1;
    std::vector<Factor> factors;
  };
  std::vector<Product> terms;

  std::int64_t value(std::span<const std::int64_t> index) const;
};
/// Sizes and parameters are replaced by their values.
IndexTree index_tree(const Expr& e, const Sizes& sizes);
/// Those whose loop variables it mentions.
void axes_of(const IndexTree::Product& product, std::set<std::size_t>& axes);

/// A shape with its last axes made one, as long as that has no more than kTail elements or only one
/// of them has more than one: what is done along the last axis is done for many elements at a time.
struct Rows {
  static constexpr std::int64_t kTail = 1024;
  /// Rows that are shorter are taken several at a time.
  static constexpr std::int64_t kShort = 64;
  /// A shape of rank 0 counts as one axis with one element.
  explicit Rows(const Extents& of);

  Extents shape;      ///< as given, at least one axis
  Extents extents;    ///< the last one is of axes `first` and beyond
  std::size_t first;  ///< of the axes that are one
};

/// A position that moves along the axes of a shape in row-major order.
class Walk {
 public:
  Walk(const Extents& shape, std::int64_t first);

  std::span<const std::int64_t> index() const { return {index_.data(), shape_.size()}; }
  /// Elements left on the last axis, and no more than `most`.
  std::int64_t run(std::int64_t most) const {
    return std::min(shape_.back() - index_[shape_.size() - 1], most);
  }
  /// Not beyond the last axis' end.
  void advance(std::int64_t by) { advance_along(shape_.size() - 1, by); }
  /// Whole rows, not beyond the end of the last axis but one.
  void advance_rows(std::int64_t by) { advance_along(shape_.size() - 2, by); }
  /// Elements, not beyond the end of the last axis but one.
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

/// run(walk, count, out) for each stretch along the last axis among the elements from `first` on.
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

/// The value of one expression: a sum of parts.
class IndexFunction {
 public:
  /// Sizes and parameters are replaced by their values.
  IndexFunction(const Expr& e, const Rows& rows, const Sizes& sizes);

  /// Of the elements from `first` on, a block at most.
  void fill(std::int64_t first, std::int64_t count, std::int64_t* out) const;
  /// Of the elements from the walk's position on, along the last axis of the rows.
  void values(const Walk& walk, std::int64_t count, std::int64_t* out) const;
  /// The value is the same all along the last axis.
  bool is_level() const { return is_apart() && along_.table.empty() && along_.step == 0; }
  /// The value is level() and what along() has at the position on the last axis.
  bool is_apart() const { return mixed_.empty() && others_.terms.empty(); }
  std::int64_t level(const Walk& walk) const;  ///< of what does not depend on the last axis
  std::int64_t along(std::int64_t at) const { return along_.at(at); }
  bool is_linear() const { return along_.table.empty(); }

  /// What an axis adds: from a table, or else the step times the index.
  struct Part {
    std::int64_t step = 0;
    Extents table;
    std::int64_t at(std::int64_t index) const;
  };
  const Part& outer(std::size_t axis) const { return outer_[axis]; }
  std::int64_t constant() const { return constant_; }

 private:
  /// Terms of axes that are one and of others: rows of a table, each for an index of the others.
  struct Mixed {
    Extents strides;  ///< of the rows; 0: an axis that has no part
    Extents table;
  };
  void add_term(const IndexTree::Product& term, std::size_t axis, Part& to) const;
  void make_along(const std::vector<Part>& inner, const IndexTree& within);
  void make_pattern();
  bool make_mixed(const std::vector<std::size_t>& axes, const IndexTree& terms);
  Extents full_index(const Walk& walk, std::int64_t along) const;

  const Rows& rows_;
  std::int64_t constant_ = 0;
  std::vector<Part> outer_;  ///< for each axis of the rows but the last
  Part along_;               ///< for the last
  std::vector<Mixed> mixed_;
  Extents pattern_;   ///< of short rows one after another
  IndexTree others_;  ///< terms of several axes for which a table would be too large
};

/// Positions of elements that follow one another: base + offsets[k], or base + step k. In pieces,
/// element k of piece j is at base + offsets[j] + step k, of the first from k = skipped on.
struct Stretch {
  std::int64_t count;
  std::int64_t base;
  std::int64_t step;
  const std::int64_t* offsets;  ///< none: the step says it
  bool inside;                  ///< none is out of range; else those are -1, and base is 0
  std::int64_t piece = 0;       ///< how long each is; 0: there are none
  std::int64_t skipped = 0;
};

/// Where in a tensor each element of a shape reads or writes: one expression for each axis of the
/// tensor.
class Positions {
 public:
  Positions(const std::vector<Expr>& to, const Extents& tensor, const Rows& rows,
            const Sizes& sizes);

  /// Row-major positions of the elements from `first` on, -1 out of range, in stretches; `space` is
  /// for `count` positions that have none of their own.
  void stretches(std::int64_t first, std::int64_t count, std::int64_t* space,
                 std::vector<Stretch>& out) const;

 private:
  struct Axis {
    IndexFunction at;
    std::int64_t extent;
    std::int64_t stride;
    std::int64_t least, greatest;  ///< of along()
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
  bool apart_ = true;  ///< what follows is known, along the last axis of the rows
  std::int64_t step_ = 0;
  Extents offsets_;  ///< empty: the step says it
  /// The offsets of elements along the last axis of the shape move by one step, `piece_` of them.
  std::int64_t piece_ = 0;  ///< 0: they do not
  Extents pieces_;          ///< where each begins
  /// Where nothing is out of range: the position at the first element, and what an axis adds.
  struct Base {
    std::size_t axis;
    IndexFunction::Part part;
  };
  bool inside_ = false;
  std::int64_t first_ = 0;
  std::vector<Base> bases_;
  /// Of short rows one after another, so many elements as a block has from any position in a row.
  Extents pattern_;
};

/// Where in a tensor each element of `shape` reads or writes that has its own index along one axis:
/// the tensor has the same extents on all other axes.
class AlongAxis {
 public:
  AlongAxis(int axis, const Extents& tensor, const Extents& shape);

  /// Row-major positions of the elements from `first` on, whose indices are `at`; -1 out of range.
  void fill(const Operand& at, std::int64_t first, std::int64_t count, std::int64_t* out) const;

 private:
  Extents shape_;
  Extents strides_;  ///< of the tensor; 0 along the axis
  std::int64_t extent_;
  std::int64_t stride_;
};

}  // namespace mote::blocks
