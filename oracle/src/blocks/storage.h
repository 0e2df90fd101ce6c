// SPDX-License-Identifier: Apache-2.0
// Holds the values of one evaluation: constants, inputs as given, arrays, and the current blocks.
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

/// True if the array's input cannot be read directly, since an axis repeats or its elements are
/// neither cells nor floats.
bool needs_copy(const ArrayPlan& a, const Case& c);

/// Cells aligned for vectors of any width: a vector that crosses a cache line takes two reads.
struct FreeAligned {
  void operator()(Cell* p) const { ::operator delete(p, kCellAlignment); }
};
using Cells = std::unique_ptr<Cell[], FreeAligned>;

class Storage {
 public:
  /// Outputs of cells are computed in the memory of `outputs`.
  Storage(const Plan& plan, const Case& c, const std::vector<Dense>& inputs,
          std::vector<Dense>& outputs);

  /// Allocates an array.
  void make(const Location& p);
  /// Copies all elements of one array, or the one that stands for them, to another that has been
  /// made.
  void copy(const Location& from, const Location& to);
  void free(int array) { arrays_[static_cast<std::size_t>(array)] = {}; }
  /// Allocates blocks of that length.
  void make_blocks(int count, std::int64_t length);

  /// Elements `first` to first + count, at most a block. `number` distinguishes the operands of a
  /// step.
  Operand read(const Location& p, std::int64_t first, std::int64_t count, std::size_t number);
  /// Copies the same elements into `to`.
  void read_into(const Location& p, std::int64_t first, std::int64_t count, Cell* to) const;
  /// The same elements, always one after another.
  const Cell* read_each(const Location& p, std::int64_t first, std::int64_t count,
                        std::size_t number);
  /// Copies the elements at those positions one after another, `fill` for positions that are -1.
  void read_at(const Location& p, std::span<const Stretch> at, Cell fill, Cell* to) const;
  Cell* result(const Location& p, std::int64_t first);
  std::int64_t count(const Location& p) const;  ///< the number of elements of an array

 private:
  struct Array {
    const float* floats = nullptr;  ///< an input's own memory; otherwise
    Cell* cells = nullptr;          ///< an input's or output's own, or those of
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
  std::size_t block_cells_ = 0;   ///< the cells of all blocks
  std::size_t block_length_ = 0;  ///< the length of each block
  /// One value in that number of cells.
  struct Spread {
    std::int64_t value = 0;
    std::int64_t count = 0;
    Cells cells;
  };
  std::vector<Spread> spread_;  ///< values that are the same for all elements
};

}  // namespace mote::blocks
