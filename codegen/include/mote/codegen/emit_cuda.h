// SPDX-License-Identifier: Apache-2.0
// Emits loop programs as CUDA C++: one kernel or several, to be launched one after the other. The
// text includes only mote_cuda.h, which stands for the toolkit under nvcc and NVRTC and for a shim
// on the host under any C++ compiler.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/emit_c.h"

namespace MOTE_API mote {

/// The threads of a block. Any number of blocks works: threads stride over the grid.
inline constexpr int kCudaThreads = 128;
/// The rows and columns of a tile, and of a pipelined tile.
inline constexpr int kCudaTile = 64;
inline constexpr int kCudaPipelinedTile = 128;

/// An argument of a kernel, by its name in the program. tensor: a pointer; strides: the tensor's
/// strides in elements, as int64_t[rank]; size, param: an int64_t, or a double for a real
/// parameter; temporary: a pointer to memory that the caller provides.
struct CudaArgument {
  enum class Kind : std::uint8_t { tensor, strides, size, param, temporary };
  Kind kind;
  std::string name;
  friend bool operator==(const CudaArgument&, const CudaArgument&) = default;
};

/// A tensor that a kernel accesses 16 bytes at a time along an axis with a stride of 1: its address
/// is divisible by 16, and the strides of its other axes are multiples of `elements`.
struct VectorRow {
  std::string tensor;
  int axis;
  int elements;
  bool is_temporary;  ///< the extent of its last axis is a multiple of `elements` then
};

/// A tensor that a kernel accesses 16 bytes at a time along one of two axes: its address is
/// divisible by 16, that axis has a stride of 1, and all other strides are multiples of `elements`.
struct VectorOperand {
  std::string tensor;
  std::array<int, 2> axes;
  int elements;
};

struct CudaKernel {
  std::string function;
  std::vector<CudaArgument> arguments;
  /// The number of threads that have work, over sizes and parameters; it may hold loads, and then
  /// says nothing. A kernel with in_order runs on one thread.
  Expr iterations;
  bool in_order = false;
  bool by_block = false;  ///< a block of whole warps takes an iteration, not a thread
  /// Kernels of one stage are alternatives: the first is launched whose strides and vector accesses
  /// fit the call, and that has enough rows and columns. The last one of a stage has no conditions.
  int stage = 0;
  /// 1, 2, …: the kernel is a step of the sequence that is launched in place of a stage with few
  /// iterations over many `terms`; kernels of one part are alternatives as those of a stage are. 0:
  /// the kernel is of the stage itself.
  int part = 0;
  /// In a stage that has parts, the number of terms that one iteration goes over in order.
  Expr terms = 0;
  std::vector<KnownStride> strides = {};
  /// The number of elements of the longest row, for a kernel whose blocks take rows. Such a kernel
  /// is not for short rows if another kernel follows it. 0: unknown.
  Expr row = 0;
  bool is_map = false;  ///< rows are not reduced: threads take short ones as well
  /// The number of rows and columns, for a kernel whose blocks compute tiles. Such a kernel is not
  /// for few of them, and only for blocks of kCudaThreads threads. 0: the kernel has no tiles.
  Expr rows = 0;
  Expr columns = 0;
  /// The rows and columns of one tile, and the operands that a pipelined tile accesses 16 bytes at
  /// a time.
  int tile = kCudaTile;
  std::vector<VectorOperand> vector_operands = {};
  /// The tensors that must be present, without gaps over `extents`, at addresses divisible by 16,
  /// for a kernel whose threads move 16 bytes at a time. Empty: the kernel is not one of these.
  std::vector<std::string> vector_tensors = {};
  std::vector<Expr> extents = {};
  /// The tensors of a kernel whose blocks move 16 bytes at a time along rows.
  std::vector<VectorRow> vector_rows = {};
  bool rounds_to_tf32 = false;         ///< f32 is rounded to tf32 before it is multiplied
  std::string text = {};               ///< the function, with its comment
  std::set<std::string> helpers = {};  ///< names of the functions that it calls

  bool has_tiles() const { return rows != Expr(0); }
  bool has_pipelined_tiles() const { return has_tiles() && tile == kCudaPipelinedTile; }
};

/// Memory between and in kernels, of floats, doubles, int64_t or bools (one byte).
struct CudaTemporary {
  std::string name;
  std::size_t element_bytes;
  std::vector<Expr> shape;
  bool per_thread = false;  ///< each thread of the launch has that number of elements
};

struct CudaProgram {
  std::string comment;  ///< the equation, tensors, parameters
  std::vector<CudaKernel> kernels;
  std::vector<CudaTemporary> temporaries;
  std::vector<NamedSize> sizes = {};  ///< further sizes, which temporaries and `iterations` mention

  /// At most one alternative with more kernels and more memory, which is launched instead if that
  /// memory is available and each of its kernels of tiles has enough rows and columns.
  std::vector<CudaProgram> distributed = {};

  bool rounds_to_tf32() const {
    return std::ranges::any_of(kernels, &CudaKernel::rounds_to_tf32) ||
           std::ranges::any_of(distributed, &CudaProgram::rounds_to_tf32);
  }
};

/// Returns the reference, variant `reference`: reals in double, integers in wrapping 64-bit, sums
/// in order. There is one thread for each iteration of the outermost loops whose iterations are
/// independent, and one thread for a nest that must run in order. Compile with --fmad=false. Of the
/// options, only `function` (the kernels' name, with _1, _2 … appended if there are several) and
/// `optional_outputs` count.
CudaProgram cuda_program(const LoopProgram& p, const EmitOptions& options);
/// Returns the variant `gen`: reals in their own dtype, sums in any order. A stage whose iterations
/// reduce has a kernel that gives each iteration to a block, for the strides that make its loops
/// run over adjacent elements; a stage whose iterations go over adjacent elements has a kernel for
/// tensors without gaps; a stage with few long iterations, or that scatters, has parts.
CudaProgram cuda_gen_program(const LoopProgram& p, const EmitOptions& options);
/// Returns the variant `tf32`: as gen, except that kernels of tiles round f32 elements to tf32, 11
/// bits, before tensor cores multiply them.
CudaProgram cuda_tf32_program(const LoopProgram& p, const EmitOptions& options);
/// Returns the program's kernels and those of the program that may be launched in its place.
std::vector<const CudaKernel*> all_kernels(const CudaProgram& program);
/// Returns the comment and the kernels.
std::string to_string(const CudaProgram& program);
/// Returns the functions with these names, and those that they call, to be placed before kernels.
/// Other names do not count.
std::string cuda_helpers(const std::set<std::string>& names);
std::string cuda_helpers(const CudaProgram& program);
/// Returns a file: the include, or mote_cuda.h itself if `standalone`, helpers, comment, kernels.
std::string emit_cuda(const CudaProgram& program, bool standalone);
/// Returns the text of mote_cuda.h.
std::string cuda_header();

}  // namespace mote
