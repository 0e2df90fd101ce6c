// SPDX-License-Identifier: Apache-2.0
// The error bound of a program, as another program: for every output y the interval [y_lo, y_hi]
// that holds whatever a correct implementation computes before it rounds to y's dtype, in any order
// of summation, with fused multiply-adds or without, in the accumulator's precision or a wider one.
// A value v of a kernel is accepted iff round(y_lo) <= v <= round(y_hi), rounded as a store to y's
// dtype. docs/bound.md has the rules.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// How far a function may be from the exact result: |computed - f(x')| <= ulp·ulps of the result +
/// abs, for some x' with |x' - x| <= arg·u·|x|.
struct Accuracy {
  double ulp = 4;
  double arg = 0;
  double abs = 0;
};

/// Names among the functions of a contract: sums of products; operands of those products.
inline constexpr const char* kDot = "dot";
inline constexpr const char* kOperand = "operand";
/// All names that a contract's functions may have.
std::vector<std::string> contract_functions();

/// The format in which sums and products over an axis, and those of a scatter, are kept.
enum class Accumulation : std::uint8_t {
  usual,   ///< f32 for reals of 16 bits, for all others their own format
  native,  ///< their own format, in which all else of 16-bit reals is then computed too
  f32,     ///< doubles are converted to it before they are summed up
  f64      ///< a sum may be rounded to its own format before it is used
};

/// What an implementation promises about its numbers.
struct Contract {
  Accumulation accumulator = Accumulation::usual;
  /// Significant bits that operands of a multiplication keep where it feeds a sum (tf32 and f16:
  /// 11, bf16: 8); 0: all.
  int multiply_bits = 0;
  /// Operands and results below the least normal number may become 0.
  bool flushes_denormals = false;
  /// By name ("exp"). What is not listed has the default: sqrt 1 ulp, rsqrt 2, any other 4. The
  /// ulps are only the defaults of the bound's parameters ulp_<name>. kDot: sums of products, of
  /// which each of n terms may add `ulp` ulps of the sum of their magnitudes; unlisted 1/2.
  /// kOperand: `abs` is half the least number of the format to whose bits (multiply_bits) operands
  /// are rounded; unlisted the format has the range of the tensor's.
  std::map<std::string, Accuracy, std::less<>> functions;
  /// Nothing is known of sums, products and quotients of an infinity, and of quotients by 0: for
  /// derivatives, of which equal formulas differ there (x*y + x*z, x*(y + z)). NaN stays required
  /// where an operand is.
  bool open_infinities = false;
  /// Inputs that somebody computed and rounded to their dtype: an implementation may have what they
  /// were rounded from. It matters where the dtype is narrower than the accumulator.
  std::set<std::string, std::less<>> rounded_inputs = {};
};

/// A body without a division by data or a smooth function, or with nothing else that rounds; with
/// no product of more than two factors or of a sum: it has one formula, and its inputs are taken as
/// they are. Inputs of any other are perturbed by two units of roundoff, since equivalent formulas
/// differ by that much. Of the output at that position.
bool is_rigid(const Program& program, std::size_t output);

/// True where no correct implementation can differ from the reference: data is only moved,
/// compared, chosen; integers. Then y_lo and y_hi would be y itself.
bool is_certain(const Program& program, std::size_t output);

/// Inputs and parameters as in `program`, and a real parameter ulp_<function> for each function in
/// it; outputs y_lo, y_hi for each output y, f64 for real ones, else of y's dtype. An indeterminate
/// element, about which nothing can be said, has -inf and +inf (integers: the dtype's least and
/// greatest value). NaN in both: the element must be NaN. Throws Error when a chain of nodes gets
/// too long.
Program bound(const Program& program, const Contract& contract = {});

}  // namespace mote
