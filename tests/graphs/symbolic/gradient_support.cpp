// SPDX-License-Identifier: Apache-2.0
#include "gradient_support.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mote/runtime/status.h"
#include "mote/symbolic/evaluate.h"

namespace mote {
namespace {

template <typename Function>
void for_each_index(const AxisList& shape, const Function& function) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  for (std::int64_t k = 0; k < count; ++k) {
    AxisList index = shape;
    std::int64_t rest = k;
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    function(index, static_cast<std::size_t>(k));
  }
}

struct Evaluated {
  long double sum = 0;
  long double magnitude = 0;  ///< the sum of absolute values
};
Evaluated evaluated(const SymbolicGraph& graph, const std::vector<TensorBinding>& bindings,
                    const WeightedSum& f) {
  Evaluated result;
  const std::vector<Tensor> values = evaluate(graph, bindings, f.of);
  for (std::size_t n = 0; n < values.size(); ++n) {
    const Numbers elements = numbers(values[n]);
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const long double term = (f.weights.empty() ? 1.0L : f.weights[n][k]) * elements[k];
      result.sum += term;
      result.magnitude += std::fabs(term);
    }
  }
  return result;
}

}  // namespace

Tensor real(const Numbers& values, const AxisList& shape) {
  Tensor tensor(DType::f64, shape);
  for_each_index(shape,
                 [&](const AxisList& index, std::size_t k) { tensor.set(index, values[k]); });
  return tensor;
}

Tensor real(const Numbers& values) {
  return real(values, {static_cast<std::int64_t>(values.size())});
}

Tensor counted(const AxisList& shape, double lowest, double highest, int turn) {
  Numbers values;
  for_each_index(shape, [&](const AxisList&, std::size_t k) {
    // A sequence of low discrepancy: elements of one tensor keep away from each other.
    const double at = 0.6180339887498949 * static_cast<double>(k + 1) + 0.2360679774997898 * turn;
    values.push_back(lowest + (highest - lowest) * (at - std::floor(at)));
  });
  return real(values, shape);
}

Numbers numbers(const Tensor& tensor) {
  Numbers values;
  for_each_index(tensor.shape(), [&](const AxisList& index, std::size_t) {
    values.push_back(is_real(tensor.dtype()) ? tensor.real_at(index)
                                             : static_cast<double>(tensor.integer_at(index)));
  });
  return values;
}

void expect_central_differences(const SymbolicGraph& graph,
                                const std::vector<TensorBinding>& bindings, const WeightedSum& f,
                                const std::vector<TensorSymbol>& wrt,
                                const std::vector<TensorSymbol>& gradients) {
  const std::vector<Tensor> values = evaluate(graph, bindings, gradients);
  const auto magnitude = static_cast<double>(evaluated(graph, bindings, f).magnitude);
  for (std::size_t n = 0; n < wrt.size(); ++n) {
    std::size_t at = 0;
    while (bindings[at].first != wrt[n]) ++at;
    const Numbers got = numbers(values[n]);
    for_each_index(bindings[at].second.shape(), [&](const AxisList& index, std::size_t k) {
      const auto difference = [&](double step) {
        std::vector<TensorBinding> moved = bindings;
        moved[at].second = clone(bindings[at].second);
        const double x = moved[at].second.real_at(index);
        moved[at].second.set(index, x + step);
        const long double above = evaluated(graph, moved, f).sum;
        moved[at].second.set(index, x - step);
        return static_cast<double>((above - evaluated(graph, moved, f).sum) / (2 * step));
      };
      // Differences at h, h/2 and h/4 have errors c h^2, c h^2/4, c h^2/16, so two of them tell the
      // third one's: what is left after Richardson's extrapolation is smaller than their distance.
      const double step = 0x1p-9;
      const double a = difference(step);
      const double b = difference(step / 2);
      const double c = difference(step / 4);
      const double first = b + (b - a) / 3;
      const double limit = c + (c - b) / 3;
      // Some roundings of each term of f, divided by the least step.
      const double rounding = 0x1p-52 * 16 * (magnitude + std::fabs(limit)) / (step / 4);
      EXPECT_NEAR(got[k], limit, std::fabs(limit - first) + rounding)
          << graph.text(wrt[n]) << to_string(index);
    });
  }
}

}  // namespace mote
