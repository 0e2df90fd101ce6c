// SPDX-License-Identifier: Apache-2.0
// Reductions, fed with blocks of the elements that are reduced, in row-major order.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "cell.h"

namespace mote::blocks {

template <std::size_t kFolds>
struct Summands;

/// The cells of a result that the elements of a block go to.
class Places {
 public:
  void set(const std::int64_t* to, std::int64_t count);
  /// Few have a neighbour that goes to the same cell.
  bool apart() const { return 4 * static_cast<std::int64_t>(groups_.size()) > count_; }

  /// use(element, its cell)
  template <typename Use>
  void for_each(const Use& use) const {
    for (std::int64_t k = 0; k < count_; ++k) use(k, to_[k]);
  }
  /// use(where they begin, where they end, their cell), of neighbours that go to one cell
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
  /// Of a tensor of that shape and dtype over the axes, into `result`, whose cells (row-major, of
  /// the axes that are kept) become neutral.
  Fold(ReduceOp op, DType dtype, const Extents& shape, const std::vector<int>& axes, Cell* result,
       std::int64_t result_count);

  /// The elements from `first` on; calls follow one another from 0.
  void add(const Operand& x, std::int64_t first, std::int64_t count);
  /// A sum of booleans as reals: how many hold.
  void add_counts(const Operand& x, std::int64_t first, std::int64_t count);
  /// Elements in any order, each of which goes to the cell that is told.
  void add_at(const Operand& x, const Places& at) const;
  void add_counts_at(const Operand& x, const Places& at) const;
  /// Real sums.
  static void add_together_at(std::span<const Fold> folds, std::span<const Operand> x,
                              const Places& at);
  /// Real sums over the same axes of elements of one shape: none waits for another's additions.
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
  static void add_all_at(const Fold* folds, const Operand* x, const Places& at);
  template <bool kLeast>
  void add_extremes_at(const Operand& x, const Places& at) const;
  template <bool kLeast>
  void add_extremes(const Operand& x, std::int64_t first, std::int64_t count) const;
  void add_each(const Operand& x, const Places& at) const;
  void add_best(const Operand& x, std::int64_t first, std::int64_t count);
  bool into_one() const { return strides_.back() == 0; }
  static std::int64_t offset(std::span<const std::int64_t> index, const Extents& strides);

  ReduceOp op_;
  DType dtype_;
  Extents shape_;    ///< axes that are kept or reduced together are one
  Extents strides_;  ///< in the result; 0: reduced
  Extents places_;   ///< of the position among the reduced axes; 0: kept
  Cell* result_;
  std::vector<Cell> best_;  ///< argmax, argmin: the values at the positions
};

}  // namespace mote::blocks
