// SPDX-License-Identifier: Apache-2.0
// Tests campaigns against the planted bugs: each is found, shrunk to its smallest case, and
// replays; the correct twin passes.
#include "mote/oracle/campaign.h"

#include <gtest/gtest.h>

#include <set>

#include "campaign/tally.h"
#include "fake_backend.h"
#include "mote/base/kernel_call.h"
#include "mote/generated/kernels.h"
#include "mote/oracle/report.h"
#include "mutant.h"
#include "temporary_folder.h"

namespace mote {
namespace {

using test::mutant;

struct Checked {
  Backends backends;
  std::vector<BackendEntry> chosen;
  CampaignResult result;
};

Checked check_mutant(const std::string& name, std::int64_t count = 150) {
  Checked checked;
  checked.backends = find_backends({mutant(name)});
  checked.chosen = select_backends(checked.backends, {}).chosen;
  CampaignOptions options;
  options.backends = checked.chosen;
  options.count = count;
  options.seed = 12;
  checked.result = run_campaign(options);
  return checked;
}

/// Returns the smallest case of the only failure, without plugin=.
std::string smallest(const Checked& checked) {
  EXPECT_EQ(checked.result.failures.size(), 1U);
  if (checked.result.failures.empty()) return "";
  const std::string text = to_string(checked.result.failures[0].smallest);
  return text.substr(0, text.find(" backend="));
}

TEST(Campaign, TheCorrectTwinPasses) {
  const Checked c = check_mutant("gemm_correct", 450);  // a third of the cases have its dtypes
  EXPECT_EQ(c.result.failures.size(), 0U);
  EXPECT_EQ(exit_code(c.result, c.chosen, true), 0);
  std::int64_t judged = 0;
  for (const Row& row : c.result.rows) judged += row.judged;
  EXPECT_GT(judged, 75);
}

CaseResult result_of(Verdict verdict, std::int64_t elements, std::int64_t indeterminate) {
  Outcome outcome;
  outcome.verdict = verdict;
  outcome.elements = elements;
  outcome.indeterminate = indeterminate;
  return {"rms_norm", DType::f16, "mine", FillKind::uniform, outcome, 10, {{"row-major"}, {"-"}}};
}

/// A contract that allows nearly everything judges nothing.
TEST(Campaign, WhereMostElementsMayBeAnythingNothingIsJudged) {
  const BackendEntry mine{&gen_backend(), "", "here"};
  for (const bool mostly : {false, true}) {
    Tally tally;
    tally.record(result_of(Verdict::passed, 100, 0));
    tally.record(result_of(Verdict::weak, 100, mostly ? 100 : 90));
    tally.record(result_of(Verdict::passed, 2, mostly ? 2 : 0));
    CampaignResult result;
    result.rows = tally.rows();
    const Row& row = result.rows.at(0);
    EXPECT_EQ(row.judged, mostly ? 0 : 2);
    EXPECT_EQ(row.count(Verdict::passed), mostly ? 0 : 2);
    EXPECT_EQ(row.count(Verdict::weak), mostly ? 3 : 1);
    EXPECT_EQ(row.cells.at({"row-major", "-"}).judged, mostly ? 0 : 2);
    EXPECT_EQ(exit_code(result, {mine}, false), mostly ? 4 : 0);
    if (mostly) {
      EXPECT_EQ(row.reason,
                "nothing is known about 102 of its 202 elements: by its contract they may be "
                "anything");
    }
  }
}

/// A failed case stays failed.
TEST(Campaign, AFailureCountsWhereMostElementsMayBeAnything) {
  Tally tally;
  tally.record(result_of(Verdict::weak, 100, 100));
  tally.record(result_of(Verdict::failed, 10, 0));
  CampaignResult result;
  result.rows = tally.rows();
  EXPECT_EQ(exit_code(result, {{&gen_backend(), "", "here"}}, false), 1);
}

TEST(Campaign, ADroppedTailShrinksToOneByOne) {
  for (const auto& [name, text] :
       {std::pair{"gemm_k_tail", "gemm a=f32[1,1] b=f32[1,1] fill=index:0"},
        std::pair{"gemm_k_tail_late", "gemm a=f32[1,9] b=f32[9,1] fill=index:0"}}) {
    Checked c = check_mutant(name);
    std::string got = smallest(c);
    for (std::size_t at = got.find("f64"); at != std::string::npos; at = got.find("f64")) {
      got.replace(at, 3, "f32");
    }
    EXPECT_EQ(got, text);
    EXPECT_EQ(c.result.failures[0].outcome.verdict, Verdict::failed);
    EXPECT_EQ(exit_code(c.result, c.chosen, true), 1);
  }
}

TEST(Campaign, ADroppedTailIsFoundWithinASecond) {
  const Checked c = check_mutant("gemm_k_tail");
  ASSERT_EQ(c.result.failures.size(), 1U);
  EXPECT_LT(c.result.failures[0].found_after_s, 1.0);
}

TEST(Campaign, EveryPlantedBugIsFound) {
  const std::vector<std::pair<std::string, Verdict>> bugs = {
      {"gemm_unwritten", Verdict::unwritten},
      {"gemm_ignores_ld", Verdict::nondeterministic},
      {"matmul_batch_stale", Verdict::failed},
      {"conv2d_right_pad_is_left", Verdict::failed}};
  for (const auto& [name, verdict] : bugs) {
    const Checked c = check_mutant(name);
    ASSERT_FALSE(c.result.failures.empty()) << name;
    EXPECT_EQ(c.result.failures[0].outcome.verdict, verdict) << name;
  }
}

TEST(Campaign, PlantedBugsShrinkToWhatTheyNeed) {
  const std::string pad = smallest(check_mutant("conv2d_right_pad_is_left"));
  EXPECT_NE(pad.find("[1,1,1,"), std::string::npos) << pad;
  EXPECT_NE(pad.find("pads=0,"), std::string::npos) << pad;
  EXPECT_EQ(pad.find("stride"), std::string::npos) << pad;
  const Checked ld = check_mutant("gemm_ignores_ld");
  ASSERT_FALSE(ld.result.failures.empty());
  const std::string text = to_string(ld.result.failures[0].smallest);
  EXPECT_NE(text.find(":pad1"), std::string::npos) << text;
}

TEST(Campaign, SmallestCasesReplay) {
  for (const char* name : {"gemm_k_tail_late", "gemm_unwritten", "matmul_batch_stale"}) {
    const Checked c = check_mutant(name);
    ASSERT_FALSE(c.result.failures.empty());
    const Failure& f = c.result.failures[0];
    Prepared again(parse_case(to_string(f.smallest)));
    const Outcome o = again.run(*c.chosen[0].backend);
    EXPECT_EQ(o.verdict, f.outcome.verdict);
    EXPECT_EQ(o.differing, f.outcome.differing);
    EXPECT_EQ(differences_text(o, 8), differences_text(f.outcome, 8));
  }
}

TEST(Campaign, TheSameSeedGivesTheSameResult) {
  const auto text = [] {
    CampaignResult result = check_mutant("gemm_k_tail", 60).result;
    for (Failure& f : result.failures) f.found_after_s = 0;
    std::string all = table_text(result);
    for (const Failure& f : result.failures) all += failure_text(f);
    return all;
  };
  EXPECT_EQ(text(), text());
}

TEST(Campaign, EachOpGetsItsShareOfTheBudget) {
  const Backends backends = find_backends({std::string(MOTE_PLUGINS_FOLDER) + "/mote_openblas.so"});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.ops = {"gemm", "conv2d"};
  options.budget_s = 1.0;
  options.seed = 4;
  const CampaignResult result = run_campaign(options);
  std::set<std::string> judged;
  for (const Row& row : result.rows) {
    if (row.judged >= 3) judged.insert(row.op + " " + std::string(name(row.dtype)));
  }
  EXPECT_EQ(judged, (std::set<std::string>{"conv2d f32", "conv2d f64", "gemm f32", "gemm f64"}));
  EXPECT_EQ(exit_code(result, options.backends, true), 0);
}

TEST(Campaign, ACountIsOfEachOp) {
  const Backends backends = find_backends({std::string(MOTE_PLUGINS_FOLDER) + "/mote_openblas.so"});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.ops = {"conv2d", "gemm", "matmul"};
  options.count = 20;
  options.dtypes = {DType::f64};
  for (const Row& row : run_campaign(options).rows) {
    std::int64_t all = 0;
    for (const std::int64_t n : row.counts) all += n;
    EXPECT_EQ(all, 20) << row.op;
  }
  options.dtypes = {
      DType::i32};  // declined: a stream ends early, and the next op still gets its full count
  options.ops = {"gemm", "matmul"};
  options.count = 600;
  for (const Row& row : run_campaign(options).rows) {
    EXPECT_EQ(row.count(Verdict::declined), 15) << row.op;
  }
}

/// Runs gen's kernels for calls that `takes` allows.
struct Choosy {
  explicit Choosy(mote_status (*takes)(const mote_call*))
      : fake("gemm", [](const mote_call* call) {
          const KernelChoice choice = choose_kernel(gen_backend(), *call);
          return choice.kernel != nullptr ? run_kernel(*choice.kernel, *call, nullptr)
                                          : MOTE_UNSUPPORTED;
        }) {
    fake.kernel().can_run = takes;
  }
  CampaignResult check(std::int64_t count) {
    CampaignOptions options;
    options.backends = {{&fake.get(), "", ""}};
    options.ops = {"gemm"};
    options.count = count;
    options.seed = 3;
    return run_campaign(options);
  }
  test::FakeBackend fake;
};

TEST(Campaign, DrawsGoWhereASubjectTakesThem) {
  const auto share = [](const CampaignResult& result) {
    std::int64_t all = 0;
    std::int64_t declined = 0;
    for (const Row& row : result.rows)
      for (std::size_t v = 0; v < kVerdicts; ++v) {
        all += row.counts[v];
        declined += static_cast<Verdict>(v) == Verdict::declined ? row.counts[v] : 0;
      }
    EXPECT_GT(declined, 0);  // coverage counts these
    EXPECT_EQ(result.failures.size(), 0U);
    return 1 - static_cast<double>(declined) / static_cast<double>(all);
  };
  EXPECT_GT(share(Choosy([](const mote_call* call) {
                    return call->inputs[2] == nullptr ? MOTE_OK : MOTE_UNSUPPORTED;
                  }).check(600)),
            0.85);
  EXPECT_GT(share(Choosy([](const mote_call* call) {
                    const DLDataType t = call->inputs[0]->dtype;
                    return t.code == kDLFloat && t.bits == 64 ? MOTE_OK : MOTE_UNSUPPORTED;
                  }).check(3000)),
            0.8);
}

/// Otherwise declining a call after its data was seen would cost nothing.
TEST(Campaign, WhatRunDeclinesIsNotReplaced) {
  Choosy choosy([](const mote_call*) { return MOTE_OK; });
  choosy.fake.kernel().run = [](const mote_call* call, void*) {
    return call->inputs[2] == nullptr
               ? run_kernel(*choose_kernel(gen_backend(), *call).kernel, *call, nullptr)
               : MOTE_UNSUPPORTED;
  };
  std::int64_t declined = 0;
  for (const Row& row : choosy.check(200).rows) declined += row.count(Verdict::declined);
  EXPECT_GT(declined, 60);
}

/// Every op that the backend has kernels for is judged, gradients of both orders too.
TEST(Campaign, WithoutNamesGradientsAreJudgedToo) {
  const Backends backends = find_backends({});
  CampaignOptions options;
  options.backends = select_backends(backends, {"gen"}).chosen;
  options.dtypes = {DType::f32};
  options.count = 1;
  options.seed = 3;
  const CampaignResult result = run_campaign(options);
  EXPECT_EQ(result.failures.size(), 0U);
  std::set<std::string> judged;
  for (const Row& row : result.rows)
    if (row.judged > 0) judged.insert(row.op);
  for (const char* op : {"matmul", "matmul.grad", "layer_norm.grad", "layer_norm.grad.grad"})
    EXPECT_TRUE(judged.contains(op)) << op;
  EXPECT_GT(judged.size(), 300U);
}

TEST(Campaign, LinesAreRunAndFilteredByOp) {
  const Backends backends = find_backends({mutant("gemm_correct")});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.cases = {parse_case("gemm a=f32[3,4] b=f32[4,5]"),
                   parse_case("matmul a=f32[1,1,3,4] b=f32[1,1,4,5]"),
                   parse_case("gemm a=f32[3,4] b=f32[4,5] backend=other")};
  options.ops = {"gemm"};
  const CampaignResult result = run_campaign(options);
  ASSERT_EQ(result.rows.size(), 2U);
  EXPECT_EQ(result.rows[0].count(Verdict::passed), 1);
  EXPECT_EQ(result.rows[1].backend, "other");
  EXPECT_EQ(result.rows[1].count(Verdict::skipped), 1);
}

TEST(Campaign, NoCaseOfAListVanishes) {
  const Backends backends = find_backends({mutant("gemm_correct")});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.cases = {parse_case("gemm a=f32[3,4] b=f32[4,5]"), parse_case("softmax x=f32[2,3,4]"),
                   parse_case("softmax x=f32[2,3,5]")};
  const CampaignResult result = run_campaign(options);
  ASSERT_EQ(result.rows.size(), 2U);
  EXPECT_EQ(result.rows[1].op, "softmax");
  EXPECT_EQ(result.rows[1].count(Verdict::declined), 2);
  EXPECT_EQ(result.rows[1].reason, "no kernel for softmax");
}

TEST(Campaign, AWorkspaceThatDoesNotFitIsSkipped) {
  const Backends backends = find_backends({std::string(MOTE_TEST_PLUGINS) + "/huge_workspace.so"});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.cases = {parse_case("gemm a=f32[3,4] b=f32[4,5]")};
  options.count = 10;
  const CampaignResult result = run_campaign(options);
  ASSERT_FALSE(result.rows.empty());
  for (const Row& row : result.rows) EXPECT_EQ(row.judged, 0);
  EXPECT_GT(result.rows[0].count(Verdict::skipped), 0);
  EXPECT_TRUE(result.rows[0].reason.starts_with("workspace needs 1.0 PiB, "))
      << result.rows[0].reason;
}

TEST(Campaign, CasesThatDoNotFitAreSkippedInPlainSight) {
  const Backends backends = find_backends({mutant("gemm_correct")});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.cases = {parse_case("gemm a=f32[300,400] b=f32[400,500]")};
  options.run.memory_limit = 1000;
  const CampaignResult result = run_campaign(options);
  ASSERT_EQ(result.rows.size(), 1U);
  EXPECT_EQ(result.rows[0].count(Verdict::skipped), 1);
  EXPECT_NE(table_text(result).find("1000 B are available"), std::string::npos);
  EXPECT_EQ(exit_code(result, options.backends, false), 4);
}

TEST(Campaign, StopsAfterTheFailuresThatWereAskedFor) {
  const Backends backends = find_backends({mutant("gemm_k_tail")});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.count = 10'000;
  options.max_failures = 1;
  const CampaignResult result = run_campaign(options);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].occurrences, 1);
}

