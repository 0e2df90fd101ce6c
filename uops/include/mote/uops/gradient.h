// SPDX-License-Identifier: Apache-2.0
// The gradient of a program, as another program: |gy|x|y| -> |gx|. One reverse walk over one table
// of rules, uops in and uops out, so that the result prints, lowers and is differentiated again.
//
// What is pinned where a function has no derivative:
// - a fan-out sums; nothing flows through StopGradient, comparisons, rounding (floor, ceil, round,
//   trunc), sign, positions, indices, conditions, integers and booleans; casts between reals pass
//   g;
// - elementwise max and min give half to each side of a tie, reductions and scatters by max and min
//   split evenly among all that are equal to the result; where the result is NaN nothing flows;
// - abs has the gradient 0 at 0; pow has 0 in x where the exponent is 0, and 0 in the exponent
// where
//   x is 0 and the exponent is >= 0; sqrt and the like are infinite where their derivative is;
// - prod multiplies the other factors, so that zeros are right, to any order, at quadratic cost;
// - a scatter by set gives g to the last write and to what no write reached;
// - where keeps the branch that was not taken out of the gradient, also where that branch is NaN:
//   its 0 stays 0 through everything element-wise, until a sum joins it with others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// What is asked for and what may be read. Names are those of the program's inputs and outputs.
struct GradientRequest {
  std::vector<std::string> wrt;   ///< inputs whose gradients are asked for; empty: every real one
  std::vector<std::string> from;  ///< outputs that have a gradient; empty: every real one
  std::optional<std::vector<std::string>> inputs;  ///< those that may be read; nullopt: all
  /// Outputs whose values are given, each as an input of its name, and read where they spare work.
  /// They are as narrow as their dtype: a maximum that must be found again by comparison is
  /// computed anew where that would matter.
  std::vector<std::string> outputs;
  std::string name;  ///< of the result; empty: "<program>.grad"
};

/// How a tensor is needed: its shape alone is, where a size follows from nothing else.
enum class Need : std::uint8_t { none, shape, value };

struct Gradient {
  /// Inputs: g<output> for each output, the program's inputs, its outputs, as far as they are
  /// needed; outputs: g<input> in the order asked for. A name that is taken, a word of the program
  /// text, or an input's that ends in a digit gets "_" behind it. Parameters are the program's. An
  /// input's axis that may be 1 and repeats has its full extent in the gradient: who repeated it
  /// sums over it.
  Program program;
  std::vector<Need> gradients;  ///< of the program's outputs, by position: is g<output> needed?
  std::vector<Need> inputs;     ///< by position
  std::vector<Need> outputs;    ///< by position
  std::vector<std::string>
      gradient_names;  ///< of the inputs g<output>, by position; "" if not asked
};

/// gx[j] = sum over all outputs y and their elements i of gy[i] * dy[i]/dx[j]. An input that no
/// output depends on has a gradient of zeros. Throws Error for a name that is not there or given
/// twice, a gradient of or from what is not real, and an input that is needed and not given.
Gradient gradient(const Program& program, const GradientRequest& request = {});

/// The outputs to give, so that the gradient has less to compute: each one without which there
/// would be more sums and functions in it, or as many and more tensors to read. request.outputs
/// counts for nothing.
std::vector<std::string> outputs_that_spare(const Program& program, GradientRequest request = {});

/// The gradient as a kernel computes it: invert(gradient(…)), with the outputs given that spare
/// work where the request gives none. compile() makes its loops.
Gradient gradient_kernel(const Program& program, GradientRequest request = {});

}  // namespace mote
