// SPDX-License-Identifier: Apache-2.0
// Defines loop programs: tensors and a tree of loops over them. They are plain values; a pass is a
// free function LoopProgram -> LoopProgram. Loop variables are unique in a program; their ranges
// are those of their loops. Values are immutable trees that may share nodes.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/evaluate.h"
#include "mote/uops/facts.h"

namespace MOTE_API mote {

/// e >= 0, or e == 0. May hold loads (data-dependent conditions).
struct Condition {
  enum class Kind : std::uint8_t { nonneg, zero };
  Kind kind;
  Expr e;
  friend bool operator==(const Condition&, const Condition&) = default;
};
using Conditions = std::vector<Condition>;  ///< all hold; no duplicates

struct ValueNode;
using Value = std::shared_ptr<const ValueNode>;

namespace value {
struct Constant {
  Number number;
};
/// An index expression as an i64, or as a real that is not rounded to f32.
struct Index {
  Expr e;
};
struct Param {
  std::string name;
};
struct Load {
  std::string tensor;
  std::vector<Expr> index;
};
/// The value apply(op, args) as in uop.h; arg_dtype is the dtype of the (non-condition) arguments.
struct Op {
  MapOp op;
  std::vector<Value> args;
  DType arg_dtype;
};
/// The value (conditions ? then : otherwise); `then` is evaluated only if they hold, and otherwise
/// is a constant.
struct Guard {
  Conditions conditions;
  Value then;
  Number otherwise;
};
/// The value of an accumulator after its loop (argmax, argmin: the position).
struct Accumulated {
  std::string name;
};
/// A name bound by a Let above.
struct Named {
  std::string name;
};
}  // namespace value

struct ValueNode {
  std::variant<value::Constant, value::Index, value::Param, value::Load, value::Op, value::Guard,
               value::Accumulated, value::Named>
      kind;
  DType dtype;  ///< dtype of the value, which is computed in double or 64-bit integers, see uop.h
  /// True if it contains an Index, Load or Guard; walks over indices and loads skip others.
  bool has_index = true;
};

Value constant(Number number, DType dtype);
Value index_value(const Expr& e, DType dtype = DType::i64);
Value param_value(std::string_view name, DType dtype);
Value load_value(std::string_view tensor, std::vector<Expr> index, DType dtype);
Value op_value(MapOp op, std::vector<Value> args, DType arg_dtype, DType dtype);
Value guard_value(Conditions conditions, Value then,
                  Number otherwise);  ///< returns `then` itself if there are no conditions
Value accumulated_value(std::string_view name, DType dtype);
Value named_value(std::string_view name, DType dtype);
/// Returns true if the trees are structurally equal; the same object is recognised at once.
bool equal(const Value& a, const Value& b);

struct Stmt;
using Body = std::vector<Stmt>;

struct Accumulator {
  std::string name;
  ReduceOp op;
  DType dtype;  ///< dtype of the values that are folded (argmax, argmin: of the compared values)
};

/// The manner in which the iterations of a loop run; a schedule sets it.
enum class LoopKind : std::uint8_t {
  serial,      ///< in order
  threads,     ///< shared among threads, with those of the loops of this kind directly below
  simd,        ///< in vectors; accumulators are kept by lanes, in any order
  unrolled,    ///< in order; the limits are constants, and the text has each iteration
  transposed,  ///< with the simd loop that is its body it copies a square, through vectors that are
               ///< read along this loop and transposed in registers
  /// Shared among the blocks of threads of a GPU, with those of the loops of this kind directly
  /// below. All threads of a block run the statements of an iteration, apart from those in loops
  /// that they share.
  grid,
  warp,           ///< shared among the warps of a block, in an iteration of a grid
  block_threads,  ///< shared among the threads of a block, or of a warp in an iteration of warp
  /// Computed by the threads of a block together, with the loops in it: each thread has the
  /// elements that the layout of fragments gives it. Only such loops touch a tensor in fragments.
  fragments,
  /// Copied by the threads of a block together, with the loop in it, from memory to shared memory:
  /// asynchronously, so that the elements are there only behind a WaitForCopies.
  ahead,
};

/// Returns true for the kinds of loops whose iterations the threads of one block share. Each thread
/// has accumulators of its own, which are combined behind the loop that declares them: all threads
/// of the block wait for each other there, and have the result.
constexpr bool is_within_block(LoopKind kind) {
  return kind == LoopKind::warp || kind == LoopKind::block_threads || kind == LoopKind::fragments ||
         kind == LoopKind::ahead;
}

/// A stride, in elements, that an input or output is known to have.
struct KnownStride {
  std::string tensor;
  int axis;
  std::int64_t stride;
  friend bool operator==(const KnownStride&, const KnownStride&) = default;
};

/// A variable begin, begin + step, … below end.
struct LoopDigit {
  Symbol variable;
  Expr begin;
  Expr end;
  Expr step;
};

/// The element tensor[index] of an input, which is moved to the cache ahead of its use.
struct PrefetchedElement {
  std::string tensor;
  std::vector<Expr> index;
};

/// The loop for (variable = begin; variable < end; variable += step). The accumulators are set to
/// neutral before the loop and can be read after it, in the rest of the body that holds the loop.
struct Loop {
  Symbol variable;
  Expr begin;
  Expr end;
  Expr step{1};
  std::vector<Accumulator> accumulators;
  Body body;
  LoopKind kind = LoopKind::serial;
  /// The number of innermost iterations of the outermost of loops of threads, which share their
  /// iterations only if it is large.
  Expr work{0};
  /// Strides under which iterations that follow each other access adjacent elements. A simd loop
  /// that has some asks for them when it starts, and runs in order if a call has others.
  std::vector<KnownStride> adjacent_under = {};
  /// Parameters that must be 1 besides, such as the stride of a window.
  std::vector<Symbol> adjacent_under_ones = {};
  /// Further variables of an iteration: those of a nest of loops, the outermost first, in its
  /// iteration `number`. They have no meaning in iterations in which the nest has no such number.
  std::vector<LoopDigit> digits = {};
  Expr number{0};
  /// Elements of inputs that the next iteration of a loop around this one reads, one for each
  /// iteration of this one: they are moved to the cache before it begins. They change no result.
  std::vector<PrefetchedElement> prefetched = {};
};
/// Returns the number of values of a digit, and the values of the loop's digits, in their order.
Expr count_of(const LoopDigit& digit);
std::vector<Expr> digit_values(const Loop& loop);
/// A branch is transparent to accumulators: those of loops in it can be read after it, in the body
/// that holds it, and are neutral if it was not taken.
struct If {
  Conditions conditions;
  Body body;
};
/// The statement tensor[index] = value.
struct Store {
  std::string tensor;
  std::vector<Expr> index;
  Value value;
};
/// The statement tensor[index] op= value. Unlike with a Store, several iterations may write one
/// element, so their order matters, for `set` too.
struct StoreReduce {
  std::string tensor;
  std::vector<Expr> index;
  ScatterOp op;
  Value value;
};
/// The statement accumulator op= value; position is the index that argmax and argmin remember.
struct Fold {
  std::string accumulator;
  ReduceOp op;
  Value value;
  Expr position;
};
/// The pure statement const name = value, in scope for the rest of this body and bodies below.
struct Let {
  std::string name;
  Value value;
};
/// All threads of the block arrive here before any goes on: what they have stored before, all can
/// read after it.
struct Barrier {};
/// Each thread waits until its parts of the loops of kind ahead have arrived, apart from those of
/// the last `pending` such loops.
struct WaitForCopies {
  int pending;
};
struct Stmt {
  std::variant<Loop, If, Store, StoreReduce, Fold, Let, Barrier, WaitForCopies> kind;
};

enum class TensorRole : std::uint8_t { input, output, temporary };

/// The memory in which the elements of a temporary are kept.
enum class TensorMemory : std::uint8_t {
  automatic,  ///< the stack if its size is known and small, otherwise memory from the heap
  registers,  ///< vector registers: its shape is constant, and only unrolled and simd loops touch
              ///< it
  /// Memory that the threads of a block share, in an iteration of a grid. Its shape is constant.
  shared,
  /// Registers of each thread of a block: its first two axes are the variables of the two loops
  /// that the threads share, so that each thread has its own elements. Its shape is constant.
  local,
  fragments,  ///< registers of a block's threads, in the layout of tensor cores
};

/// The axes of a tensor in local memory that say which thread has an element.
inline constexpr int kThreadAxes = 2;

/// Returns true for the memory of one iteration of a grid, which has nothing in it at first.
constexpr bool is_of_block(TensorMemory memory) {
  return memory == TensorMemory::shared || memory == TensorMemory::local ||
         memory == TensorMemory::fragments;
}

/// Two axes of an input.
struct AxesOfInput {
  std::string tensor;
  int last_but_one, last;
};

struct TensorDecl {
  std::string name;
  TensorRole role;
  DType dtype;              ///< temporaries are kept in double or int64 regardless of it
  std::vector<Expr> shape;  ///< row-major for temporaries; rank 0 is a scalar
  std::vector<std::string> axis_names;
  /// For a temporary in a schedule, the variable of the loop of which each iteration has its own.
  /// nullopt: there is one for the whole program.
  std::optional<Symbol> per = std::nullopt;
  TensorMemory memory = TensorMemory::automatic;
  /// The bits in which a temporary of a native program keeps an integer: fewer than 64 where all of
  /// its values fit.
  int integer_bits = 64;
  /// Elements of shared memory are kept as tensor cores take them: of 16 bits as they are stored,
  /// of f32 rounded to tf32.
  bool is_for_tensor_cores = false;
  /// The tensor in shared memory whose elements' memory this one takes; what that one held is lost
  /// when this one is stored. Empty: it has its own memory.
  std::string in_place_of = {};
  /// The axes of an input that the last two of this panel are copied from. Where a call's elements
  /// of the input are adjacent along the former and not along the latter, the panel's are, too.
  std::optional<AxesOfInput> ordered_like = {};
};

struct LoopProgram {
  std::string name;
  std::vector<TensorDecl> tensors;  ///< inputs, outputs (declaration order), then temporaries
  Body body;
  std::shared_ptr<const Program> source;  ///< sizes, size rules, parameters, names
  /// Set by a schedule. Reals are computed and kept in their own dtype, f32 in float, and sums may
  /// be taken in any order; the interpreter computes in double nevertheless.
  bool native = false;
  std::vector<KnownStride> strides = {};
  /// Conditions on the sizes and parameters of a call that the program relies on.
  Conditions demands = {};
  /// The size of the vectors that tensors in registers consist of; 0 if there are none.
  int vector_bytes = 0;
  /// Processors with larger vectors leave the program out: a version of their own takes its place.
  bool is_for_no_larger_vectors = false;
  /// Terms outside of a tensor are computed as products with 0, which are NaN where the other
  /// factor is not finite: the form `padding_multiplied` (docs/bound.md).
  bool multiplies_padding = false;
  /// The statements are a part of a program's: other parts may store and read the tensors.
  bool is_part = false;
};

/// Returns the bytes of a real as a native program computes it: those of a float, for f64 a double.
/// Sums of integers in vectors have those of a float.
constexpr int native_bytes(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

const TensorDecl* find_tensor(const LoopProgram& p, std::string_view name);
/// Returns the names that are taken in p: loop variables, tensors, lets, accumulators, sizes,
/// parameters.
std::set<std::string> names_used(const LoopProgram& p);
/// Returns a name like `hint` that nothing in p uses yet.
std::string fresh_name(const LoopProgram& p, std::string_view hint);
/// Returns the facts about sizes and parameters of the source; walks add the loop ranges.
Facts base_facts(const Program& source);

/// Throws InternalError that says which loop or statement is wrong: a variable used outside its
/// loop or bound twice, an unknown tensor, wrong rank or dtype, an accumulator read before its loop
/// has ended or folded outside it, a Let used out of scope, an input that is written, an output
/// never stored, a temporary read before any store; in a schedule, iterations that run together and
/// are not independent, loops within a block outside of a grid, a barrier that some threads of a
/// block may not reach, and accesses of its threads that no barrier orders.
void verify(const LoopProgram& p);

/// Returns stable text: `for oh in 0..OH {`, `if … {`, `y[n, co] = …`, `acc += …`, `t = …`.
std::string to_string(const LoopProgram& p);
std::string to_string(const Stmt& s, int indent = 0);
std::string to_string(const Value& v);
std::string to_string(const Conditions& c);

/// Returns true if sizes and parameters are as the program demands.
bool meets_demands(const LoopProgram& p, const Binding& binding);

/// Runs the program on dense row-major inputs, as evaluate() runs the source. Throws Error as
/// bind() does, and InternalError for demands that are not met, for a read or write out of range
/// and for a read of a missing element.
std::vector<Array> interpret(const LoopProgram& p, const std::vector<Array>& inputs,
                             const std::map<std::string, Number>& params);

struct LoopCount {
  int nests = 0;  ///< loops at top level
  int loops = 0;
  int temporaries = 0;  ///< of rank 1 or more
  int temporary_axes = 0;
  int conditions = 0;  ///< If statements and guarded values
  int scatters = 0;    ///< StoreReduce
};
LoopCount count(const LoopProgram& p);

}  // namespace mote
