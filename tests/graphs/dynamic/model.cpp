// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace mote::test {

bool model_no_gradient = false;

namespace {

constexpr double kMax = 1e5;

std::int64_t size_of_shape(const AxisList& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

Model make(const AxisList& shape, std::vector<double> elements, std::vector<Model> inputs,
           ModelGradient gradient) {
  for (const double x : elements)
    if (std::abs(x) > kMax) throw ModelTooLarge();
  Model made = model_leaf(shape, std::move(elements), false);
  const auto is_traced = [](const Model& input) { return input->is_traced; };
  if (model_no_gradient || std::ranges::none_of(inputs, is_traced)) return made;
  auto traced = std::make_shared<ModelValue>(*made);
  traced->is_traced = true;
  traced->inputs = std::move(inputs);
  traced->gradient = std::move(gradient);
  return traced;
}

/// Returns a tensor that has the elements, so that views need not be invented again.
Tensor tensor_of(const Model& x) {
  const Tensor tensor(DType::f64, x->shape);
  std::ranges::copy(x->elements, static_cast<double*>(tensor.data()));
  return tensor;
}

std::vector<double> elements_of(const Tensor& x) {
  const Tensor plain = clone(x);
  const auto* first = static_cast<const double*>(plain.data());
  return {first, first + plain.element_count()};
}

AxisList common_shape(const AxisList& x, const AxisList& y) {
  const AxisList& longer = x.size() >= y.size() ? x : y;
  const AxisList& shorter = x.size() >= y.size() ? y : x;
  AxisList shape = longer;
  const int missing = longer.size() - shorter.size();
  for (int axis = 0; axis < shorter.size(); ++axis)
    shape[axis + missing] = std::max(shape[axis + missing], shorter[axis]);
  return shape;
}

Model reshaped(const Model& x, const AxisList& shape) {
  return model_view(x, {ViewKind::reshape, shape});
}

/// Sums what broadcasting has repeated.
Model summed_to(Model x, const AxisList& shape) {
  const int missing = x->shape.size() - shape.size();
  for (int axis = x->shape.size(); axis-- > 0;)
    if (axis < missing || (shape[axis - missing] == 1 && x->shape[axis] != 1))
      x = model_sum(x, axis);
  return x->shape == shape ? x : reshaped(x, shape);
}

template <typename F>
std::vector<double> pointwise(const Model& x, const Model& y, const AxisList& shape, const F& f) {
  const std::vector<double> a = elements_of(tensor_of(x).broadcast_to(shape));
  const std::vector<double> b = elements_of(tensor_of(y).broadcast_to(shape));
  std::vector<double> z(a.size());
  for (std::size_t k = 0; k < z.size(); ++k) z[k] = f(a[k], b[k]);
  return z;
}

Tensor view_of(Tensor x, const std::vector<ViewStep>& views) {
  for (const ViewStep& step : views) x = apply(step, x);
  return x;
}

Model transposed(const Model& x) { return model_view(x, {ViewKind::permute, {1, 0}}); }

}  // namespace

Model model_leaf(const AxisList& shape, std::vector<double> elements, bool is_traced) {
  static std::uint64_t last = 0;
  return std::make_shared<ModelValue>(ModelValue{
      .id = ++last, .shape = shape, .elements = std::move(elements), .is_traced = is_traced});
}

Model model_zeros(const AxisList& shape) {
  return model_leaf(shape, std::vector<double>(static_cast<std::size_t>(size_of_shape(shape))),
                    false);
}

Model model_detached(const Model& x, bool is_traced) {
  return model_leaf(x->shape, x->elements, is_traced);
}

Model model_add(const Model& x, const Model& y) {
  const AxisList shape = common_shape(x->shape, y->shape);
  return make(shape, pointwise(x, y, shape, std::plus<>()), {x, y}, [=](const Model& g) {
    return std::vector{summed_to(g, x->shape), summed_to(g, y->shape)};
  });
}

Model model_sub(const Model& x, const Model& y) {
  const AxisList shape = common_shape(x->shape, y->shape);
  return make(shape, pointwise(x, y, shape, std::minus<>()), {x, y}, [=](const Model& g) {
    return std::vector{summed_to(g, x->shape), model_neg(summed_to(g, y->shape))};
  });
}

Model model_mul(const Model& x, const Model& y) {
  const AxisList shape = common_shape(x->shape, y->shape);
  return make(shape, pointwise(x, y, shape, std::multiplies<>()), {x, y}, [=](const Model& g) {
    return std::vector{summed_to(model_mul(g, y), x->shape), summed_to(model_mul(g, x), y->shape)};
  });
}

Model model_neg(const Model& x) {
  std::vector<double> elements = x->elements;
  for (double& element : elements) element = -element;
  return make(x->shape, std::move(elements), {x},
              [](const Model& g) { return std::vector{model_neg(g)}; });
}

Model model_matmul(const Model& x, const Model& y) {
  const auto m = static_cast<std::size_t>(x->shape[0]), k = static_cast<std::size_t>(x->shape[1]);
  const auto n = static_cast<std::size_t>(y->shape[1]);
  std::vector<double> z(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < k; ++l)
        z[i * n + j] += x->elements[i * k + l] * y->elements[l * n + j];
  return make({x->shape[0], y->shape[1]}, std::move(z), {x, y}, [=](const Model& g) {
    return std::vector{model_matmul(g, transposed(y)), model_matmul(transposed(x), g)};
  });
}

Model model_sum(const Model& x, int axis) {
  AxisList shape, kept = x->shape;
  kept[axis] = 1;
  for (int k = 0; k < kept.size(); ++k)
    if (k != axis) shape.push_back(kept[k]);
  const Tensor from = tensor_of(x);
  std::vector<double> sums(static_cast<std::size_t>(size_of_shape(shape)));
  for (std::int64_t k = 0; k < x->shape[axis]; ++k) {
    const std::vector<double> part = elements_of(from.select(axis, k));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
  }
  return make(shape, std::move(sums), {x}, [=](const Model& g) {
    return std::vector{model_view(reshaped(g, kept), {ViewKind::broadcast, x->shape})};
  });
}

Model model_view(const Model& x, const ViewStep& step) {
  const Tensor view = apply(step, tensor_of(x));
  return make(view.shape(), elements_of(view), {x}, [=](const Model& g) -> std::vector<Model> {
    switch (step.kind) {
      case ViewKind::broadcast:
        return {summed_to(g, x->shape)};
      case ViewKind::reshape:
        return {reshaped(g, x->shape)};
      default:
        return {model_replace(model_zeros(x->shape), {step}, g)};
    }
  });
}

Model model_replace(const Model& x, const std::vector<ViewStep>& views, const Model& part) {
  const Tensor whole = tensor_of(x);
  copy(tensor_of(part), view_of(whole, views));
  return make(x->shape, elements_of(whole), {x, part}, [=](const Model& g) {
    Model of_part = g;
    for (const ViewStep& step : views) of_part = model_view(of_part, step);
    return std::vector{model_replace(g, views, model_zeros(part->shape)), of_part};
  });
}

std::vector<Model> model_backward(const std::vector<Model>& of, const std::vector<Model>& seeds,
                                  const std::vector<Model>& wrt) {
  // The values that `of` depends on, the latest first.
  std::map<std::uint64_t, Model, std::greater<>> open;
  std::map<std::uint64_t, Model> gradients;
  const auto add = [&](const Model& x, const Model& gradient) {
    if (!x->is_traced) return;
    Model& sum = gradients[x->id];
    sum = sum ? model_add(sum, gradient) : gradient;
    open[x->id] = x;
  };
  for (std::size_t k = 0; k < of.size(); ++k) add(of[k], seeds[k]);
  while (!open.empty()) {
    const Model value = open.begin()->second;
    open.erase(open.begin());
    if (!value->gradient) continue;
    const std::vector<Model> found = value->gradient(gradients[value->id]);
    for (std::size_t k = 0; k < found.size(); ++k) add(value->inputs[k], found[k]);
  }
  std::vector<Model> results;
  for (const Model& x : wrt) {
    const auto found = gradients.find(x->id);
    results.push_back(found == gradients.end() ? model_zeros(x->shape) : found->second);
  }
  return results;
}

bool model_has_effect(const Model& x, const Model& y) {
  std::vector<Model> open{y};
  std::set<std::uint64_t> seen;
  while (!open.empty()) {
    const Model value = open.back();
    open.pop_back();
    if (!value->is_traced || !seen.insert(value->id).second) continue;
    if (value->id == x->id) return true;
    open.insert(open.end(), value->inputs.begin(), value->inputs.end());
  }
  return false;
}

}  // namespace mote::test
