// SPDX-License-Identifier: Apache-2.0
// Tests every gradient of the catalogue, of order 1 and 2, against derivatives by dual numbers in
// binary128: they lie within the ends of its bound, which are rounded to no format.
#include "gradient_truth.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mote/base/error.h"
#include "mote/oracle/exactness.h"

namespace mote::test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// The number of kinds of data; the last has all magnitudes up to 200, where exp overflows f32.
constexpr std::int64_t kTruthKinds = kDataKinds;

struct Held {
  std::int64_t elements = 0;  ///< elements with a finite derivative
  std::int64_t judged = 0;    ///< those of them with a known bound
  std::int64_t missed = 0, kinks = 0;
};

bool holds_quad(double lo, double hi, Quad x) {
  constexpr double kGreatestMagnitude = std::numeric_limits<double>::max();
  if (x > Quad(kGreatestMagnitude)) return hi >= kGreatestMagnitude;
  if (x < Quad(-kGreatestMagnitude)) return lo <= -kGreatestMagnitude;
  return Quad(lo) <= x && x <= Quad(hi);
}

/// True if the derivatives to both sides differ, or the decisions do: then there is no derivative.
bool is_kink(const GradientOfOp& g, const std::vector<Array>& operands,
             const std::map<std::string, Number>& params, std::size_t k, std::size_t at) {
  constexpr double kStep = 0x1p-50;
  const Derivative here = derivative(g, operands, params, k, at);
  for (const double step : {kStep, -kStep}) {
    const Derivative near = derivative(g, operands, params, k, at, step);
    if (near.decisions != here.decisions) return true;
    const Quad size = absolute(near.value) + absolute(here.value);
    if (absolute(near.value - here.value) > size * 0x1p-20) return true;
  }
  return false;
}

void expect_derivatives(const GradientOfOp& g, const Program& b, const std::vector<Array>& operands,
                        const std::map<std::string, Number>& params, std::uint64_t seed,
                        const std::string& what, Held& held) {
  constexpr std::uint64_t kSamples = 3;
  const Bounds bounds = bounds_of(b, operands, params);
  for (std::size_t k = 0; k < g.gradient.outputs.size(); ++k) {
    const Array &lo = bounds.ends[2 * k], &hi = bounds.ends[2 * k + 1];
    const std::uint64_t count = lo.values.size(),
                        step = std::max<std::uint64_t>(count / kSamples, 1);
    for (std::uint64_t at = seed % step; at < count; at += step) {
      const Derivative d = derivative(g, operands, params, k, at);
      if (!d.finite) continue;
      ++held.elements;
      const double l = lo.values[at].real(), h = hi.values[at].real();
      if (l == -kInfinite && h == kInfinite) continue;
      ++held.judged;
      if (holds_quad(l, h, d.value)) continue;
      if (is_kink(g, operands, params, k, at)) {
        ++held.kinks;
        continue;
      }
      if (++held.missed > 20) continue;
      ADD_FAILURE() << what << "\n  " << g.gradient.outputs[k].name << "[" << at << "]: "
                    << fmt::format("{} is not in [{}, {}]", static_cast<double>(d.value), l, h);
      return;
    }
  }
}

bool has_elements(const Case& c) {
  const auto empty = [](const CaseTensor& t) { return volume(t.shape) == 0; };
  return std::ranges::none_of(c.inputs, empty) && std::ranges::none_of(c.outputs, empty);
}

/// Returns the smallest of some cases, since one gradient takes many evaluations. None is empty: an
/// empty sum times an infinite slope is 0 in fact and NaN by the rules.
std::optional<Case> small_case(const OpRecord& record, std::int64_t round) {
  std::optional<Case> least;
  double least_size = 0;
  for (std::int64_t n = 0; n < 8; ++n) {
    auto c = draw_case(record, DType::f32, round + 1000 * n);
    if (!c || !has_elements(*c)) continue;
    const double size = multiply_adds(*c->program, c->binding);
    if (least && least_size <= size) continue;
    least = std::move(c);
    least_size = size;
    if (size <= 100) break;
  }
  return least;
}

