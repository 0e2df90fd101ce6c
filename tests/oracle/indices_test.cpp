// SPDX-License-Identifier: Apache-2.0
// Tests subjects that rely on valid or non-negative indices: which inputs are indices, their draws,
// and that no other value ever reaches the subject.
#include "case/indices.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "fake_backend.h"
#include "isolate/other_contents.h"
#include "mote/base/error.h"
#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"
#include "mote/generated/kernels.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/generate.h"
#include "run/prepared_state.h"

namespace mote {
namespace {

constexpr int kBoth = MOTE_INDICES_VALID | MOTE_INDICES_NOT_NEGATIVE;

std::vector<std::int64_t> elements(const Dense& d) {
  std::vector<std::int64_t> all;
  for (std::int64_t k = 0; k < d.count(); ++k) all.push_back(d.at(k).integer());
  return all;
}

/// Returns the elements of the first input that is an index.
std::vector<std::int64_t> indices_in(const std::string& line) {
  const Case c = parse_case(line);
  std::vector<Dense> inputs = filled_inputs(c, 9);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].dtype() == DType::i64) return elements(inputs[k]);
  return {};
}

TEST(Indices, AreFoundInThePrograms) {
  const std::set<std::string> expected = {
      "gather",           "gather_elements", "embedding",          "one_hot",
      "scatter_elements", "scatter_nd",      "index_add",          "nll",
      "nll_none",         "cross_entropy",   "cross_entropy_none", "max_unpool2d"};
  for (const OpRecord& record : catalogue()) {
    const auto program = instantiate(record, instances(record).front());
    const bool is_scatter = record.name.starts_with("scatter_");
    EXPECT_EQ(has_indices(*program), is_scatter || expected.contains(record.name)) << record.name;
    const OpRecord* gradient = gradient_of(record);
    if (gradient == nullptr || !has_indices(*program)) continue;
    EXPECT_TRUE(has_indices(*instantiate(*gradient, instances(*gradient).front())))
        << gradient->name;
  }
}

TEST(Indices, AreWithinTheAxisOrCountFromItsEnd) {
  bool negative = false;
  for (const std::int64_t v :
       indices_in("gather x=f32[1,5,1] index=i64[99] fill=uniform:1,valid")) {
    EXPECT_TRUE(v >= -5 && v < 5) << v;
    negative = negative || v < 0;
  }
  EXPECT_TRUE(negative);
  std::set<std::int64_t> seen;
  for (const std::int64_t v :
       indices_in("gather x=f32[1,5,1] index=i64[99] fill=uniform:1,valid,not_negative"))
    seen.insert(v);
  EXPECT_EQ(seen, (std::set<std::int64_t>{0, 1, 2, 3, 4}));
  for (const std::int64_t v :
       indices_in("gather x=f32[1,5,1] index=i64[99] fill=uniform:1,not_negative"))
    EXPECT_GE(v, 0);
}

/// A target is a class, or the ignored one; a class never counts from the end.
TEST(Indices, OfALossMayBeTheIgnoredOne) {
  std::set<std::int64_t> seen;
  for (const std::int64_t v :
       indices_in("nll x=f32[4000,3,1] target=i64[4000,1] ignore_index=-7 fill=uniform:1,valid"))
    seen.insert(v);
  EXPECT_EQ(seen, (std::set<std::int64_t>{-7, 0, 1, 2}));
}

/// Each column has an axis of its own.
TEST(Indices, OfSeveralAxesAreEachWithinTheirs) {
  const std::vector<std::int64_t> all = indices_in(
      "scatter_nd x=f32[2,7,3,1] index=i64[50,3] updates=f32[50,1] fill=uniform:1,valid");
  const std::int64_t extents[] = {2, 7, 3};
  ASSERT_EQ(all.size(), 150U);
  for (std::size_t k = 0; k < all.size(); ++k)
    EXPECT_TRUE(all[k] >= -extents[k % 3] && all[k] < extents[k % 3]) << k << ": " << all[k];
}

TEST(Indices, ACaseThatRestrictsThemReadsBack) {
  const std::string line = "gather x=f32[1,5,1] index=i64[9] fill=uniform:1,valid,not_negative";
  EXPECT_EQ(parse_case(line).indices, kBoth);
  EXPECT_EQ(to_string(parse_case(line)), line);
  EXPECT_EQ(to_draft(parse_case(line)).indices, kBoth);
  EXPECT_THROW(parse_case("gather x=f32[1,5,1] index=i64[9] fill=uniform:1,positive"), Error);
}

TEST(Indices, OtherContentsStayWhatTheyAre) {
  for (int seed = 0; seed < 20; ++seed) {
    const Case c =
        parse_case("scatter_nd x=f32[2,7,3,1] index=i64[50,3] updates=f32[50,1] fill=uniform:" +
                   std::to_string(seed) + ",valid,not_negative");
    EXPECT_EQ(index_misfit(c, isolate::other_contents(c, filled_inputs(c, 9), 9, kBoth), kBoth),
              "");
  }
}

/// A backend that declares such indices; other indices end the test.
class OnlySuch {
 public:
  OnlySuch(const std::string& op, int flags)
      : fake_(op.c_str(), [](const mote_call* call) {
          const KernelChoice choice = choose_kernel(gen_backend(), *call);
          return choice.kernel == nullptr ? MOTE_UNSUPPORTED : choice.kernel->run(call, nullptr);
        }) {
    fake_.contract().indices = flags;
    fake_.contract().in_place_count = MOTE_IN_PLACE_ALL;
  }
  CampaignResult check(const std::string& op) const {
    CampaignOptions options;
    options.ops = {op};
    options.backends = {{&fake_.get(), "", "here"}};
    options.count = 60;
    options.seed = 5;
    return run_campaign(options);
  }

 private:
  test::FakeBackend fake_;
};

TEST(Indices, NoDrawIsDeclined) {
  for (const char* op :
       {"gather", "gather_elements", "embedding", "scatter_elements_add", "scatter_nd", "index_add",
        "one_hot", "cross_entropy", "nll_none", "embedding.grad", "max_unpool2d"}) {
    for (const int flags : {int{MOTE_INDICES_VALID}, int{MOTE_INDICES_NOT_NEGATIVE}, kBoth}) {
      const CampaignResult result = OnlySuch(op, flags).check(op);
      std::int64_t judged = 0;
      for (const Row& row : result.rows) {
        EXPECT_EQ(row.count(Verdict::declined), 0) << op << " " << flags << ": " << row.reason;
        EXPECT_EQ(row.failures(), 0) << op << " " << flags;
        judged += row.judged;
      }
      EXPECT_GT(judged, 10) << op << " " << flags;
    }
  }
}

TEST(Indices, ACaseOfOthersIsDeclinedInWords) {
  const Case c = parse_case("gather x=f32[1,5,1] index=i64[2] fill=zeros:0 set=index[1]=5");
  EXPECT_EQ(index_misfit(c, filled_inputs(c, 9), MOTE_INDICES_VALID),
            "its contract takes indices that are valid alone: index[1] is 5, its axis has 5");
  EXPECT_EQ(index_misfit(c, filled_inputs(c, 9), MOTE_INDICES_NOT_NEGATIVE), "");
}

}  // namespace
}  // namespace mote
