// SPDX-License-Identifier: Apache-2.0
// Writes kernels of tiles, and holds the text of their axes and operands. Its parts: axes
// (tile_axes.cpp), slices of operands to shared memory (tile_stage.cpp), pipelined tiles
// (pipelined_tile_text.cpp), the rest (tile_text.cpp).
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "kernel_writer.h"
#include "mote/codegen/emit_cuda.h"
#include "tiles.h"

namespace mote::emit {

using TileAxes = std::vector<cuda::TileAxis>;

/// The pitches of rows in shared memory, in elements: a row is aligned and starts at another bank
/// than the row before. For tf32, a warp reads eight locations of each of four rows at a time. For
/// 16-bit elements, rows run along the reduction.
inline constexpr int kPitch = kCudaTile + 4;
inline constexpr int kTf32Pitch = kCudaTile + 8;
inline constexpr int kNarrowPitch = cuda::kSlice + 8;
static_assert(kCudaThreads == 128 && kCudaTile == 64 && cuda::kSlice == 16,
              "as in the helpers' text");

/// A group of loops that form one axis of the tile.
struct TileGroup {
  const TileAxes* axes = nullptr;
  int width = 0;                     ///< width of a tile
  std::string flat;                  ///< the position
  std::string begin;                 ///< start of the tile
  std::string count;                 ///< number of positions
  std::vector<std::string> extents;  ///< extents of the loops
  std::vector<std::string> tables;   ///< tables of the loops' variables; empty: there is one loop

  bool is_plain() const {
    return axes->size() == 1 && axes->front().begin == Expr(0) && axes->front().step == Expr(1);
  }
};

/// The left or the right operand. The strings name variables of the kernel; empty: there is none.
struct TileOperand {
  int which;  ///< index among the two in shared memory
  const Value& value;
  const Conditions& where;
  const TileGroup& across;
  std::string along = {};    ///< true if adjacent threads read along the reduction
  std::string holds = {};    ///< array in shared memory of the products that count
  std::string vectors = {};  ///< true if 16 bytes can be loaded at a time
};

/// A block takes a tile of the shared iterations.
class TileWriter : public KernelWriter {
 public:
  /// `form` is that of the program's body.
  TileWriter(const LoopProgram& p, const cuda::TileForm& form, Names& names, Printer& printer);

 protected:
  void threads_loops(const Loop& first, const Facts& facts) override;

 private:
  template <typename... T>
  void line(fmt::format_string<T...> format, T&&... values) {
    Writer::line(fmt::format(format, std::forward<T>(values)...));
  }
  /// Returns function(arguments).
  std::string called(const std::string& function, const std::string& arguments) const {
    return call(function, Text{arguments}, printer_.uses());
  }
  void run_by_slices();
  void open(const std::string& head);
  void close();
  void close_into(const std::string& head);
  void unrolled(int iterations);

  std::string factor(const Expr& e) const { return within(printer_.expr(e, facts_), kUnary); }
  const std::string& name_of(const cuda::TileAxis& a) const { return names_.symbol(a.variable); }
  bool is_same_in_every_tile(const TileAxes& axes) const;
  TileGroup group(const TileAxes& axes, const std::string& hint, int width);
  std::string distance(const std::string& tensor, const std::vector<Expr>& index,
                       const TileAxes& axes) const;
  std::string along(const value::Load* load, const TileAxes& inner, const TileAxes& outer,
                    const char* hint);
  std::string closer(const std::string& tensor, const std::vector<Expr>& index,
                     const TileAxes& inner, const TileAxes& outer, const char* hint);
  std::string down();
  void define_digits(const TileGroup& g, const std::string& flat);
  void fill_tables(const TileGroup& g, const std::string& begin);
  void variables(const TileGroup& g, const std::string& location);

  void shared_arrays();
  std::string is_special() const;
  int pitch() const { return mma_ == "tf32" ? kTf32Pitch : kPitch; }
  bool has_conditions() const { return !form_.left_where.empty() || !form_.right_where.empty(); }
  std::string holds(const Conditions& where, const char* hint);
  std::string vectors(const TileOperand& o, const char* hint);
  int elements_of_vector(const TileOperand& o) const;
  std::string is_vector_along(const value::Load& load, const TileGroup& g, int elements) const;
  void stage(const TileOperand& o);
  void stage_vectors(const TileOperand& o);
  std::string staged_element(const TileOperand& o, const Facts& facts) const;
  void stage_elements(const TileOperand& o);
  void positions(const TileOperand& o, const std::string& lane);
  std::string staged_at(const TileOperand& o) const;

  void open_tile();
  void slices();
  void multiply();
  void rest();
  std::string given_at(const std::string& location, const std::string& across) const;

  void run_pipelined();
  int pipelined_slice() const { return is_narrow_ ? 32 : 16; }
  void pipelined_operand(const TileOperand& o, const std::string& name);
  void pipelined_slices();

  const cuda::TileForm& form_;
  const int side_;  ///< side of a tile
  Facts facts_;     ///< facts outside of all loops
  Facts all_;       ///< facts in all of them
  std::string type_, zero_;
  std::string mma_;  ///< dtype that tensor cores multiply, such as tf32; empty: they are not used
  bool is_narrow_ = false;  ///< mma_ is f16 or bf16, staged as it is stored
  std::string part_, lane_, location_, slot_, room_,
      down_;                           ///< variables of the loops over elements
  std::string staged_, given_, sums_;  ///< operands and sums
  std::string shared_;                 ///< both of them, in a pipelined tile
  std::string special_;  ///< true if a slice for tensor cores holds an infinity or a NaN
  TileGroup row_, column_, depth_;
  TileOperand left_, right_;
};

}  // namespace mote::emit
