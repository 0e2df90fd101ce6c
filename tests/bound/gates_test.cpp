// SPDX-License-Identifier: Apache-2.0
// Tests the bound of gradients of gates far from 0: exp(-gate) overflows below about -88.
#include <gtest/gtest.h>

#include <cmath>

#include "bound_ends.h"
#include "judge.h"
#include "mote/macroops/catalogue.h"

namespace mote::test {
namespace {

const std::vector<double> kGates = {-1e30, -1000, -200, -100, -89, -60, -45,  -20, 0,
                                    20,    45,    60,   89,   100, 200, 1000, 1e30};

/// Returns the record's inputs: its gates, and for each other input one number throughout.
std::vector<Array> inputs_of(const Program& p, const std::string& gate) {
  const auto count = static_cast<std::int64_t>(kGates.size());
  std::vector<Array> inputs;
  double other = 1.25;
  for (const Uop& u : p.inputs) {
    const std::string& name = std::get<uop::Input>(u.node().kind).name;
    const std::vector<double> same(kGates.size(), other);
    inputs.push_back(array_of(u.dtype(), {1, 1, 1, count}, name == gate ? kGates : same));
    other = -other * 0.75;
  }
  return inputs;
}

void expect_known(const OpRecord& record, const std::string& gate) {
  const Program& p = *instantiate(record, {DType::f32, full_mask(record)});
  const std::vector<Array> inputs = inputs_of(p, gate);
  const std::vector<Array> reference = evaluate(p, inputs, {});
  const Verdicts v = judge(bounds_of(bound(p), inputs, {}), reference, reference);
  EXPECT_EQ(v.refused, 0) << record.name << ": " << v.first;
  EXPECT_EQ(v.indeterminate, 0) << record.name;
  for (const Array& a : reference)
    for (const Number& n : a.values) EXPECT_TRUE(std::isfinite(n.real())) << record.name;
}

TEST(BoundOfGates, IsKnownWhereTheExponentialOverflows) {
  for (const auto& [op, gate] : {std::pair("glu", "gate"), std::pair("swiglu", "gate"),
                                 std::pair("silu", "x"), std::pair("softplus", "x")}) {
    const OpRecord& first = *gradient_of(find_op(op));
    expect_known(first, gate);
    expect_known(*gradient_of(first), gate);
  }
}

}  // namespace
}  // namespace mote::test
