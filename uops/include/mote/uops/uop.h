// SPDX-License-Identifier: Apache-2.0
// The uops describe a computation: immutable nodes behind cheap handles, each a std::variant of a
// small closed set. A node knows its dtype, its shape (index expressions over sizes and parameters)
// and, for readable output, a name for each axis.
//
// Meaning (every evaluator, emitter and backend follows it):
// - Reals are computed in double and rounded only where a value is stored in an output or cast;
//   integers are computed in wrapping 64-bit and narrowed likewise; booleans are 0 or 1.
// - A read out of range has the value `fill`. Division of indices is floor division.
// - NaN propagates through max and min and reductions of them. The empty sum is 0, the empty
//   product is 1, the empty max is the least value of the dtype (-inf for reals), the empty any is
//   false, the empty all is true; an empty argmax or argmin is an error. argmax and argmin give the
//   first position, and that of the first NaN if there is one.
// - Integer div truncates towards zero; x/0 is 0. mod has the sign of the divisor (floor mod); for
//   integers x mod 0 is 0. A cast from real to integer truncates and saturates, and NaN gives 0;
//   from integer to integer it wraps; to bool it is x != 0. Shifts by less than 0 or more than 63
//   give 0; shift_right keeps the sign, so such shifts give -1 where x < 0.
// - A scatter writes the elements of x in row-major order, and drops writes out of range.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mote/base/arithmetic.h"
#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/uops/expr.h"

namespace MOTE_API mote {

/// A scalar: a real or an integer (bool too).
struct Number {
  std::variant<double, std::int64_t> value = 0.0;

  Number() = default;
  Number(double real) : value(real) {}                   // NOLINT(google-explicit-constructor)
  Number(std::int64_t integer) : value(integer) {}       // NOLINT(google-explicit-constructor)
  Number(int integer) : value(std::int64_t{integer}) {}  // NOLINT(google-explicit-constructor)
  /// Converts any other arithmetic type to the one of the two that holds it.
  template <Arithmetic T>
  Number(T number) {  // NOLINT(google-explicit-constructor)
    to_real_or_integer(number, [&](auto converted) { value = converted; });
  }
  bool is_real() const { return value.index() == 0; }
  double real() const { return std::get<double>(value); }
  std::int64_t integer() const { return std::get<std::int64_t>(value); }
  /// Returns the value as a real; an integer is converted.
  double as_real() const { return is_real() ? real() : static_cast<double>(integer()); }
};
/// Returns true for the same value; all NaNs are equal, and -0 equals +0.
bool same(const Number& a, const Number& b);
/// Returns true for the same bits; all NaNs are equal (for comparing programs).
bool identical(const Number& a, const Number& b);
/// Returns the number as a value of dtype, rounded or wrapped as a store to a tensor does it.
Number store_as(const Number& n, DType dtype);

enum class MapOp : std::uint8_t {
  // one argument
  neg,
  abs,
  sign,
  recip,
  sqrt,
  rsqrt,
  exp,
  expm1,
  log,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  erf,
  floor,
  ceil,
  round /* half to even */,
  trunc,
  next_up /* the next double above; of -inf the least finite one, of +inf and NaN itself */,
  next_down,
  lowest_bit /* the greatest power of two of which x is a multiple; 0: inf; inf, NaN: 0 */,
  logical_not,
  isnan,
  isinf,
  bitwise_not,
  cast,
  // two
  add,
  sub,
  mul,
  div,
  pow,
  mod,
  min,
  max,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,
  shift_right,
  philox /* (seed, position): random bits, philox_word() */,
  // three
  where
};
enum class ReduceOp : std::uint8_t { sum, prod, max, min, argmax, argmin, any, all };
/// The function by which a scatter combines a written value with the previous one.
enum class ScatterOp : std::uint8_t { add, mul, max, min, set };

std::string_view name(MapOp op);  ///< as in program text: "neg", …, "lt", "logical_and", "where"
std::string_view name(ReduceOp op);
std::string_view name(ScatterOp op);
int arity(MapOp op);
/// Returns true for exp, sin, pow and similar, and square roots, which cost far more than a
/// multiplication.
bool is_transcendental(MapOp op);
/// Returns the dtype of op on arguments of these dtypes; for cast it is `to`. Throws Error that
/// names op and dtypes.
DType result_dtype(MapOp op, std::span<const DType> args, DType to);
/// Computes one element of Map(op): the scalar semantics of the language, in one place. `args` are
/// reals or integers as their dtypes say; `dtype` is the argument dtype, `to` the result's (cast).
Number apply(MapOp op, std::span<const Number> args, DType dtype, DType to);
/// Returns the value of an element after `x` is scattered onto it.
Number apply(ScatterOp op, const Number& old, const Number& x, DType dtype);
/// Returns the value of an empty reduction (not argmax, argmin).
Number neutral(ReduceOp op, DType dtype);

inline constexpr int kMaxRank = 16;  ///< axes of a node
/// The most nodes in a chain from an output down to an input; code that walks a program by
/// recursion can rely on it.
inline constexpr int kMaxDepth = 1000;

struct UopNode;

/// A handle to an immutable node.
class Uop {
 public:
  Uop() = default;
  explicit Uop(std::shared_ptr<const UopNode> node) : node_(std::move(node)) {}
  const UopNode& node() const { return *node_; }
  const UopNode* id() const { return node_.get(); }  ///< identity
  explicit operator bool() const { return node_ != nullptr; }
  const std::vector<Expr>& shape() const;
  DType dtype() const;
  int rank() const { return static_cast<int>(shape().size()); }

