// SPDX-License-Identifier: Apache-2.0
// Emits loop programs as CUDA C++: one kernel or several, to be launched one after the other. The
// text includes only mote_cuda.h, which stands for the toolkit under nvcc and NVRTC and for a shim
// on the host under any C++ compiler.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/steps.h"

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

/// One thread takes all iterations, in order.
struct CudaInOrder {};
/// A thread takes each iteration.
struct CudaPerThread {};
/// A thread takes the iterations of 16 bytes of elements side by side: the tensors must be present,
/// without gaps over `extents`, at addresses divisible by 16.
struct CudaPerVector {
  std::vector<std::string> tensors;
  std::vector<Expr> extents;
};
/// A block of whole warps takes each iteration.
struct CudaPerBlock {
  /// The number of elements of the longest row, if it is known. The kernel is not for short rows if
  /// another kernel follows it.
  std::optional<Expr> row;
  bool is_map = false;  ///< rows are not reduced: threads take short ones as well
  /// The tensors of which blocks move 16 bytes at a time along rows.
  std::vector<VectorRow> vectors = {};
};
/// A block of kCudaThreads threads takes the iterations of a tile. The kernel is not for few rows
/// or columns.
struct CudaPerTile {
  Expr rows;
  Expr columns;
  int side;  ///< the rows and columns of one tile
  /// The operands that a pipelined tile accesses 16 bytes at a time.
  std::vector<VectorOperand> operands = {};
  bool rounds_to_tf32 = false;  ///< f32 is rounded to tf32 before it is multiplied

  bool is_pipelined() const { return side == kCudaPipelinedTile; }
};
/// The kinds of workers that take an iteration of a kernel, each with the demands on calls that it
/// makes.
using CudaWorker =
    std::variant<CudaInOrder, CudaPerThread, CudaPerVector, CudaPerBlock, CudaPerTile>;

struct CudaKernel {
  std::string function;
  CudaWorker worker;
  /// The number of workers that have something to do, over sizes and parameters; it may hold loads,
  /// and then says nothing.
  Expr iterations;
  /// The text was written from the loops of this version, to which its steps lead: first those on
  /// the program's loops, then those on the loops of the kernel's stage. The version's name
  /// distinguishes the kernel's function from others of its stage.
  std::shared_ptr<const Version> version = nullptr;
  /// Kernels of one stage are alternatives: the first is launched whose strides and worker suit the
  /// call. The last one of a stage suits all calls.
  int stage = 0;
  /// 1, 2, …: the kernel is a step of the sequence that is launched in place of a stage with few
  /// iterations over many `terms`; kernels of one part are alternatives as those of a stage are.
  /// Otherwise the kernel is of the stage itself.
  std::optional<int> part = std::nullopt;
  /// In a stage that has parts, the number of terms that one iteration goes over in order.
  std::optional<Expr> terms = std::nullopt;
  std::vector<CudaArgument> arguments = {};
  std::string text = {};               ///< the function, with its comment
  std::set<std::string> helpers = {};  ///< names of the functions that it calls

  const LoopProgram& loops() const { return version->program; }
  /// Returns the strides that a call must have; a kernel of vectors asks for none beyond its
  /// `extents`, over which it sees each tensor as one axis.
  std::span<const KnownStride> strides() const {
    return per_vector() != nullptr ? std::span<const KnownStride>() : loops().strides;
  }
  bool is_in_order() const { return std::holds_alternative<CudaInOrder>(worker); }
  const CudaPerVector* per_vector() const { return std::get_if<CudaPerVector>(&worker); }
  const CudaPerBlock* per_block() const { return std::get_if<CudaPerBlock>(&worker); }
  const CudaPerTile* per_tile() const { return std::get_if<CudaPerTile>(&worker); }
  /// Returns true if a block takes each iteration, or tile of iterations.
  bool is_by_block() const { return per_block() != nullptr || per_tile() != nullptr; }
  bool has_tiles() const { return per_tile() != nullptr; }
  bool has_pipelined_tiles() const { return per_tile() != nullptr && per_tile()->is_pipelined(); }
  bool rounds_to_tf32() const { return per_tile() != nullptr && per_tile()->rounds_to_tf32; }
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

/// reference: reals in double, integers in wrapping 64-bit, sums in order, for --fmad=false. There
/// is one thread for each iteration of the outermost loops whose iterations are independent, and
/// one thread for a nest that must run in order. gen: reals in their own dtype, sums in any order.
/// A stage whose iterations reduce has a kernel that gives each iteration to a block, for the
/// strides that make its loops run over adjacent elements; a stage whose iterations go over
/// adjacent elements has a kernel for tensors without gaps; a stage with few long iterations, or
/// that scatters, has parts. tf32: as gen, except that kernels of tiles round f32 elements to tf32,
/// 11 bits, before tensor cores multiply them.
enum class CudaVariant : std::uint8_t { reference, gen, tf32 };

/// Returns the kernels of a variant. Of the options, only `function` (the kernels' name, with _1,
/// _2 … appended if there are several) and `optional_outputs` count.
CudaProgram cuda_program(const LoopProgram& p, CudaVariant variant,
                         const EmitOptions& options = {});
/// Takes the steps on the loops of compile(), in order: those of loops first (keep, scan,
/// positions, hoist, split, interchange, inward), then distribute, then those of a GPU that name
/// the launch by one of its loops (parts, threads, grid, row_vectors, thread_vectors, block_tile).
/// A launch without steps has a thread for each iteration of the loops that can be shared, or one
/// thread if it must run in order. A kernel that asks for strides, addresses or sizes is followed
/// by one of threads for all other calls. `variant` is gen or tf32. Throws Error that names the op
/// and the step, with the dependence that forbids it if there is one.
CudaProgram cuda_program_by(const LoopProgram& p, std::span<const Step> steps, CudaVariant variant,
                            const EmitOptions& options = {});
/// Returns the program's kernels and those of the program that may be launched in its place.
std::vector<const CudaKernel*> all_kernels(const CudaProgram& program);
/// Returns the comment and the kernels.
std::string to_string(const CudaProgram& program);
/// Returns the steps and loops of each kernel, under its name.
std::string loops_text(const CudaProgram& program);
/// Returns the functions with these names, and those that they call, to be placed before kernels.
/// Other names do not count.
std::string cuda_helpers(const std::set<std::string>& names);
std::string cuda_helpers(const CudaProgram& program);
/// Returns a file: the include, or mote_cuda.h itself if `standalone`, helpers, comment, kernels.
std::string emit_cuda(const CudaProgram& program, bool standalone);
/// Returns the text of mote_cuda.h.
std::string cuda_header();

}  // namespace mote
