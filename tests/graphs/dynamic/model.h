// SPDX-License-Identifier: Apache-2.0
// Says what a dynamic graph must compute, without one: values that are never changed, in memory of
// their own, and gradients by the chain rule, each made of such values again. All numbers are
// integers in doubles, so that nothing is rounded and sums may be in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mote/runtime/tensor.h"
#include "mote/symbolic/view.h"

namespace mote::test {

struct ModelValue;
using Model = std::shared_ptr<const ModelValue>;

/// Returns the gradients with respect to the inputs for the gradient of the value; none where no
/// gradient flows.
using ModelGradient = std::function<std::vector<Model>(const Model& gradient)>;

struct ModelValue {
  std::uint64_t id = 0;  ///< rises
  AxisList shape;
  std::vector<double> elements;  ///< row-major
  bool is_traced = false;
  std::vector<Model> inputs = {};  ///< of a value that is traced
  ModelGradient gradient = {};
};

/// Thrown for a value that is not small enough to be exact.
struct ModelTooLarge {};

Model model_leaf(const AxisList& shape, std::vector<double> elements, bool is_traced);
Model model_zeros(const AxisList& shape);
/// Element by element, with NumPy's broadcasting.
Model model_add(const Model& x, const Model& y);
Model model_sub(const Model& x, const Model& y);
Model model_mul(const Model& x, const Model& y);
Model model_neg(const Model& x);
/// [m, k] times [k, n].
Model model_matmul(const Model& x, const Model& y);
/// Sums along an axis, which goes.
Model model_sum(const Model& x, int axis);
Model model_view(const Model& x, const ViewStep& step);
/// Returns x with another part, which the views lead to.
Model model_replace(const Model& x, const std::vector<ViewStep>& views, const Model& part);
/// Returns the same elements, through which no gradient flows.
Model model_detached(const Model& x, bool is_traced = false);

/// Returns the gradient of sum_k <seeds[k], of[k]> with respect to each of `wrt`.
std::vector<Model> model_backward(const std::vector<Model>& of, const std::vector<Model>& seeds,
                                  const std::vector<Model>& wrt);
bool model_has_effect(const Model& x, const Model& y);

/// While true, no value remembers what it was computed from.
extern bool model_no_gradient;

}  // namespace mote::test
