// SPDX-License-Identifier: Apache-2.0
// Tests the bound against results in real arithmetic: rounded to no format, they must lie within
// its ends, for every op, in all dtypes except 16-bit reals, for every kind of data. The reference
// in double must lie there too.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cases.h"
#include "defects.h"
#include "ground_truth.h"

namespace mote::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kGreatestMagnitude = std::numeric_limits<double>::max();

/// True if the ends contain t; a value beyond the doubles counts as infinite or as the greatest
/// double.
bool holds(const Number& lo, const Number& hi, const Truth& t) {
  if (const auto* integer = std::get_if<std::int64_t>(&t))
    return lo.integer() <= *integer && *integer <= hi.integer();
  const auto& x = std::get<mpfr::mpreal>(t);
  const double a = lo.real(), b = hi.real();
  if (a == -kInf && b == kInf) return true;
  if (mpfr::isnan(x) || std::isnan(a)) return mpfr::isnan(x) && std::isnan(a) && std::isnan(b);
  if (x > kGreatestMagnitude) return b >= kGreatestMagnitude;
  if (x < -kGreatestMagnitude) return a <= -kGreatestMagnitude;
  return x >= a && x <= b;
}

std::string text(const Truth& t) {
  if (const auto* integer = std::get_if<std::int64_t>(&t)) return std::to_string(*integer);
  return std::get<mpfr::mpreal>(t).toString(25);
}

struct Counts {
  std::int64_t elements = 0, missed = 0;
};

void expect_held(const Case& c, const Program& b, const std::vector<Array>& inputs, int kind,
                 Counts& counts) {
  const Bounds bounds = bounds_of(b, inputs, c.params);
  const std::vector<Values<Truth>> truth = ground_truth(*c.program, inputs, c.params);
  const std::vector<Array> reference = evaluate(*c.program, inputs, c.params);
  EXPECT_EQ(judge(bounds, reference, reference).refused, 0) << to_string(c) << " data " << kind;
  for (std::size_t k = 0; k < truth.size(); ++k) {
    const DType dtype = c.program->outputs[k].value.dtype();
    for (std::size_t at = 0; at < truth[k].elements.size(); ++at) {
      ++counts.elements;
      Truth t = truth[k].elements[at];
      if (auto* integer = std::get_if<std::int64_t>(&t))
        *integer = store_as(Number(*integer), dtype).integer();
      const Number &lo = bounds.ends[2 * k].values[at], &hi = bounds.ends[2 * k + 1].values[at];
      if (holds(lo, hi, t) || ++counts.missed > 20) continue;
      const auto end = [](const Number& n) {
        return n.is_real() ? fmt::format("{}", n.real()) : fmt::format("{}", n.integer());
      };
      ADD_FAILURE() << to_string(c) << " data " << kind << "\n  output " << k << " [" << at
                    << "]: " << text(t) << " is not in [" << end(lo) << ", " << end(hi) << "]";
      return;
    }
  }
}

TEST(Truth, LiesWithinTheBoundOfEveryOp) {
  const std::int64_t rounds = setting("MOTE_TRUTH_ROUNDS", 1);
  Counts counts;
  for (const OpRecord& record : catalogue()) {
    if (!is_wanted(record.name)) continue;
    for (const DType dtype : record.dtypes) {
      if (dtype == DType::f16 || dtype == DType::bf16) continue;  // these have the bound of f32
      std::map<TensorMask, Program> known;
      for (std::int64_t round = 0; round < rounds * kDataKinds; ++round) {
        const std::optional<Case> c = draw_case(record, dtype, round);
        if (!c) continue;
        auto& b = known[c->instance.input_mask];
        if (b.outputs.empty()) b = bound(*c->program);
        const auto kind = static_cast<int>(round % kDataKinds);
        const auto seed = static_cast<std::uint64_t>(round) * 104729 + 3;
        expect_held(*c, b, draw_inputs(*c, static_cast<Data>(kind), seed), kind, counts);
      }
    }
  }
  fmt::print("{} elements, {} beyond the bound\n", counts.elements, counts.missed);
  EXPECT_GT(counts.elements, 0);
}

TEST(Truth, OfADefectiveProgramDoesNot) {
  const Case c = parse_case("exp x=f32[1,1,1,64]");
  const std::vector<Array> inputs = draw_inputs(c, Data::uniform, 1);
  const Bounds bounds = bounds_of(bound(*c.program), inputs, c.params);
  for (const Defect& d : defects(*c.program)) {
    const std::vector<Truth> y = ground_truth(d.program, inputs, c.params)[0].elements;
    int missed = 0;
    for (std::size_t at = 0; at < y.size(); ++at)
      missed += holds(bounds.ends[0].values[at], bounds.ends[1].values[at], y[at]) ? 0 : 1;
    EXPECT_GT(missed, 0) << d.name;
  }
}

}  // namespace
}  // namespace mote::test
