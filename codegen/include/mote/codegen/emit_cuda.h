// SPDX-License-Identifier: Apache-2.0
// Loop programs as CUDA C++: one kernel or several, to be launched one after the other. The text
// includes mote_cuda.h alone, which stands for the toolkit under nvcc and NVRTC and for a shim on
// the host under any C++ compiler.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/emit_c.h"

namespace MOTE_API mote {

/// Threads of a block. Any count of blocks is right: threads stride over the grid.
inline constexpr int kCudaThreads = 128;
/// Rows and columns of a tile, and of a wide one.
inline constexpr int kCudaTile = 64;
inline constexpr int kCudaWideTile = 128;

/// An argument of a kernel, by its name in the program. tensor: a pointer; strides: the tensor's,
/// in elements, as int64_t[rank]; size, param: an int64_t, or a double for a real parameter;
/// temporary: a pointer to memory that the caller provides.
struct CudaArgument {
  enum class Kind : std::uint8_t { tensor, strides, size, param, temporary };
  Kind kind;
  std::string name;
  friend bool operator==(const CudaArgument&, const CudaArgument&) = default;
};

/// A tensor that a kernel touches 16 bytes at a time along an axis with a stride of 1: it lies at
/// an address that 16 divides, and the strides of its other axes are multiples of `elements`.
struct PackedRow {
  std::string tensor;
  int axis;
  int elements;
  bool is_temporary;  ///< then the extent of its last axis is such a multiple
};

/// A tensor that a kernel touches 16 bytes at a time along one of two axes: it lies at an address
/// that 16 divides, that axis has a stride of 1, and the strides of all others are multiples of
/// `elements`.
struct PackedOperand {
  std::string tensor;
  std::array<int, 2> axes;
  int elements;
};

struct CudaKernel {
  std::string function;
  std::vector<CudaArgument> arguments;
  /// How many threads have something to do, over sizes and parameters; may hold loads, and then
  /// says nothing. A kernel in order runs on one thread.
  Expr rounds;
  bool in_order = false;
  bool by_block = false;  ///< a block of whole warps takes a round, not a thread
  /// Kernels of one stage stand side by side: the first is launched whose strides and packs the
  /// call has, and that has enough rows and columns. The last one of a stage demands nothing.
  int stage = 0;
  /// 1, 2, …: of what is launched, one after the other, in place of a stage whose rounds are few
  /// and go over many `terms`; kernels of one part stand side by side as those of a stage do. 0: of
  /// the stage itself.
  int part = 0;
  Expr terms = 0;  ///< of a stage that has parts: what one of its rounds goes over in order
  std::vector<KnownStride> strides = {};
  /// Of a kernel whose blocks take rows: how many elements the longest has. Not for short ones,
  /// where another kernel stands behind it. 0: not known.
  Expr row = 0;
  bool is_map = false;  ///< rows are not reduced: threads take short ones as well
  /// Of a kernel whose blocks compute tiles: how many rows and columns there are. Not for few of
  /// them, and for blocks of kCudaThreads threads alone. 0: not such a kernel.
  Expr rows = 0;
  Expr columns = 0;
  /// Rows and columns of a tile, and what must be so where that is a wide one.
  int tile = kCudaTile;
  std::vector<PackedOperand> packed_operands = {};
  /// Of a kernel whose threads move 16 bytes at a time: tensors that must be there, without gaps
  /// over `extents`, at addresses that 16 divides. Empty: not such a kernel.
  std::vector<std::string> packed = {};
  std::vector<Expr> extents = {};
  /// Of a kernel whose blocks do so along rows.
  std::vector<PackedRow> packed_rows = {};
  bool rounds_to_tf32 = false;  ///< f32, before it is multiplied
  std::string text = {};        ///< the function, with its comment

  bool has_tiles() const { return rows != Expr(0); }
  bool has_wide_tiles() const { return has_tiles() && tile == kCudaWideTile; }
};

/// Memory between and in kernels: floats, doubles, int64_t or bools (one byte).
struct CudaTemporary {
  std::string name;
  std::size_t element_bytes;
  std::vector<Expr> shape;
  bool per_thread = false;  ///< that many elements for each thread of the launch
};

struct CudaProgram {
  std::string comment;  ///< the equation, tensors, parameters
  std::vector<CudaKernel> kernels;
  std::vector<CudaTemporary> temporaries;
  std::vector<NamedSize> sizes = {};  ///< beside the program's: what temporaries and rounds mention

  /// At most one: the same with more kernels and more memory, which is launched instead where there
  /// is that memory, and where each of its kernels of tiles has enough rows and columns.
  std::vector<CudaProgram> distributed = {};

  bool rounds_to_tf32() const {
    return std::ranges::any_of(kernels, &CudaKernel::rounds_to_tf32) ||
           std::ranges::any_of(distributed, &CudaProgram::rounds_to_tf32);
  }
};

/// Variant `oracle`: reals in double, integers in wrapping 64-bit, sums in order: one thread for
/// each round of the outermost loops whose rounds are independent, one thread for what must be in
/// order. Compile with --fmad=false. Of the options, `function` (kernels are called that, with _1,
/// _2 … behind where there are several) and `optional_outputs` count.
CudaProgram cuda_program(const LoopProgram& p, const EmitOptions& options);
/// Variant `gen`: reals in their own dtype, sums in any order; a stage whose rounds reduce has a
/// kernel that gives each round to a block, for the strides that make its loops run over adjacent
/// elements; one whose rounds go over elements side by side has a kernel for tensors without gaps;
/// one whose rounds are few and go far, or that scatters, has parts.
CudaProgram cuda_gen_program(const LoopProgram& p, const EmitOptions& options);
/// Variant `tf32`: as gen, but kernels of tiles round elements of f32 to tf32, 11 bits, before they
/// multiply them by tensor cores.
CudaProgram cuda_tf32_program(const LoopProgram& p, const EmitOptions& options);
/// Its kernels, and those of the program that may be launched in its place.
std::vector<const CudaKernel*> all_kernels(const CudaProgram& program);
/// The comment and the kernels.
std::string to_string(const CudaProgram& program);
/// The functions that the text calls, to stand before it.
std::string cuda_helpers(const std::string& text);
/// A whole file: the include, or mote_cuda.h itself where `standalone`, helpers, comment, kernels.
std::string emit_cuda(const CudaProgram& program, bool standalone);
/// The text of mote_cuda.h.
std::string cuda_header();

}  // namespace mote
