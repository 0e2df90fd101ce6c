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

long double sum_of(const SymbolicGraph& graph, const std::vector<TensorBinding>& bindings,
                   TensorSymbol f) {
  long double sum = 0;
  for (const double value : numbers(evaluate(graph, bindings, std::vector{f})[0])) sum += value;
  return sum;
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

Tensor counted(const AxisList& shape) {
  Numbers values;
  for_each_index(shape, [&](const AxisList&, std::size_t k) {
    const double turn = 0.7548776662466927 * static_cast<double>(k + 1);  // low discrepancy
    const double part = turn - std::floor(turn);
    values.push_back(static_cast<double>(k % 4) - 2 + 0.125 + 0.75 * part);
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

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const StatusError& e) {
    return e.what();
  }
  return "";
}

void expect_central_differences(const SymbolicGraph& graph,
                                const std::vector<TensorBinding>& bindings, TensorSymbol f,
                                const std::vector<TensorSymbol>& wrt,
                                const std::vector<TensorSymbol>& gradients) {
  const std::vector<Tensor> values = evaluate(graph, bindings, gradients);
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
        const long double above = sum_of(graph, moved, f);
        moved[at].second.set(index, x - step);
        return static_cast<double>((above - sum_of(graph, moved, f)) / (2 * step));
      };
      // Differences at h, h/2 and h/4 have errors c h^2, c h^2/4, c h^2/16, so two of them tell the
      // third one's: what is left after Richardson's extrapolation is smaller than their distance.
      const double step = 0x1p-9;
      const double a = difference(step);
      const double b = difference(step / 2);
      const double c = difference(step / 4);
      const double first = b + (b - a) / 3;
      const double limit = c + (c - b) / 3;
      // Rounding of f at the least step.
      const double scale =
          std::fabs(static_cast<double>(sum_of(graph, bindings, f))) + std::fabs(limit) + 1;
      const double rounding = 0x1p-52 * 64 * scale / (step / 4);
      EXPECT_NEAR(got[k], limit, std::fabs(limit - first) + rounding)
          << graph.text(wrt[n]) << to_string(index);
    });
  }
}

}  // namespace mote
