// SPDX-License-Identifier: Apache-2.0
// A gradient of the catalogue as a function of the op's own inputs, and the derivatives that its
// outputs stand for, by dual numbers (tests/uops/dual.h): what its bound must hold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cases.h"
#include "dual.h"

namespace mote::test {

/// An op, and its gradient with the op's body in the place of the outputs that the gradient is
/// given. Its inputs are the gradients of the op's outputs, then the op's inputs.
struct GradientOfOp {
  std::shared_ptr<const Program> op;
  Program gradient;
  /// Of each output of the op: the gradient's input that is its gradient; nullopt: none, as of 0.
  std::vector<std::optional<std::size_t>> from;
  std::vector<std::size_t> inputs;  ///< of each input of the op: its position in the gradient
  std::vector<std::size_t> wrt;     ///< of each output of the gradient: the op's input
};
/// Of the program of an instance of gradient_of(record), in that dtype.
GradientOfOp gradient_of_op(const OpRecord& record, DType dtype, const Program& gradient);

/// Data for all inputs, those of the case's sizes; an axis that may repeat has its full extent.
std::vector<Array> draw_operands(const GradientOfOp& g, const Case& c, bool wide, Data kind,
                                 std::uint64_t seed);

/// Of element `at` of the gradient's output k: sum of gy*dy/dx over all of the op's outputs.
struct Derivative {
  bool finite = false;
  Quad value = 0;
  std::uint64_t decisions = 0;
};
/// At the inputs moved by `step` of themselves, all in one direction drawn from the seed.
Derivative derivative(const GradientOfOp& g, const std::vector<Array>& operands,
                      const std::map<std::string, Number>& params, std::size_t k, std::size_t at,
                      double step = 0);

}  // namespace mote::test
