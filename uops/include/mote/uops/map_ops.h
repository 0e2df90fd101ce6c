// SPDX-License-Identifier: Apache-2.0
// The table of scalar operations has a row for each MapOp, with everything that evaluators,
// emitters, printers, gradients and bounds need to know about it. The rows are in
// uops/src/graph/map_ops_*.h.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/uop.h"

namespace MOTE_API mote {

namespace text {
/// The precedence of an expression's text, the lowest first.
enum Precedence : std::uint8_t {
  kTernary,
  kOr,
  kAnd,
  kEquality,
  kRelation,
  kSum,
  kProduct,
  kUnary,
  kTight
};
}  // namespace text

/// An operator that stands between its two arguments.
struct Infix {
  std::string_view symbol;  ///< without spaces
  text::Precedence precedence;
};

/// The functions by which C computes an op. An empty name says that there is no such function.
struct CForms {
  std::string_view real = {};     ///< the function of doubles: "fabs"
  std::string_view integer = {};  ///< the helper for int64_t: "mote_abs"
  std::string_view native = {};   ///< the function of floats: "fabsf"
  std::string_view prefix = {};   ///< the operator before its argument: "-"
  std::string_view symbol = {};   ///< an operator between two arguments that only C has: "&"
  bool is_reciprocal = false;     ///< 1 / function(x), or 1 / x without a function
  double native_ulp = 0;          ///< the greatest error of `native` over f32; 0: not declared
};

/// The shape and range of a smooth function of one real, for error bounds.
struct Course {
  enum class Shape : std::uint8_t { rising, falling, even, wave, tangent };
  static constexpr double kInf = std::numeric_limits<double>::infinity();

  Shape shape = Shape::rising;
  double least = -kInf, greatest = kInf;  ///< the range of the function
  double from = -kInf, to = kInf;         ///< where it is defined
};

struct Adjoint;  // of uops/src/gradient
struct MapSite;
using GradientRule = std::vector<Adjoint> (*)(const MapSite& site);

struct MapOpInfo {
  static constexpr unsigned kReal = 1, kInteger = 2, kBoolean = 4, kI64 = 8;
  static constexpr unsigned kNumeric = kReal | kInteger;
  static constexpr unsigned kAny = kReal | kInteger | kBoolean;

  MapOp op;
  std::string_view name;  ///< as in program text
  int arity = 1;
  unsigned accepts = kReal;  ///< the dtypes of its arguments; for where, of the last two
  bool gives_bool = false;
  /// It costs far more than a multiplication.
  bool is_transcendental = false;
  /// The compiler computes it if all arguments are constants.
  bool folds = false;
  /// It does not change integers: floor.
  bool keeps_integers = false;
  /// They compute one element of reals, and of integers and booleans; an op of one argument does
  /// not read y. nullptr says that it is not defined, or that apply() does it (cast, where).
  Number (*real)(double x, double y) = nullptr;
  std::int64_t (*integer)(std::int64_t x, std::int64_t y) = nullptr;
  /// The operator in program text, which C has too.
  std::optional<Infix> infix = std::nullopt;
  CForms c = {};
  /// The error that a contract allows by default, in units in the last place; 0 says that the op
  /// rounds once, or not at all.
  double ulp = 0;
  std::optional<Course> course = std::nullopt;
  /// Gives each argument's share of the result's gradient; nullptr: no argument gets any.
  GradientRule gradient = nullptr;
};

/// Returns the row of an op.
const MapOpInfo& info(MapOp op);
/// Returns all rows, in the order of MapOp.
std::span<const MapOpInfo> map_ops();

}  // namespace mote
