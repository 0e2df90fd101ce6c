// SPDX-License-Identifier: Apache-2.0
// A gradient of the catalogue as a function of the op's own inputs, and the derivatives that its
// outputs stand for, by dual numbers (tests/uops/dual.h). The gradient's bound must contain them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cases.h"
#include "dual.h"

namespace mote::test {

/// An op, and its gradient with the given outputs replaced by the op's body. The gradient's inputs
/// are the gradients of the op's outputs, then the op's inputs.
struct GradientOfOp {
  std::shared_ptr<const Program> op;
  Program gradient;
  /// The position of each op output's gradient among the gradient's inputs; nullopt if it has none,
  /// which means 0.
  std::vector<std::optional<std::size_t>> from;
  std::vector<std::size_t> inputs;  ///< the position of each op input in the gradient
  std::vector<std::size_t> wrt;     ///< the op's input of each output of the gradient
};
/// Composes the program of an instance of gradient_of(record) in that dtype.
GradientOfOp gradient_of_op(const OpRecord& record, DType dtype, const Program& gradient);

/// Draws data for all inputs with the case's sizes; an axis that may repeat has its full extent.
std::vector<Array> draw_operands(const GradientOfOp& g, const Case& c, bool wide, Data kind,
                                 std::uint64_t seed);

/// The derivative of element `at` of the gradient's output k: the sum of gy*dy/dx over all of the
/// op's outputs.
struct Derivative {
  bool finite = false;
  Quad value = 0;
  std::uint64_t decisions = 0;
};
/// Evaluates at the inputs moved by the relative `step`, all in one direction drawn from the seed.
Derivative derivative(const GradientOfOp& g, const std::vector<Array>& operands,
                      const std::map<std::string, Number>& params, std::size_t k, std::size_t at,
                      double step = 0);

}  // namespace mote::test
