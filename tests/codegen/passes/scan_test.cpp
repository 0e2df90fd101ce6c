// SPDX-License-Identifier: Apache-2.0
// Tests prefix reductions that are carried along: cumsum's schedule as a golden file, that every
// form of the inequality keeps its meaning, and loops that must stay unchanged.
#include <fmt/format.h>

#include <algorithm>

#include "mote/codegen/emit_c.h"
#include "mote/codegen/schedule.h"
#include "mote/codegen/walk.h"
#include "mote/macroops/catalogue.h"
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

/// Returns the scan steps of the last version, and what they carry.
std::vector<std::string> scans(const Schedule& s) {
  std::vector<std::string> found;
  for (const TakenStep& taken : s.versions.back().steps)
    if (taken.step.kind == StepKind::scan)
      found.push_back(to_string(taken.step) + ": " + taken.effect);
  return found;
}

/// Returns the scans of a program given as text. The sums of small numbers are exact in any order.
std::vector<std::string> scans_of(const std::string& text) {
  return scans(scheduled(compile(program(text))));
}

using Steps = std::vector<std::string>;

LoopProgram compiled_record(const OpRecord& op) {
  return compile(instantiate(op, {DType::f32, full_mask(op)}));
}

TEST(Scan, Cumsum) {
  const Schedule s = scheduled(compiled_record(find_op("cumsum")));
  expect_golden(to_string(s) + "\n" + emit_c(s, {}));
}

TEST(Scan, GradientOfCumsumRunsTheOtherWay) {
  EXPECT_EQ(scans(scheduled(compiled_record(*gradient_of(find_op("cumsum"))))),
            Steps{"scan n: carries sum of n2, backwards where 1 - $reverse is 1"});
}

/// The number of iterations is not quadratic in N, in any version.
TEST(Scan, WorkIsOneRoundForEachElement) {
  for (const Version& v : schedule(compiled_record(find_op("cumsum"))).versions) {
    const auto* l = std::get_if<Loop>(&v.program.body.front().kind);
    ASSERT_NE(l, nullptr);
    EXPECT_EQ(l->kind, LoopKind::threads);
    EXPECT_EQ(l->work, size("C") * size("N") * size("R"));
  }
}

struct Form {
  const char* name;
  const char* sum;  ///< from x f32[R, N, C] and z f32[R, N, C]; P is the shape R, N, C, k: N
  const char* step;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const Form& f, std::ostream* out) { *out << f.name; }

class ScanForms : public testing::TestWithParam<Form> {};

std::string with_p(std::string text) {
  for (std::size_t at = 0; (at = text.find('P', at)) != std::string::npos; ++at)
    text.replace(at, 1, "R, N, C, k: N");
  return text;
}

std::string op_of(const Form& f) {
  return "op form\nparam back int = 0 in 0..1\nparam gap int = 0 in 0..3\nparam any int = 0\n"
         "param whole int = 0 in 0..2\ninput x f32[R, N, C]\ninput z f32[R, N, C]\n" +
         with_p(f.sum);
}

TEST_P(ScanForms, AreCarried) { EXPECT_EQ(scans_of(op_of(GetParam())), Steps{GetParam().step}); }

constexpr Form kCarried[] = {
    {"inclusive", "output y = sum[3](where(iota(i1 - i3 over P) >= 0, x[i0, i3, i2 over P], 0))",
     "scan n: carries sum of k"},
    {"exclusive", "output y = sum[3](where(iota(i1 - i3 over P) > 0, x[i0, i3, i2 over P], 0))",
     "scan n: carries sum of k"},
    {"with_a_gap",
     "output y = sum[3](where(iota(i1 - i3 - $gap over P) >= 0, x[i0, i3, i2 over P], 0))",
     "scan n: carries sum of k"},
    {"what_is_behind",
     "output y = sum[3](where(iota(i3 - i1 over P) >= 2, x[i0, i3, i2 over P], 0))",
     "scan n: carries sum of k, backwards"},
    {"either_way_with_a_gap",
     "output y = sum[3](where(iota((2*$back - 1)*(i1 - i3) - $gap over P) >= 0, "
     "x[i0, i3, i2 over P], 0))",
     "scan n: carries sum of k, backwards where 1 - $back is 1"},
    {"greatest", "output y = max[3](where(iota(i1 - i3 over P) >= 0, x[i0, i3, i2 over P], -inf))",
     "scan n: carries max of k"},
    {"product", "output y = prod[3](where(iota(i3 - i1 over P) > 0, x[i0, i3, i2 over P], 1))",
     "scan n: carries prod of k, backwards"},
    {"between_other_things",
     "output y = z * sum[3](where(iota(i1 - i3 over P) >= 0, exp(x[i0, i3, i2 over P]), 0)) + x",
     "scan n: carries sum of k"},
    {"of_two_tensors",
     "output y = sum[3](where(iota(i1 - i3 over P) >= 0, x[i0, i3, i2 over P]*z[i0, i3, i2 over "
     "P], 0))",
     "scan n: carries sum of k"},
    {"of_sums",
     "input w f32[R, N, C, D]\n"
     "output y = x + sum[3, 4](where(iota((1 - 2*$back)*(i1 - i3) over P, D) >= 0, "
     "w[i0, i3, i2, i4 over P, D], 0))",
     "scan n: carries sum of k, backwards where $back is 1"},
};

