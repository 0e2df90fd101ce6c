// SPDX-License-Identifier: Apache-2.0
// Where the values of one evaluation are: constants, inputs as they are given, arrays, and the
// blocks at hand.
#pragma once

#include <array>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "cell.h"
#include "index.h"
#include "plan.h"
#include "run/buffer.h"

namespace mote::blocks {

Extents extents_of(const std::vector<Expr>& shape, const Sizes& sizes);

inline constexpr std::align_val_t kCellAlignment{64};

/// The input of that array is not read where it is given, since an axis repeats or its elements are
/// neither cells nor floats.
bool needs_copy(const ArrayPlan& a, const Case& c);

/// Cells that begin where a vector of any width may: one that crosses a cache line takes two reads.
struct FreeAligned {
  void operator()(Cell* p) const { ::operator delete(p, kCellAlignment); }
};
using Cells = std::unique_ptr<Cell[], FreeAligned>;

class Storage {
 public:
  /// Outputs of cells are computed where they belong.
  Storage(const Plan& plan, const Case& c, const std::vector<Dense>& inputs,
          std::vector<Dense>& outputs);

  /// Memory for an array.
  void make(const Place& p);
  /// All elements of one array, or what stands for them, to another that has been made.
  void copy(const Place& from, const Place& to);
  void free(int array) { arrays_[static_cast<std::size_t>(array)] = {}; }
  /// Blocks of that length.
  void make_blocks(int count, std::int64_t length);

  /// Elements `first` to first + count, a block at most. `number` tells the operands of a step
  /// apart.
  Operand read(const Place& p, std::int64_t first, std::int64_t count, std::size_t number);
  /// The same into `to`.
  void read_into(const Place& p, std::int64_t first, std::int64_t count, Cell* to) const;
  /// The same, one after another whatever they are.
  const Cell* read_each(const Place& p, std::int64_t first, std::int64_t count, std::size_t number);
  /// The elements at those positions one after another, `fill` for those that are -1.
  void read_at(const Place& p, std::span<const Stretch> at, Cell fill, Cell* to) const;
  Cell* result(const Place& p, std::int64_t first);
  std::int64_t count(const Place& p) const;  ///< of an array

 private:
  struct Array {
    const float* floats = nullptr;  ///< an input's own memory; else
    Cell* cells = nullptr;          ///< an input's or output's own, or
    Cells own;
    std::int64_t count = 0;
  };
  void copy_input(const ArrayPlan& plan, const Dense& from, Array& to);
  void read_input(std::size_t array, const std::vector<Dense>& inputs);
  Cell constant(const Uop& u) const;
  static Cell* allocate(Array& a);

  alignas(64) std::array<std::array<Cell, kBlock>, kFusedOperands> converted_;
  const Plan& plan_;
  const Case& case_;
  std::vector<Cell> constants_;
  std::vector<Array> arrays_;
  Cells blocks_;
  std::size_t block_cells_ = 0;   ///< of all
  std::size_t block_length_ = 0;  ///< of each
  /// One value in as many cells.
  struct Spread {
    std::int64_t value = 0;
    std::int64_t count = 0;
    Cells cells;
  };
  std::vector<Spread> spread_;  ///< of places that are the same for all elements
};

}  // namespace mote::blocks
