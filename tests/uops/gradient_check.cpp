// SPDX-License-Identifier: Apache-2.0
// Computes inner products and central differences of gradients.
#include "gradient_check.h"

#include <fmt/format.h>

#include <cmath>

namespace mote::test {
namespace {

constexpr double kUnit = 0x1p-53;  ///< the relative precision of a double
/// The steps of differences, before they are halved; the small ones are for data near a kink.
constexpr double kSteps[] = {0x1p-20, 0x1p-30, 0x1p-40};

std::uint64_t mix(std::uint64_t z) {
  z = (z + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

bool finite(Quad x) { return x - x == 0; }

/// A sum of products, and the sum of their magnitudes.
struct Product {
  Quad value = 0;
  Quad magnitude = 0;
  bool all_finite = true;  ///< intermediate values too
  Quad noise = 0;
  std::uint64_t decisions = 0;

  void add(Quad x) {
    value += x;
    magnitude += absolute(x);
  }
};

/// Computes the sum of a*b; if b has an axis of extent 1 and a has not, b repeats.
Product inner(const DualArray& a, const std::vector<Quad>& b,
              const std::vector<std::int64_t>& b_shape) {
  Product sum;
  const std::size_t missing = a.shape.size() - b_shape.size();
  for (std::size_t n = 0; n < a.reals.size(); ++n) {
    std::int64_t rest = static_cast<std::int64_t>(n), at = 0, stride = 1;
    for (std::size_t k = a.shape.size(); k-- > 0; rest /= a.shape[k]) {
      if (k < missing) continue;
      const std::int64_t extent = b_shape[k - missing];
      at += extent == 1 ? 0 : rest % a.shape[k] * stride;
      stride *= extent;
    }
    sum.add(a.reals[n].value * b[static_cast<std::size_t>(at)]);
  }
  return sum;
}

/// Returns the allowed difference of two results: the precision of a double, or the noise of
/// binary128.
Quad allowed(const Product& a, const Product& b) {
  return kUnit * (a.magnitude + b.magnitude) + a.noise + b.noise;
}

/// The program on its data, with random directions v of its real inputs and g of its outputs.
class Setting {
 public:
  Setting(const GradientCase& c, std::uint64_t seed)
      : c_(c), next_(gradient_case(c, seed)), seed_(seed) {
    for (const Array& a : c.inputs) {
      inputs_.push_back(as_dual(a));
      const Array v = random_array(DType::f64, a.shape, mix(seed++));
      for (std::size_t k = 0; k < inputs_.back().reals.size(); ++k)
        inputs_.back().reals[k].tangent = v.values[k].real();
    }
  }

  /// Computes <g, f(x + step*v)>, or <g, J v> with step 0 and `tangent`.
  Product forward(double step, bool tangent) const {
    std::vector<DualArray> moved = inputs_;
    for (DualArray& a : moved)
      for (Dual& d : a.reals) d.value += step * d.tangent;
    DualTrace trace;
    const std::vector<DualArray> y = evaluate_dual(c_.program, moved, c_.params, &trace);
    Product sum;
    sum.all_finite = trace.finite;
    sum.decisions = trace.decisions;
    sum.noise = trace.noise();
    for (std::size_t k = 0; k < y.size(); ++k) {
      if (!is_real(y[k].dtype)) continue;
      const Array g = output_gradient(y[k].shape, y[k].dtype, k);
      for (std::size_t n = 0; n < y[k].reals.size(); ++n)
        sum.add((tangent ? y[k].reals[n].tangent : y[k].reals[n].value) * g.values[n].real());
    }
    return sum;
  }

  /// Computes <J^T g, v>.
  Product reverse() const {
    std::vector<DualArray> in;
    for (const Array& a : next_.inputs) in.push_back(as_dual(a));
    DualTrace trace;
    const std::vector<DualArray> gx = evaluate_dual(next_.program, in, c_.params, &trace);
    Product sum;
    sum.noise = trace.noise();
    std::size_t n = 0;
    for (const DualArray& x : inputs_) {
      if (!is_real(x.dtype)) continue;
      std::vector<Quad> v;
      for (const Dual& d : x.reals) v.push_back(d.tangent);
      const Product part = inner(gx.at(n++), v, x.shape);
      sum.value += part.value;
      sum.magnitude += part.magnitude;
    }
    return sum;
  }

 private:
  Array output_gradient(const std::vector<std::int64_t>& shape, DType dtype, std::size_t k) const {
    return random_array(dtype, shape, mix(seed_ ^ (0xabcdefU + k)));
  }

  const GradientCase& c_;
  GradientCase next_;
  std::uint64_t seed_;
  std::vector<DualArray> inputs_;
};

std::string text(Quad x) { return fmt::format("{:.17g}", static_cast<double>(x)); }

}  // namespace

Array random_array(DType dtype, const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  Array a{dtype, shape, {}};
  for (std::int64_t k = element_count(shape); k > 0; --k) {
    const std::uint64_t bits = mix(seed += 0x51ed27U);
    if (is_real(dtype))
      a.values.push_back(store_as(Number(static_cast<double>(bits >> 11U) * 0x1p-51 - 2), dtype));
    else
      a.values.emplace_back(static_cast<std::int64_t>(bits % (is_integer(dtype) ? 3 : 2)));
  }
  return a;
}

GradientCase gradient_case(const GradientCase& c, std::uint64_t seed,
                           const GradientRequest& request) {
  const Gradient g = gradient(c.program, request);
  GradientCase next{g.program, {}, c.params};
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Array& a : c.inputs) shapes.push_back(a.shape);
  const Binding b = mote::bind(c.program, shapes, c.params);
  for (std::size_t k = 0; k < g.gradients.size(); ++k)
    if (g.gradients[k] != Need::none)
      next.inputs.push_back(random_array(c.program.outputs[k].value.dtype(), b.outputs[k],
                                         mix(seed ^ (0xabcdefU + k))));
  for (std::size_t k = 0; k < g.inputs.size(); ++k)
    if (g.inputs[k] != Need::none) next.inputs.push_back(c.inputs[k]);
  if (request.outputs.empty()) return next;
  const std::vector<Array> y = evaluate(c.program, c.inputs, c.params);
  for (std::size_t k = 0; k < g.outputs.size(); ++k)
    if (g.outputs[k] != Need::none) next.inputs.push_back(y[k]);
  return next;
}

Judgement check_adjoint(const GradientCase& c, std::uint64_t seed) {
  const Setting s(c, seed);
  const Product forward = s.forward(0, true), primal = s.forward(0, false);
  if (!finite(forward.magnitude) || !finite(primal.magnitude)) return {};
  const Product reverse = s.reverse();
  if (!forward.all_finite && !finite(reverse.magnitude)) return {};
  const Quad error = absolute(forward.value - reverse.value);
  return {true, error <= allowed(forward, reverse),
          fmt::format("<g, J v> = {}, <J^T g, v> = {}, error {}", text(forward.value),
                      text(reverse.value), text(error))};
}

Judgement check_differences(const GradientCase& c, std::uint64_t seed) {
  const Setting s(c, seed);
  const Product reverse = s.reverse();
  const Product slope = s.forward(0, true);
  if (!finite(slope.magnitude)) return {};
  bool jumps =
      false;  // true if a comparison changes its result, so that a step or a kink is between
  const auto error = [&](double h) {
    const Product after = s.forward(h, false), before = s.forward(-h, false);
    jumps = jumps || after.decisions != slope.decisions || before.decisions != slope.decisions;
    return absolute((after.value - before.value) / (2 * h) - reverse.value);
  };
  Judgement result;
  for (const double step : kSteps) {
    jumps = false;
    const Quad first = error(step), second = error(step / 2);
    if (!finite(first) || !finite(second)) return {};
    if (jumps) continue;
    const bool exact = second <= allowed(reverse, slope) + slope.noise / step;
    const bool order = std::lround(std::log2(static_cast<double>(first / second))) >= 2;
    result = {true, exact || order,
              fmt::format("errors of differences {} and, with half the step, {}", text(first),
                          text(second))};
    if (result.agrees) break;
  }
  return result;
}

std::string check_gradient(GradientCase c, int order, std::uint64_t seed, int* judged) {
  for (int k = 1; k <= order; ++k) {
    const Judgement adjoint = check_adjoint(c, seed), differences = check_differences(c, seed);
    if (judged) *judged += int{adjoint.judged} + int{differences.judged};
    for (const Judgement& j : {adjoint, differences})
      if (!j.agrees)
        return fmt::format("order {}: {}\n{}\n{}", k, j.text, to_string(c.program),
                           to_string(gradient(c.program).program));
    if (k < order) c = gradient_case(c, seed);
    seed = mix(seed);
  }
  return "";
}

}  // namespace mote::test