TEST(Campaign, LeavesAFailureAsItIsWhereThatIsAskedFor) {
  const Backends backends = find_backends({mutant("gemm_k_tail_late")});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.count = 60;
  options.seed = 4;
  options.shrink_s = 0;
  const CampaignResult result = run_campaign(options);
  ASSERT_FALSE(result.failures.empty());
  EXPECT_EQ(result.failures[0].tries, 0);
  EXPECT_EQ(to_string(result.failures[0].smallest), to_string(result.failures[0].first));
  EXPECT_EQ(result.failures[0].sparsest, "");
  EXPECT_EQ(result.failures[0].diagnosis.runs, 0);
}

TEST(Campaign, AFailureSaysWhatTheOtherBackendsGive) {
  const test::TemporaryFolder folder;
  const Backends backends = find_backends({mutant("gemm_k_tail_late"), mutant("gemm_correct"),
                                           mutant("gemm_k_tail"), mutant("softmax_correct")});
  CampaignOptions options;
  options.backends = select_backends(backends, {"gemm_k_tail_late"}).chosen;
  options.peers = backends.all;
  std::erase_if(options.peers, [](const BackendEntry& e) { return e.plugin.empty(); });
  options.count = 25;
  options.seed = 5;
  options.journal = folder.path() / "journal";
  const std::string expected =
      "other backends agree with the reference: gemm_correct; fail too: gemm_k_tail: failed; "
      "declined: softmax_correct (no kernel for gemm)";
  for (const CampaignResult& result : {run_campaign(options), merge_journals({options.journal})}) {
    ASSERT_EQ(result.failures.size(), 1U);
    EXPECT_EQ(peers_text(result.failures[0].peers), expected);
    EXPECT_NE(failure_text(result.failures[0]).find(expected), std::string::npos);
    EXPECT_NE(failure_json(result.failures[0]).find(R"("other_backends":[{"backend":)"),
              std::string::npos);
  }
}

TEST(Campaign, ACorpusHasAFileForEachFailure) {
  const test::TemporaryFolder folder;
  const Backends backends = find_backends({mutant("gemm_k_tail_late")});
  CampaignOptions options;
  options.backends = select_backends(backends, {}).chosen;
  options.count = 25;
  options.seed = 5;
  options.corpus = folder.path() / "corpus";
  ASSERT_EQ(run_campaign(options).failures.size(), 1U);
  std::vector<Case> corpus = read_corpus(options.corpus);
  ASSERT_EQ(corpus.size(), 1U);
  EXPECT_EQ(corpus[0].backend, "");
  options.cases = corpus;
  options.count = 0;
  EXPECT_EQ(run_campaign(options).failures.size(), 1U);
  EXPECT_EQ(read_corpus(options.corpus).size(), 1U);
}

}  // namespace
}  // namespace mote
