// SPDX-License-Identifier: Apache-2.0
// Computes the gradient of a program as another program: |gy|x|y| -> |gx|. One reverse walk uses
// one table of rules, uops in and uops out, so that the result prints, lowers and is differentiated
// again.
//
// The rules where a function has no derivative are fixed:
// - a fan-out sums; nothing flows through StopGradient, comparisons, rounding (floor, ceil, round,
//   trunc), sign, positions, indices, conditions, integers and booleans; casts between reals pass
//   g;
// - elementwise max and min give half to each side of a tie, reductions and scatters by max and min
//   split evenly among all elements equal to the result; if the result is NaN, nothing flows;
// - abs has the gradient 0 at 0; pow has 0 in x if the exponent is 0, and 0 in the exponent if x is
//   0 and the exponent is >= 0; sqrt and the like are infinite where their derivative is;
// - prod multiplies the other factors, so that zeros are right, to any order, at quadratic cost;
// - a scatter by set gives g to the last write and to elements that no write reached;
// - where keeps the branch that was not taken out of the gradient, also if that branch is NaN:
//   its 0 stays 0 through all element-wise operations, until a sum combines it with others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// The gradient at a kink, where the slopes on its sides differ: at equal arguments of a max or
/// min, at the 0 of abs, and where a comparison of equal reals decides between equal values. A
/// generalised gradient may have anything between those of the sides, of which `least` and
/// `greatest` are the ends for each term: max(x, 0) has 0 and g at x = 0.
enum class AtKinks : std::uint8_t {
  usual,    ///< as the rules above say
  least,    ///< the lesser of 0 and g; -|g| for abs; comparisons decide as the program's do
  greatest  ///< the greater of 0 and g; |g| for abs; comparisons decide the other way
};

/// The gradients that are requested and the tensors that may be read. Names are those of the
/// program's inputs and outputs.
struct GradientRequest {
  std::vector<std::string> wrt;   ///< inputs whose gradients are requested; empty: every real one
  std::vector<std::string> from;  ///< outputs that have a gradient; empty: every real one
  std::optional<std::vector<std::string>> inputs;  ///< inputs that may be read; nullopt: all
  /// Outputs whose values are given, each as an input of its name, and read if they save work. They
  /// are as narrow as their dtype: a maximum that must be found again by comparison is computed
  /// anew if that would matter.
  std::vector<std::string> outputs;
  std::string name;  ///< name of the result; empty: "<program>.grad"
  AtKinks at_kinks = AtKinks::usual;
};

/// The part of a tensor that is needed: its shape alone, if a size follows from nothing else.
enum class Need : std::uint8_t { none, shape, value };

struct Gradient {
  /// Inputs: g<output> for each output, the program's inputs, its outputs, as far as they are
  /// needed; outputs: g<input> in the order requested. A name that is taken, a word of the program
  /// text, or the name of an input that ends in a digit gets "_" appended. Parameters are the
  /// program's. An axis of an input that may be 1 and repeats has its full extent in the gradient:
  /// the caller that repeated it sums over it.
  Program program;
  std::vector<Need> gradients;  ///< for the program's outputs, by position: is g<output> needed?
  std::vector<Need> inputs;     ///< by position
  std::vector<Need> outputs;    ///< by position
  std::vector<std::string>
      gradient_names;  ///< names of the inputs g<output>, by position; "" if not requested
};

/// Returns gx[j] = sum over all outputs y and their elements i of gy[i] * dy[i]/dx[j]. An input
/// that no output depends on has a gradient of zeros. Throws Error for a name that does not exist
/// or is given twice, a gradient of or from a tensor that is not real, and an input that is needed
/// and not given.
Gradient gradient(const Program& program, const GradientRequest& request = {});

/// Returns the outputs to give so that the gradient has less to compute: each one without which it
/// would have more sums and functions, or the same number and more tensors to read. request.outputs
/// is ignored.
std::vector<std::string> outputs_that_spare(const Program& program, GradientRequest request = {});

/// Returns the gradient as a kernel computes it: invert(gradient(…)), given the outputs that save
/// work if the request gives none. compile() makes its loops.
Gradient gradient_kernel(const Program& program, GradientRequest request = {});

}  // namespace mote
