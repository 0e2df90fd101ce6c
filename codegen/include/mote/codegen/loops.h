// SPDX-License-Identifier: Apache-2.0
// Loop programs: tensors and a tree of loops over them. Plain values; a pass is a free function
// LoopProgram -> LoopProgram. Loop variables are unique in a program; their ranges are those of
// their loops. Values are immutable trees that may share nodes.
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
/// apply(op, args) as in uop.h; arg_dtype is the dtype of the (non-condition) arguments.
struct Op {
  MapOp op;
  std::vector<Value> args;
  DType arg_dtype;
};
/// conditions ? then : otherwise; `then` is evaluated only where they hold. otherwise is a
/// constant.
struct Guard {
  Conditions conditions;
  Value then;
  Number otherwise;
};
/// An accumulator after its loop (argmax, argmin: the position).
struct Accumulated {
  std::string name;
};
/// A name bound by a Let above.
struct Bound {
  std::string name;
};
}  // namespace value

struct ValueNode {
  std::variant<value::Constant, value::Index, value::Param, value::Load, value::Op, value::Guard,
               value::Accumulated, value::Bound>
      kind;
  DType dtype;  ///< of the value; computed in double or 64-bit integers, see uop.h
  /// An Index, Load or Guard stands in it: walks over indices and loads skip what has none.
  bool has_index = true;
};

Value constant(Number number, DType dtype);
Value index_value(const Expr& e, DType dtype = DType::i64);
Value param_value(std::string_view name, DType dtype);
Value load_value(std::string_view tensor, std::vector<Expr> index, DType dtype);
Value op_value(MapOp op, std::vector<Value> args, DType arg_dtype, DType dtype);
Value guard_value(Conditions conditions, Value then,
                  Number otherwise);  ///< `then` itself if no conditions
Value accumulated_value(std::string_view name, DType dtype);
Value bound_value(std::string_view name, DType dtype);
/// Structural equality; same object is equal at once.
bool equal(const Value& a, const Value& b);

struct Stmt;
using Body = std::vector<Stmt>;

struct Accumulator {
  std::string name;
  ReduceOp op;
  DType dtype;  ///< of the values that are folded (argmax, argmin: of the compared values)
};

/// for (variable = begin; variable < end; variable += step). The accumulators are set to neutral
/// before the loop and can be read after it, in the rest of the body that holds the loop.
struct Loop {
  Symbol variable;
  Expr begin;
  Expr end;
  Expr step{1};
  std::vector<Accumulator> accumulators;
  Body body;
  /// Set by a schedule. parallel: this loop and the parallel - 1 loops right below it share their
  /// rounds among threads, where work, the count of innermost rounds, is large; 0: in order.
  int parallel = 0;
  Expr work{0};
  bool simd = false;  ///< rounds in vectors; accumulators are kept by lanes, in any order
};
/// A branch is transparent to accumulators: those of loops in it can be read after it, in the body
/// that holds it, and are neutral if it was not taken.
struct If {
  Conditions conditions;
  Body body;
};
/// tensor[index] = value
struct Store {
  std::string tensor;
  std::vector<Expr> index;
  Value value;
};
/// tensor[index] op= value. Rounds of loops may meet at one element, which a Store does not do: so
/// their order counts, for `set` too.
struct StoreReduce {
  std::string tensor;
  std::vector<Expr> index;
  ScatterOp op;
  Value value;
};
/// accumulator op= value; position is what argmax, argmin remember.
struct Fold {
  std::string accumulator;
  ReduceOp op;
  Value value;
  Expr position;
};
/// const name = value, for the rest of this body and bodies below. Pure.
struct Let {
  std::string name;
  Value value;
};
struct Stmt {
  std::variant<Loop, If, Store, StoreReduce, Fold, Let> kind;
};

enum class TensorRole : std::uint8_t { input, output, temporary };
struct TensorDecl {
  std::string name;
  TensorRole role;
  DType dtype;              ///< temporaries are kept in double or int64 whatever this says
  std::vector<Expr> shape;  ///< row-major for temporaries; rank 0 is a scalar
  std::vector<std::string> axis_names;
  /// Of a temporary in a schedule: the loop variable in whose rounds it lives, one a round; empty:
  /// one for the whole program.
  std::string scope = {};
};

/// A stride, in elements, that an input or output is known to have.
struct KnownStride {
  std::string tensor;
  int axis;
  std::int64_t stride;
  friend bool operator==(const KnownStride&, const KnownStride&) = default;
};

struct LoopProgram {
  std::string name;
  std::vector<TensorDecl> tensors;  ///< inputs, outputs (declaration order), then temporaries
  Body body;
  std::shared_ptr<const Program> source;  ///< sizes, size rules, parameters, names
  /// Set by a schedule. native: reals are computed and kept in their own dtype, f32 in float, and
  /// sums may be taken in any order; the interpreter computes in double all the same.
  bool native = false;
  std::vector<KnownStride> strides = {};
  /// The statements are some of a program's: tensors may be stored and read by others.
  bool is_part = false;
};

const TensorDecl* find_tensor(const LoopProgram& p, std::string_view name);
/// The names that are taken in p: loop variables, tensors, lets, accumulators, sizes, parameters.
std::set<std::string> names_used(const LoopProgram& p);
/// A name like `hint` that nothing in p uses yet.
std::string fresh_name(const LoopProgram& p, std::string_view hint);
/// Facts about sizes and parameters of the source; loop ranges are added while walking.
Facts base_facts(const Program& source);

/// Throws InternalError that says which loop or statement is wrong: a variable used outside its
/// loop or bound twice, an unknown tensor, wrong rank or dtype, an accumulator read before its loop
/// has ended or folded outside it, a Let used out of scope, an input that is written, an output
/// never stored, a temporary read before any store; of a schedule, rounds said to be parallel or
/// vectors that are not independent.
void verify(const LoopProgram& p);

/// Stable, readable text: `for oh in 0..OH {`, `if … {`, `y[n, co] = …`, `acc += …`, `t = …`.
std::string to_string(const LoopProgram& p);
std::string to_string(const Stmt& s, int indent = 0);
std::string to_string(const Value& v);
std::string to_string(const Conditions& c);

/// Runs the program on dense row-major inputs, like evaluate() does the source. Throws Error as
/// bind() does, and InternalError for a read or write out of range, a read of an element never
/// stored.
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
