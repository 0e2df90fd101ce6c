// SPDX-License-Identifier: Apache-2.0
// Compares gradients that an op's record writes by hand with the derived ones, in binary128.
#include <gtest/gtest.h>

#include <map>

#include "gradient_cases.h"
#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

using test::DualArray, test::Quad;
using Named = std::map<std::string, DualArray>;

std::vector<DualArray> inputs_of(const Program& p, const Named& all) {
  std::vector<DualArray> inputs;
  for (const Uop& u : p.inputs) inputs.push_back(all.at(std::get<uop::Input>(u.node().kind).name));
  return inputs;
}

/// Returns all values that either gradient may read: inputs, outputs without any rounding, and
/// gradients of outputs.
Named values_of(const test::GradientCase& c, const Gradient& derived, std::uint64_t seed) {
  std::vector<DualArray> inputs;
  for (const Array& a : c.inputs) inputs.push_back(test::as_dual(a));
  const std::vector<DualArray> outputs = evaluate_dual(c.program, inputs, c.params);
  Named all;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    all[std::get<uop::Input>(c.program.inputs[k].node().kind).name] = inputs[k];
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    all[c.program.outputs[k].name] = outputs[k];
    if (derived.gradient_names[k].empty()) continue;
    all[derived.gradient_names[k]] =
        test::as_dual(test::random_array(DType::f64, outputs[k].shape, seed + k));
  }
  return all;
}

bool is_finite(const Named& all) {
  for (const auto& [name, array] : all)
    for (const test::Dual& d : array.reals)
      if (d.value - d.value != 0) return false;
  return true;
}

/// Returns the gradient program in f64 for all outputs.
std::shared_ptr<const Program> gradient_program(const OpRecord& record) {
  const OpRecord& gradient = *gradient_of(record);
  return instantiate(gradient, {DType::f64, full_mask(gradient)});
}

Quad magnitude(Quad x) { return x < 0 ? -x : x; }

/// Expects that both agree to the precision of a double.
void expect_alike(const Program& written, const Program& derived, const Named& all,
                  const std::map<std::string, Number>& params, const std::string& what) {
  test::DualTrace trace;
  const auto got = evaluate_dual(written, inputs_of(written, all), params, &trace);
  const auto expected = evaluate_dual(derived, inputs_of(derived, all), params, &trace);
  // A read out of range may be -inf, which is no measure of rounding errors.
  const Quad noise = trace.noise() - trace.noise() == 0 ? trace.noise() : Quad(0);
  ASSERT_EQ(written.outputs.size(), derived.outputs.size()) << what;
  for (std::size_t k = 0; k < got.size(); ++k) {
    EXPECT_EQ(written.outputs[k].name, derived.outputs[k].name) << what;
    ASSERT_EQ(got[k].shape, expected[k].shape) << what;
    for (std::size_t n = 0; n < got[k].reals.size(); ++n) {
      const Quad a = got[k].reals[n].value, b = expected[k].reals[n].value;
      EXPECT_LE(magnitude(a - b), 0x1p-53 * (magnitude(a) + magnitude(b)) + noise)
          << what << " " << written.outputs[k].name << " element " << n << ": "
          << static_cast<double>(a) << ", derived " << static_cast<double>(b);
    }
  }
}

TEST(WrittenGradient, IsTheDerivedOne) {
  int ops = 0;
  for (const OpRecord& record : catalogue()) {
    if (!record.gradient) continue;
    ++ops;
    int judged = 0;
    const auto p = instantiate(record, {DType::f64, full_mask(record)});
    const Gradient derived = gradient(*p);
    const auto written = gradient_program(record);
    for (std::uint64_t seed = 1; seed < 60; ++seed) {
      test::GradientCase c;
      try {
        c = test::some_case(*p, seed, seed % 2 == 0);
      } catch (const Error&) {
        continue;  // for example, a window larger than the image
      }
      const Named all = values_of(c, derived, seed);
      if (!is_finite(all)) continue;  // for example, a window that lies in the pads only
      ++judged;
      expect_alike(*written, derived.program, all, c.params,
                   record.name + " seed " + std::to_string(seed));
    }
    EXPECT_GE(judged, 5) << record.name;
  }
  EXPECT_GE(ops, 8);
}

/// The derived gradient would share between equal maxima; the pools' records say that the first
/// takes all.
TEST(WrittenGradient, TheFirstMaximumGetsAllOfTheGradient) {
  const Number one(std::int64_t{1}), two(std::int64_t{2});
  const std::map<std::string, std::map<std::string, Number>> pools = {
      {"max_pool2d", {{"kernel0", two}, {"kernel1", two}}},
      {"max_pool2d_with_indices", {{"kernel0", two}, {"kernel1", two}}},
      {"global_max_pool", {}},
      {"adaptive_max_pool2d", {{"output0", one}, {"output1", one}}}};
  for (const auto& [op, params] : pools) {
    const OpRecord& record = find_op(op);
    const auto p = instantiate(record, {DType::f64, full_mask(record)});
    const Array x = {DType::f64, {1, 1, 2, 2}, std::vector<Number>(4, Number(1.0))};
    const std::vector<Array> y = evaluate(*p, {x}, params);
    std::map<std::string, Array> all = {{"x", x}, {"gy", {DType::f64, y[0].shape, {Number(3.0)}}}};
    for (std::size_t k = 0; k < y.size(); ++k) all[p->outputs[k].name] = y[k];
    const auto gradient = gradient_program(record);
    std::vector<Array> in;
    for (const Uop& u : gradient->inputs)
      in.push_back(all.at(std::get<uop::Input>(u.node().kind).name));
    const Array expected = {
        DType::f64, {1, 1, 2, 2}, {Number(3.0), Number(0.0), Number(0.0), Number(0.0)}};
    EXPECT_EQ(evaluate(*gradient, in, params).at(0), expected) << op;
  }
}

}  // namespace
}  // namespace mote
