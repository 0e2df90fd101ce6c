// Index expressions over the axes of a shape, for runs of elements in row-major order. Terms that
// mention one axis are tables, made once; others are computed for each element.
#pragma once

#include <memory>

#include "cell.h"

namespace mote::blocks {

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

  std::int64_t value(const Extents& index) const;
};

/// A shape with its last axes made one, as long as that has no more than kTail elements: what is
/// done along the last axis is done for many elements at a time.
struct Rows {
  static constexpr std::int64_t kTail = 256;
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

  const Extents& index() const { return index_; }
  /// Elements left on the last axis, and no more than `most`.
  std::int64_t run(std::int64_t most) const;
  void advance(std::int64_t by);  ///< not beyond the last axis' end

 private:
  const Extents& shape_;
  Extents index_;
};

/// The value of one expression.
class IndexFunction {
 public:
  /// Sizes and parameters are replaced by their values.
  IndexFunction(const Expr& e, const Rows& rows, const Sizes& sizes);

  /// Of the elements from the walk's position on, along the last axis of the rows.
  void values(const Walk& walk, std::int64_t count, std::int64_t* out) const;
  /// The value is the same all along the last axis.
  bool is_level() const { return tables_.back().empty() && others_.terms.empty(); }
  std::int64_t level(const Walk& walk) const;  ///< of what does not depend on the last axis

 private:
  Extents full_index(const Walk& walk, std::int64_t along) const;
  void make_table(std::size_t axis, const std::vector<Extents>& of_axes, const IndexTree& within);

  const Rows& rows_;
  std::int64_t constant_ = 0;
  std::vector<Extents> tables_;  ///< for each axis of the rows; empty: it has no part
  IndexTree others_;             ///< terms that mention several of them
};

/// Where in a tensor each element of a shape reads or writes: one expression for each axis of the
/// tensor.
class Positions {
 public:
  Positions(const std::vector<Expr>& to, const Extents& tensor, const Rows& rows,
            const Sizes& sizes);

  /// Row-major positions of the elements from `first` on; -1 out of range.
  void fill(std::int64_t first, std::int64_t count, std::int64_t* out) const;

 private:
  void run(const Walk& walk, std::int64_t count, std::int64_t* out) const;

  struct Axis {
    IndexFunction at;
    std::int64_t extent;
    std::int64_t stride;
  };
  const Rows& rows_;
  std::vector<Axis> axes_;
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
