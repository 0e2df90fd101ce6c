// SPDX-License-Identifier: Apache-2.0
// Tests cells of layout and value: those of a case, those that an op can have, and those that a
// campaign left out.
#include "mote/oracle/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mote/oracle/campaign.h"
#include "mote/oracle/generate.h"
#include "mote/oracle/resolve.h"
#include "temporary_folder.h"

namespace mote {
namespace {

using Words = std::vector<std::string>;

Outcome passed() {
  Outcome o;
  o.verdict = Verdict::passed;
  return o;
}

Outcome declined(bool by_run = false) {
  Outcome o;
  o.verdict = Verdict::declined;
  o.declined_by_run = by_run;
  return o;
}

bool has(const Words& all, const std::string& one) { return std::ranges::count(all, one) == 1; }

TEST(Features, AreWhatTheCaseHas) {
  const struct {
    const char* text;
    Words layouts;
    Words values;
  } cases[] = {
      {"neg x=f32[1,1,2,3]", {"row-major"}, {"-"}},
      {"neg x=f32[1,1,2,3]:t:pad2", {"permuted", "gaps"}, {"-"}},
      {"neg x=f32[1,1,2,3] y=@x", {"in place"}, {"-"}},
      {"gemm a=f32[2,3] b=f32[3,4]:bcast1 alpha=0.5", {"repeats"}, {"alpha>0", "no c"}},
      {"conv2d x=f32[1,8,9,9]:off1 w=f32[8,2,1,1] stride=7,1 groups=4",
       {"offset"},
       {"stride0>=4", "stride1=1", "dilation0=1", "dilation1=1", "pads0=0", "pads1=0", "pads2=0",
        "pads3=0", "groups>=4", "no b"}},
  };
  for (const auto& c : cases) {
    CaseFeatures got = features_of(parse_case(c.text));
    Words values = c.values;
    std::ranges::sort(got.values);
    std::ranges::sort(values);
    EXPECT_EQ(got.layouts, c.layouts) << c.text;
    EXPECT_EQ(got.values, values) << c.text;
  }
}

TEST(Features, OfDrawnCasesArePossible) {
  for (const OpRecord* record : generated_ops()) {
    const auto target = find_target(record->name);
    const DType dtype = target->dtypes().back();
    const CaseFeatures possible = possible_features(*target, dtype);
    for (std::uint64_t k = 0; k < 12; ++k) {
      const Case c = generate(target, dtype, 3, k);
      const CaseFeatures got = features_of(c);
      for (const std::string& layout : got.layouts)
        EXPECT_TRUE(has(possible.layouts, layout)) << layout << " in " << to_string(c);
      for (const std::string& value : got.values)
        EXPECT_TRUE(has(possible.values, value)) << value << " in " << to_string(c);
    }
  }
}

TEST(Coverage, SaysWhatIsExecutedDeclinedAndLeft) {
  CellCounts counted;
  count_cells(counted, {{"row-major"}, {"-"}}, passed());
  count_cells(counted, {{"permuted", "gaps"}, {"-"}}, declined());
  const Coverage c = make_coverage("neg", DType::f32, "mine", counted);
  EXPECT_EQ(c.executed, (std::vector<CoverageCell>{{"row-major", "-"}}));
  EXPECT_EQ(c.declined, (std::vector<CoverageCell>{{"permuted", "-"}, {"gaps", "-"}}));
  EXPECT_EQ(cells_text(c.untested, c.of), "offset; repeats; in place");
  const CoverageSum sum = sum_of({c});
  EXPECT_EQ(sum.cells(), 6);
  EXPECT_EQ(sum.ruled_out, 0);
  EXPECT_DOUBLE_EQ(sum.percent(), 100.0 / 6);  // declined cells are counted as wanted all the same
  EXPECT_NE(coverage_text({c}).find("1 of 6 cells"), std::string::npos);
  const auto json = nlohmann::json::parse(coverage_json({c}));
  EXPECT_EQ(json.at("executed"), 1);
  EXPECT_EQ(json.at("untested").at("in place"), nlohmann::json({"-"}));
}

TEST(Coverage, WhatTakesNoCaseIsDeclinedAsAWhole) {
  CellCounts counted;
  count_cells(counted, {{"row-major"}, {"-"}}, declined());
  const Coverage c = make_coverage("neg", DType::f16, "mine", counted);
  EXPECT_EQ(std::ssize(c.declined), 6);
  EXPECT_EQ(cells_text(c.declined, c.of), "all");
  EXPECT_EQ(cells_text(c.ruled_out, c.of), "all");
  EXPECT_DOUBLE_EQ(sum_of({c}).percent(), 100);
}

/// A cell that run declines was accepted by can_run before.
TEST(Coverage, WhatRunDeclinesIsNotRuledOut) {
  CellCounts counted;
  count_cells(counted, {{"row-major"}, {"-"}}, declined());
  count_cells(counted, {{"gaps"}, {"-"}}, declined(true));
  const Coverage c = make_coverage("neg", DType::f16, "mine", counted);
  EXPECT_EQ(std::ssize(c.declined), 6);
  EXPECT_TRUE(c.ruled_out.empty());
  EXPECT_DOUBLE_EQ(sum_of({c}).percent(), 0);
}

/// An optional tensor is never taken, and the contract does not let outputs take the memory of
/// inputs.
TEST(Coverage, AKindOfCallThatIsNeverTakenIsRuledOut) {
  CellCounts counted;
  count_cells(counted, {{"row-major"}, {"alpha=1", "no c"}}, passed());
  count_cells(counted, {{"row-major"}, {"alpha=0", "no c"}}, declined());
  count_cells(counted, {{"gaps"}, {"alpha=1", "c"}}, declined());
  const Coverage c = make_coverage("gemm", DType::f32, "mine", counted, false);
  const auto is_ruled_out = [&](const CoverageCell& cell) {
    return std::ranges::count(c.ruled_out, cell) == 1;
  };
  EXPECT_TRUE(is_ruled_out({"row-major", "c"}));
  EXPECT_TRUE(is_ruled_out({"in place", "alpha=1"}));
  EXPECT_FALSE(is_ruled_out({"row-major", "alpha=0"}));
  EXPECT_EQ(std::ranges::count(c.declined, CoverageCell{"row-major", "alpha=0"}), 1);
  EXPECT_FALSE(is_ruled_out({"gaps", "alpha=1"}));
}

TEST(Coverage, ReasonsAreTheSameButForSizes) {
  EXPECT_EQ(reason_kind("x f16[18,2,12] is not f32"), "x f16[…] is not f32");
  EXPECT_EQ(reason_kind("x f16[1,2] is not f32"), reason_kind("x f16[18,2,12] is not f32"));
  EXPECT_EQ(reason_kind("only 3x3 kernels, got 5x17"), "only #x# kernels, got #x#");
  EXPECT_NE(reason_kind("a must be f32"), reason_kind("a must be f64"));
}

TEST(Coverage, CellsInFewWords) {
  const CaseFeatures of{{"row-major", "gaps", "offset"}, {"a=0", "a=1", "b=0", "b=1"}};
  const auto text = [&](const std::vector<CoverageCell>& cells) { return cells_text(cells, of); };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({{"gaps", "a=1"}, {"gaps", "b=1"}, {"offset", "b=0"}}),
            "gaps with a=1, b=1; offset with b=0");
  EXPECT_EQ(text({{"row-major", "a=0"}, {"gaps", "a=0"}, {"offset", "a=0"}, {"gaps", "b=1"}}),
            "a=0; gaps with b=1");
}

/// Coverage includes ops that the time or the number of cases did not reach; a journal gives the
/// same.
TEST(Coverage, OfACampaignHasWhatWasNotReached) {
  const test::TemporaryFolder folder;
  const Backends backends = find_backends({});
  CampaignOptions options;
  options.backends = select_backends(backends, {"gen"}).chosen;
  options.ops = {"neg", "gemm"};
  options.dtypes = {DType::f32};
  options.count = 0;
  const auto sum = [&](const CampaignResult& r) { return sum_of(coverage_of(options, r)); };
  EXPECT_EQ(sum(run_campaign(options)).executed, 0);
  EXPECT_GT(sum(run_campaign(options)).untested, 50);
  options.count = 40;
  options.journal = folder.path() / "journal";
  const CoverageSum of_run = sum(run_campaign(options));
  EXPECT_GT(of_run.executed, 30);
  EXPECT_EQ(sum(merge_journals({options.journal})).executed, of_run.executed);
}

}  // namespace
}  // namespace mote