 private:
  std::shared_ptr<const UopNode> node_;
};

namespace uop {
/// A tensor given from outside. broadcast[k]: axis k may have extent 1 and then repeats (NumPy).
struct Input {
  std::string name;
  std::vector<bool> broadcast;
};
struct Scalar {
  Number value;
};
/// A parameter of the op used as a value; rank 0.
struct Param {
  std::string name;
};
/// y[i] = value(i), an i64; or that index cast to a real dtype, not rounded to f32.
struct Iota {
  Expr value;
};
/// y[i] = x[from(i)] where in range, else fill. `constraints`: equalities that its shape text
/// stated.
struct Reindex {
  Uop x;
  std::vector<Expr> from;
  Number fill;
  std::vector<Constraint> constraints;
};
/// Element-wise. Each argument has the node's shape, or is a Scalar or Param.
struct Map {
  MapOp op;
  std::vector<Uop> args;
};
/// Drops `axes` (sorted, distinct, not empty). argmax and argmin give the row-major position among
/// the reduced axes, an i64.
struct Reduce {
  ReduceOp op;
  Uop x;
  std::vector<int> axes;
};
/// Take-along: y[…i…] = x[…index[i]…] on `axis`; index has the shape of y; out of range gives fill.
/// y's shape equals x's on all other axes.
struct Select {
  Uop x;
  int axis;
  Uop index;
  Number fill;
};
/// y = base; then, for each index i of x in row-major order, y[to(i)] op= x[i]. Writes out of range
/// are dropped; if `set` writes one element several times, the last write stays. y's shape is
/// base's; `to` is in the loop variables of x's axes. It is the adjoint of Reindex.
struct Scatter {
  ScatterOp op;
  Uop base;
  Uop x;
  std::vector<Expr> to;
  std::vector<Constraint> constraints;
};
/// y = base; then, in row-major order, y[…index[i]…] op= x[…i…] on `axis`, as Scatter does. index
/// has the shape of x, and base's on all other axes. It is the adjoint of Select.
struct SelectScatter {
  ScatterOp op;
  Uop base;
  Uop x;
  int axis;
  Uop index;
};
/// x, with gradient zero.
struct StopGradient {
  Uop x;
};
using Kind = std::variant<Input, Scalar, Param, Iota, Reindex, Map, Reduce, Select, Scatter,
                          SelectScatter, StopGradient>;
}  // namespace uop

struct UopNode {
  uop::Kind kind;
  DType dtype;
  std::vector<Expr> shape;
  std::vector<std::string>
      axis_names;  ///< as many as axes; "" where unnamed. A hint, not identity.
  int depth = 1;   ///< nodes in the longest chain from here down, including this one
};

/// Returns the nodes that a node reads, in order.
std::vector<Uop> operands(const Uop& u);
/// Returns the node with other operands, of the same dtypes and shapes, in that order.
Uop with_operands(const Uop& u, const std::vector<Uop>& args);
/// Returns "Reindex", "Map add" or "Reduce sum", for messages.
std::string describe(const Uop& u);
/// Returns every node that the outputs need once, operands first, in the order of first use.
std::vector<Uop> topological(std::span<const Uop> outputs);

// ---- Builders. They check dtypes, ranks, depth and constant sizes at once, and throw Error that
// names the uop, the axis and the sizes; symbolic sizes that must be equal become constraints
// (program.h).

/// One axis of a shape: an expression, an optional name, and equalities that its text stated.
/// Text: "N", "$groups*CG", "ci: $groups*CG", "1|P" (an input axis that may be 1 and repeats),
/// "dA1[=dB0]". The name defaults to the lower-case size name.
struct Axis {
  Expr extent;
  std::string name;
  bool broadcast = false;
  std::vector<Constraint> constraints;