/// The gradients of a record's instances, and their bounds.
class TruthOf {
 public:
  TruthOf(const OpRecord& op, const OpRecord& gradient) : op_(op), gradient_(gradient) {}

  void judge_case(std::int64_t round) {
    const auto c = small_case(gradient_, round);
    if (!c) return;
    const auto& [g, b] = programs(*c);
    const std::int64_t kind = round % kTruthKinds;
    const bool wide = kind == kTruthKinds - 1;
    const auto seed = static_cast<std::uint64_t>(round) * 6151 + 5;
    std::vector<Array> operands =
        draw_operands(g, *c, wide, wide ? Data::uniform : static_cast<Data>(kind), seed);
    const std::string what = fmt::format("{} data {}", to_string(*c), kind);
    const std::int64_t before = held.elements;
    expect_derivatives(g, b, operands, c->params, seed, what, held);
    if (held.elements > before) return;
    // Roots and logarithms have no derivative where an element is below 0.
    for (const std::size_t k : g.wrt)
      for (Number& n : operands[g.inputs[k]].values) n = Number(std::fabs(n.real()));
    expect_derivatives(g, b, operands, c->params, seed, what + ", magnitudes", held);
  }

  Held held;

 private:
  using Programs = std::pair<GradientOfOp, Program>;
  const Programs& programs(const Case& c) {
    auto [at, fresh] = known_.try_emplace(c.instance.input_mask);
    if (fresh) {
      at->second.first = gradient_of_op(op_, c.instance.dtype, *c.program);
      at->second.second = bound(at->second.first.gradient);
    }
    return at->second;
  }

  const OpRecord& op_;
  const OpRecord& gradient_;
  std::map<TensorMask, Programs> known_;
};

void expect_gradients_held(int order) {
  const std::int64_t rounds = setting("MOTE_TRUTH_ROUNDS", 1);
  Held all;
  std::int64_t ops = 0;
  for (const OpRecord* gradient : generated_ops()) {
    if (gradient_order(*gradient) != order || !is_wanted(gradient->name)) continue;
    if (std::ranges::find(gradient->dtypes, DType::f32) == gradient->dtypes.end()) continue;
    if (gradient->name.starts_with("cast_")) continue;  // a cast rounds, and real numbers do not
    const OpRecord& op = find_op(gradient->name.substr(0, gradient->name.rfind(".grad")));
    TruthOf truth(op, *gradient);
    // Each op takes a half or a third of the kinds of data, with an offset that differs from op to
    // op.
    const std::int64_t step = order + 1;
    for (std::int64_t round = ops % step; round < rounds * kTruthKinds; round += step)
      truth.judge_case(round);
    const Held& held = truth.held;
    EXPECT_GE(5 * held.judged, held.elements) << gradient->name;
    EXPECT_GE(held.judged, 2 * rounds) << gradient->name;
    ++ops;
    all.elements += held.elements;
    all.judged += held.judged;
    all.missed += held.missed;
    all.kinks += held.kinks;
  }
  fmt::print(
      "order {}: {} gradients, {} derivatives, {} judged, {} at kinks, {} beyond the bound\n",
      order, ops, all.elements, all.judged, all.kinks, all.missed);
  // Elements with an unknown bound and kinks are left out and counted.
  EXPECT_GE(100 * all.judged, 95 * all.elements);
  EXPECT_LE(100 * all.kinks, all.elements);
}

TEST(GradientTruth, LiesWithinTheBoundOfEveryGradient) { expect_gradients_held(1); }

TEST(GradientTruth, LiesWithinTheBoundOfSecondGradients) { expect_gradients_held(2); }

}  // namespace
}  // namespace mote::test
