// SPDX-License-Identifier: Apache-2.0
// Tests the cases that a campaign runs: in shards, limited by time, and resumed after it was
// killed.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "mote/base/error.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/report.h"
#include "mutant.h"
#include "temporary_folder.h"

namespace mote {
namespace {

using test::mutant;

/// Returns the counts without times: op, dtype, verdicts, and the number of times that each failure
/// was seen.
std::string counted(const CampaignResult& result) {
  std::string text = table_text(result);
  for (const Failure& f : result.failures)
    text += to_string(f.smallest) + " " + std::to_string(f.occurrences) + "\n";
  return text;
}

std::int64_t all_cases(const CampaignResult& result) {
  std::int64_t all = 0;
  for (const Row& row : result.rows)
    for (const std::int64_t n : row.counts) all += n;
  return all;
}

TEST(Shards, AreTheWholeInParts) {
  const Backends backends = find_backends({mutant("gemm_correct")});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.dtypes = {DType::f32};
  options.count = 30;
  options.seed = 5;
  for (int k = 1; k < 8; ++k)
    options.cases.push_back(
        parse_case("gemm a=f32[3,4] b=f32[4,5] fill=index:" + std::to_string(k)));
  const std::int64_t whole = all_cases(run_campaign(options));
  std::int64_t parts = 0;
  for (std::uint64_t k = 0; k < 3; ++k) {
    options.shard = {k, 3};
    const std::int64_t part = all_cases(run_campaign(options));
    EXPECT_LT(part, whole);
    parts += part;
  }
  EXPECT_EQ(parts, whole);
}

/// With two cases of each op, only the first two shards would otherwise have work.
TEST(Shards, AreBusyWithFewCasesOfManyOps) {
  const Backends backends = find_backends({});
  CampaignOptions options;
  options.backends = select_backends(backends, {"gen"}).chosen;
  options.ops = {"abs", "add", "exp", "mul", "neg", "relu", "sub", "tanh", "where", "sigmoid"};
  options.dtypes = {DType::f32};
  options.count = 2;
  for (std::uint64_t k = 0; k < 4; ++k) {
    options.shard = {k, 4};
    EXPECT_GT(all_cases(run_campaign(options)), 0) << k;
  }
}

/// Each shard gives up a declined dtype after its own count; the cases of other dtypes are the
/// same.
TEST(Shards, JudgeTheSameCasesWhateverIsDeclined) {
  const Backends backends = find_backends({mutant("gemm_correct")});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.count = 3600;  // 600 of each dtype, more than are declined before it is given up
  options.seed = 5;
  const auto judged = [&](Shard shard) {
    options.shard = shard;
    std::int64_t all = 0;
    for (const Row& row : run_campaign(options).rows) all += row.judged;
    return all;
  };
  const std::int64_t whole = judged({0, 1});
  EXPECT_GT(whole, 400);
  EXPECT_EQ(judged({0, 2}) + judged({1, 2}), whole);
}

TEST(Campaign, CountsAsFarAsTheBudgetLasts) {
  const Backends backends = find_backends({mutant("gemm_correct")});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.count = 1'000'000;
  options.budget_s = 0.2;
  const std::int64_t judged = all_cases(run_campaign(options));
  EXPECT_GT(judged, 0);
  EXPECT_LT(judged, *options.count);
}

TEST(Shards, AreWrittenFromZero) {
  EXPECT_EQ(parse_shard("2/5").index, 2U);
  EXPECT_EQ(parse_shard("2/5").count, 5U);
  for (const char* bad : {"5/5", "2", "-1/5", "1/0", "a/b"})
    EXPECT_THROW(parse_shard(bad), Error) << bad;
}

/// The journal is resumed as if the campaign had been killed after each number of lines, and in the
/// middle of one.
TEST(Campaign, AJournalGoesOnWhereItWasKilled) {
  const test::TemporaryFolder folder;
  const Backends backends = find_backends({mutant("gemm_k_tail_late")});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.count = 25;
  options.seed = 5;
  options.cases = {parse_case("gemm a=f32[3,9] b=f32[9,5]")};
  options.journal = folder.path() / "whole";
  const std::string whole = counted(run_campaign(options));
  std::ifstream stream(options.journal);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  ASSERT_GT(text.size(), 1000U);
  for (const std::size_t bytes : {text.size() / 7, text.size() / 2, text.size() - 1}) {
    const std::string name = "part" + std::to_string(bytes);
    options.journal = folder.write(name, text.substr(0, bytes));
    EXPECT_EQ(counted(run_campaign(options)), whole) << bytes;
    EXPECT_EQ(counted(merge_journals({options.journal})), whole) << bytes;
  }
  EXPECT_EQ(journal_seed(options.journal), 5U);
  options.seed = 6;
  EXPECT_THROW(run_campaign(options), Error);
}

}  // namespace
}  // namespace mote