  Axis(const char* text);                           // NOLINT(google-explicit-constructor)
  Axis(const std::string& text);                    // NOLINT(google-explicit-constructor)
  Axis(const Expr& extent, std::string name = "");  // NOLINT(google-explicit-constructor)
};
using Shape = std::vector<Axis>;
/// Returns the axes of u, with their names, for building shapes from shapes.
Shape shape_of(const Uop& u);

/// An index expression, or its text.
struct IndexText {
  Expr expr;
  std::vector<Constraint> constraints;
  IndexText(const char* text);                 // NOLINT(google-explicit-constructor)
  IndexText(Expr e) : expr(std::move(e)) {}    // NOLINT(google-explicit-constructor)
  IndexText(int constant) : expr(constant) {}  // NOLINT(google-explicit-constructor)
};

Uop input(std::string_view name, DType dtype, const Shape& shape);
/// Makes an input of that rank with sizes d<name>0, d<name>1, …
Uop input(std::string_view name, DType dtype, int rank);
Uop scalar(Number value, DType dtype);
Uop param(std::string_view name, DType dtype);
Uop iota(const IndexText& value, const Shape& shape);
Uop reindex(const Uop& x, const Shape& shape, const std::vector<IndexText>& from,
            Number fill = 0.0);
/// y[i] = x[i[axes[0]], i[axes[1]], …]: axis k of x runs along axis axes[k] of the new shape.
Uop broadcast(const Uop& x, const Shape& shape, const std::vector<int>& axes);
/// Applies op element by element. Axes of constant extent 1 repeat along the other arguments'
/// (NumPy, equal ranks); rank-0 arguments fit any shape; plain numbers take the dtype of the tensor
/// argument.
Uop map(MapOp op, const std::vector<Uop>& args);
Uop cast(const Uop& x, DType dtype);
/// Drops the axes.
Uop reduce(ReduceOp op, const Uop& x, const std::vector<int>& axes);
Uop select(const Uop& x, int axis, const Uop& index, Number fill = 0.0);
/// Scatters x onto base: element i of x goes to base[to(i)].
Uop scatter(ScatterOp op, const Uop& base, const Uop& x, const std::vector<IndexText>& to);
/// Scatters x onto base along `axis`, to the positions that index gives.
Uop select_scatter(ScatterOp op, const Uop& base, const Uop& x, int axis, const Uop& index);
Uop stop_gradient(const Uop& x);
/// Drops the axes, all of extent 1.
Uop squeeze(const Uop& x, const std::vector<int>& axes);

/// A tensor or a plain number, as an argument of the operators below.
struct Operand {
  Uop uop;
  std::variant<std::monostate, Number> number;
  Operand(Uop u) : uop(std::move(u)) {}  // NOLINT(google-explicit-constructor)
  template <Arithmetic T>
  Operand(T v) : number(Number(v)) {}  // NOLINT(google-explicit-constructor)
};
Uop map(MapOp op, const std::vector<Operand>& args);

Uop operator+(const Operand& a, const Operand& b);
Uop operator-(const Operand& a, const Operand& b);
Uop operator*(const Operand& a, const Operand& b);
Uop operator/(const Operand& a, const Operand& b);
Uop operator-(const Uop& a);
Uop operator<(const Operand& a, const Operand& b);
Uop operator<=(const Operand& a, const Operand& b);
Uop operator>(const Operand& a, const Operand& b);
Uop operator>=(const Operand& a, const Operand& b);
Uop operator&&(const Uop& a, const Uop& b);
Uop operator||(const Uop& a, const Uop& b);
Uop eq(const Operand& a, const Operand& b);
Uop ne(const Operand& a, const Operand& b);
Uop min(const Operand& a, const Operand& b);
Uop max(const Operand& a, const Operand& b);
Uop pow(const Operand& a, const Operand& b);
Uop mod(const Operand& a, const Operand& b);
Uop where(const Uop& condition, const Operand& a, const Operand& b);
Uop exp(const Uop& x);
Uop log(const Uop& x);
Uop sqrt(const Uop& x);
Uop rsqrt(const Uop& x);
Uop tanh(const Uop& x);
Uop abs(const Uop& x);
Uop next_up(const Uop& x);
Uop next_down(const Uop& x);
Uop lowest_bit(const Uop& x);

// Reductions that keep the reduced axes with extent 1, so that the result broadcasts against x:
// softmax is e / sum(e, 1). The forms that drop them end in _over: sum_over(a * b, {2}).
using Axes = std::vector<int>;
Uop sum(const Uop& x, const Axes& axes);
Uop prod(const Uop& x, const Axes& axes);
Uop mean(const Uop& x, const Axes& axes);  ///< sum / count
Uop max(const Uop& x, const Axes& axes);
Uop min(const Uop& x, const Axes& axes);
Uop sum_over(const Uop& x, const Axes& axes);
Uop prod_over(const Uop& x, const Axes& axes);
Uop mean_over(const Uop& x, const Axes& axes);
Uop max_over(const Uop& x, const Axes& axes);
Uop min_over(const Uop& x, const Axes& axes);
Uop argmax_over(const Uop& x, const Axes& axes);
Uop argmin_over(const Uop& x, const Axes& axes);

}  // namespace mote
