// SPDX-License-Identifier: Apache-2.0
// Reductions that take blocks of the reduced elements, in row-major order.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "cell.h"

namespace mote::blocks {

template <std::size_t kFolds>
struct Summands;

/// The cells of a result to which the elements of a block go.
class Locations {
 public:
  void set(const std::int64_t* to, std::int64_t count);
  /// True if neighbours that go to the same cell come in groups of fewer than four on average.
  bool apart() const { return 4 * static_cast<std::int64_t>(groups_.size()) > count_; }

  /// Calls use(element, its cell).
  template <typename Use>
  void for_each(const Use& use) const {
    for (std::int64_t k = 0; k < count_; ++k) use(k, to_[k]);
  }
  /// Calls use(begin, end, cell) for each group of neighbours that go to one cell.
  template <typename Use>
  void for_each_group(const Use& use) const {
    std::int64_t begin = 0;
    for (const Group& g : groups_) use(std::exchange(begin, g.end), g.end, g.to);
  }

 private:
  struct Group {
    std::int64_t end, to;
  };
  const std::int64_t* to_ = nullptr;
  std::int64_t count_ = 0;
  std::vector<Group> groups_;
};

class Fold {
 public:
  /// Reduces a tensor of that shape and dtype over the axes into `result`, whose cells (row-major,
  /// of the axes that are kept) become neutral.
  Fold(ReduceOp op, DType dtype, const Extents& shape, const std::vector<int>& axes, Cell* result,
       std::int64_t result_count);

  /// Takes in the elements from `first` on; calls follow one another from 0.
  void add(const Operand& x, std::int64_t first, std::int64_t count);
  /// Sums booleans as reals: counts how many hold.
  void add_counts(const Operand& x, std::int64_t first, std::int64_t count);
  /// Takes in elements in any order; each goes to the cell that `at` gives.
  void add_at(const Operand& x, const Locations& at) const;
  void add_counts_at(const Operand& x, const Locations& at) const;
  /// Takes in elements of several real sums, each at the cell that `at` gives.
  static void add_together_at(std::span<const Fold> folds, std::span<const Operand> x,
                              const Locations& at);
  /// Takes in real sums over the same axes of elements of one shape, so that their additions do not
  /// wait for one another.
  static void add_together(std::span<const Fold> folds, std::span<const Operand> x,
                           std::int64_t first, std::int64_t count);

 private:
  template <typename F>
  void lines(std::int64_t first, std::int64_t count, const F& take) const;
  template <typename F>
  void runs(std::int64_t first, std::int64_t count, const F& run) const;
  template <std::size_t kFolds>
  static Summands<kFolds> summands(const Fold* folds, const Operand* x);
  template <std::size_t kFolds>
  static void add_all(const Fold* folds, const Operand* x, std::int64_t first, std::int64_t count);
  template <std::size_t kFolds>
  static void add_all_at(const Fold* folds, const Operand* x, const Locations& at);
  template <bool kLeast>
  void add_extremes_at(const Operand& x, const Locations& at) const;
  template <bool kLeast>
  void add_extremes(const Operand& x, std::int64_t first, std::int64_t count) const;
  void add_each(const Operand& x, const Locations& at) const;
  void add_best(const Operand& x, std::int64_t first, std::int64_t count);
  bool into_one() const { return strides_.back() == 0; }
  static std::int64_t offset(std::span<const std::int64_t> index, const Extents& strides);

  ReduceOp op_;
  DType dtype_;
  Extents shape_;      ///< adjacent axes that are both kept or both reduced are merged
  Extents strides_;    ///< strides in the result; 0: a reduced axis
  Extents locations_;  ///< strides of the position among the reduced axes; 0: a kept axis
  Cell* result_;
  std::vector<Cell> best_;  ///< argmax, argmin: the values at the positions
};

}  // namespace mote::blocks