INSTANTIATE_TEST_SUITE_P(Scan, ScanForms, testing::ValuesIn(kCarried),
                         [](const auto& info) { return std::string(info.param.name); });

class ScanLeaves : public testing::TestWithParam<Form> {};

TEST_P(ScanLeaves, Alone) { EXPECT_EQ(scans_of(op_of(GetParam())), Steps{}); }

constexpr Form kLeft[] = {
    {"a_window",
     "output y = sum[3](where(iota(i1 - i3 over P) >= 0 && iota(i3 - i1 over P) >= -2, "
     "x[i0, i3, i2 over P], 0))",
     ""},
    {"two_prefixes_at_once",
     "output y = sum[3](where(iota((1 - 2*$back)*(i1 - i3) over P) >= 0 && "
     "iota((1 - 2*$back)*(i1 - i3) - $any*$any over P) >= 0, x[i0, i3, i2 over P], 0))",
     ""},
    {"a_term_of_the_round",
     "output y = sum[3](where(iota(i1 - i3 over P) >= 0, x[i0, i3, i2 over P]*x[i0, i1, i2 over "
     "P], 0))",
     ""},
    {"a_look_ahead",
     "output y = sum[3](where(iota(i1 - i3 over P) >= -1, x[i0, i3, i2 over P], 0))", ""},
    {"a_gap_of_any_sign",
     "output y = sum[3](where(iota(i1 - i3 - $any over P) >= 0, x[i0, i3, i2 over P], 0))", ""},
    {"of_every_second_element",
     "output y = sum[3](where(iota(i1 - i3 over P) >= 0 && iota(i3 % 2 over P) == 0, "
     "x[i0, i3, i2 over P], 0))",
     ""},
    {"twice_as_far",
     "output y = sum[3](where(iota(2*i1 - i3 over P) >= 0, x[i0, i3, i2 over P], 0))", ""},
    {"a_step_that_may_be_zero",
     "output y = sum[3](where(iota((1 - $whole)*(i1 - i3) over P) >= 0, x[i0, i3, i2 over P], 0))",
     ""},
    {"a_triangle_of_other_axes",
     "output y = sum[3](where(iota(i2 - i3 over R, N, C, k: C) >= 0, "
     "x[i0, i1, i3 over R, N, C, k: C]*z[i0, i1, i2 over R, N, C, k: C], 0))",
     ""},
    {"elements_behind_of_a_longer_row",
     "input w f32[K]\n"
     "output y = x + sum[1](where(iota(i1 - i0 over N, k: K) >= 0, w[i1 over N, k: K], 0))"
     "[i1 over R, N, C]",
     ""},
    {"a_fill_that_is_not_neutral",
     "output y = sum[3](where(iota(i1 - i3 over P) >= 0, x[i0, i3, i2 over P], 1))", ""},
    {"a_position",
     "output y = argmax[3](where(iota(i1 - i3 over P) >= 0, x[i0, i3, i2 over P], 0))", ""},
    {"a_sum_over_all", "output y = sum[1](x)", ""},
};

INSTANTIATE_TEST_SUITE_P(Scan, ScanLeaves, testing::ValuesIn(kLeft),
                         [](const auto& info) { return std::string(info.param.name); });

/// The terms of the second sum are the results of the first.
TEST(Scan, CarriesASumOfRunningSums) {
  EXPECT_EQ(scans_of(R"(
op twice
input x f32[N]
s = sum[1](where(iota(i0 - i1 over N, k: N) >= 0, x[i1 over N, k: N], 0))
output y = sum[1](where(iota(i0 - i1 over N, k: N) >= 0, s[i1 over N, k: N], 0))
)")
                .size(),
            2U);
}

constexpr const char* kTwo = R"(
op two
input x f32[N]
input z f32[N]
s = sum[1](where(iota(i0 - i1 over N, k: N) >= 0, x[i1 over N, k: N], 0))
t = max[1](where(iota({} over N, k: N) >= {}, z[i1 over N, k: N], -inf))
output y = s * t
)";

/// One loop over k folds both.
TEST(Scan, CarriesEachAccumulatorByItsOwnInequality) {
  EXPECT_EQ(scans_of(fmt::format(kTwo, "i0 - i1", 1)),
            Steps{"scan n: carries sum of k; carries max of k"});
}

TEST(Scan, LeavesWhatRunsInAnotherDirectionThanTheFirst) {
  EXPECT_EQ(scans_of(fmt::format(kTwo, "i1 - i0", 0)), Steps{"scan n: carries sum of k"});
}

TEST(Scan, LeavesASumOverAllBesideIt) {
  EXPECT_EQ(scans_of(fmt::format(kTwo, "i0 + i1", 0)), Steps{"scan n: carries sum of k"});
}

}  // namespace
}  // namespace mote
