// SPDX-License-Identifier: Apache-2.0
// Computes the error bound of a program as another program: for every output y the interval [y_lo,
// y_hi] that holds every value that a correct implementation computes before it rounds to y's
// dtype, in any order of summation, with fused multiply-adds or without, in the accumulator's
// precision or a wider one. A value v of a kernel is accepted iff round(y_lo) <= v <= round(y_hi),
// rounded as a store to y's dtype. docs/bound.md has the rules.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// The permitted deviation of a function from the exact result: |computed - f(x')| <= ulp·ulps of
/// the result + abs, for some x' with |x' - x| <= arg·u·|x|.
struct Accuracy {
  double ulp = 4;
  double arg = 0;
  double abs = 0;
};

/// Names among the functions of a contract: sums of products, and the operands of those products.
inline constexpr const char* kDot = "dot";
inline constexpr const char* kOperand = "operand";
/// Returns all names that a contract's functions may have.
std::vector<std::string> contract_functions();

/// The format in which sums and products over an axis, and those of a scatter, are kept.
enum class Accumulation : std::uint8_t {
  usual,   ///< f32 for reals of 16 bits, and for all others their own format
  native,  ///< their own format, in which the rest of 16-bit arithmetic is then computed too
  f32,     ///< doubles are converted to f32 before they are summed
  f64      ///< a sum may be rounded to its own format before it is used
};

/// The promises of an implementation about its numbers.
struct Contract {
  Accumulation accumulator = Accumulation::usual;
  /// The significant bits that operands of a multiplication that feeds a sum keep (tf32 and f16:
  /// 11, bf16: 8); 0: all.
  int multiply_bits = 0;
  /// Operands and results below the least normal number may become 0.
  bool flushes_denormals = false;
  /// The accuracies by function name ("exp"). A function that is not listed has the default: sqrt 1
  /// ulp, rsqrt 2, any other 4. The ulps are only the defaults of the bound's parameters
  /// ulp_<name>. kDot: in a sum of products, each of n terms may add `ulp` ulps of the sum of their
  /// magnitudes; unlisted it is 1/2. kOperand: `abs` is half the least number of the format to
  /// whose bits (multiply_bits) operands are rounded; unlisted, the format has the range of the
  /// tensor's.
  std::map<std::string, Accuracy, std::less<>> functions;
  /// Sums, products and quotients of an infinity, and quotients by 0, are indeterminate: for
  /// derivatives, whose equal formulas differ there (x*y + x*z, x*(y + z)). A NaN operand still
  /// requires NaN.
  bool open_infinities = false;
  /// Inputs that were computed and rounded to their dtype: an implementation may use the value
  /// before that rounding. This matters if the dtype is narrower than the accumulator.
  std::set<std::string, std::less<>> rounded_inputs = {};
};

/// Returns true if the output at that position has a rigid body: one with neither a division by
/// data nor a smooth function, or with nothing else that rounds, and with no product of more than
/// two factors or of a sum. It has one formula, and its inputs are taken as they are. Inputs of any
/// other body are perturbed by two units of roundoff, since equivalent formulas differ by that
/// much.
bool is_rigid(const Program& program, std::size_t output);

/// Returns true if no correct implementation can differ from the reference: data is only moved,
/// compared and chosen, or all arithmetic is on integers. Then y_lo and y_hi would be y itself.
bool is_certain(const Program& program, std::size_t output);

/// Returns the program of the bound. Its inputs and parameters are those of `program`, and a real
/// parameter ulp_<function> for each function in it; it has outputs y_lo, y_hi for each output y,
/// f64 for real ones, else of y's dtype. An indeterminate element, about which nothing can be said,
/// has -inf and +inf (integers: the dtype's least and greatest value). If both are NaN, the element
/// must be NaN. Throws Error if a chain of nodes gets too long.
Program bound(const Program& program, const Contract& contract = {});

}  // namespace mote
