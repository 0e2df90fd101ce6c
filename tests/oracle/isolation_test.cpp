// SPDX-License-Identifier: Apache-2.0
// Tests subjects in workers: a verdict for each rule that a kernel may break, and none for kernels
// that break none.
#include "mote/oracle/isolation.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <thread>
#include <vector>

#include "fake_backend.h"
#include "mote/base/error.h"
#include "mote/oracle/backends.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/run.h"

namespace mote {
namespace {

std::string library(const char* name) {
  return std::string(MOTE_TEST_PLUGINS) + "/" + name + ".so";
}

/// The library's backends, run in workers.
struct Isolated {
  std::shared_ptr<Isolation> isolation = std::make_shared<Isolation>();
  Plugin plugin = isolation->describe(library("breaks_rules"));

  const mote_backend& backend(std::string_view name) const {
    return **std::ranges::find(plugin.backends, name,
                               [](const mote_backend* b) { return std::string_view(b->name); });
  }
  Outcome run(std::string_view name, const std::string& text, CaseRunOptions options = {}) const {
    options.isolation = isolation;
    return Prepared(parse_case(text), options).run(backend(name));
  }
};

constexpr const char* kCase = "neg x=f32[2,3,4,5] fill=integer:1";
constexpr const char* kOddCase =
    "neg x=f32[2,3,4,5]:pad3:off2 y=f32[2,3,4,5]:pad1:off5 fill=uniform:";

TEST(Isolation, ARightKernelPasses) {
  const Isolated in;
  for (const char* name : {"keeps_rules", "keeps_a_pool", "threads_that_end"}) {
    for (int seed = 0; seed < 20; ++seed) {
      const Outcome o = in.run(name, kOddCase + std::to_string(seed));
      EXPECT_EQ(o.verdict, Verdict::passed) << name << ": " << o.reason;
    }
  }
  EXPECT_EQ(in.run("keeps_rules", "neg x=f32[2,3,0,5]").verdict, Verdict::vacuous);
  EXPECT_EQ(in.run("keeps_rules", "neg x=f64[2,3,4,5]").verdict, Verdict::declined);
}

TEST(Isolation, WhatTheProgramHeldBeforeIsNotCountedAsTheSubjects) {
  const std::vector<char> held(std::size_t{200} << 20U, 'x');
  const Isolated in;
  const CaseRunOptions options{.subject_memory = std::int64_t{100} << 20U};
  const Outcome o = in.run("keeps_rules", std::string(kOddCase) + "1", options);
  EXPECT_EQ(o.verdict, Verdict::passed) << o.reason << held.back();
}

struct Rule {
  const char* backend;
  Verdict verdict;
  const char* reason;
};

class BreaksRules : public testing::TestWithParam<Rule> {};

TEST_P(BreaksRules, AndTheNextCaseIsJudged) {
  const Isolated in;
  const Rule rule = GetParam();
  CaseRunOptions options{
      .limit_s = 0.3, .warm_up_s = 1, .subject_memory = std::int64_t{100} << 20U};
  for (int seed = 0; seed < 8; ++seed) {
    const Outcome o = in.run(rule.backend, kOddCase + std::to_string(seed), options);
    EXPECT_EQ(o.verdict, rule.verdict) << name(o.verdict) << ": " << o.reason;
    EXPECT_NE(o.reason.find(rule.reason), std::string::npos) << o.reason;
    EXPECT_EQ(in.run("keeps_rules", kCase).verdict, Verdict::passed);
    if (rule.verdict == Verdict::hung) break;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Isolation, BreaksRules,
    testing::Values(Rule{"crashes", Verdict::crashed, "SIGSEGV: writes address 0x0"},
                    Rule{"aborts", Verdict::crashed, "SIGABRT"},
                    Rule{"exits", Verdict::crashed, "ended the process (exit code 9)"},
                    Rule{"hangs", Verdict::hung, "no result after 0.3 s"},
                    Rule{"reads_after_x", Verdict::out_of_bounds, " after the end of x"},
                    Rule{"reads_before_x", Verdict::out_of_bounds, "before the beginning of x"},
                    Rule{"writes_after_y", Verdict::out_of_bounds, "y"},
                    Rule{"writes_before_y", Verdict::out_of_bounds, "y"},
                    Rule{"writes_after_workspace", Verdict::out_of_bounds, "workspace"},
                    Rule{"skips_last", Verdict::unwritten, "never written"},
                    Rule{"writes_gaps", Verdict::wrote_gap, "writes into a gap of y: 5 elements"},
                    Rule{"changes_x", Verdict::changed_input, "writes x, its input"},
                    Rule{"writes_x_back", Verdict::changed_input, "writes x, its input"},
                    Rule{"rounds_upward", Verdict::changed_mode, "rounding"},
                    Rule{"flushes_denormals", Verdict::changed_mode, "denormals"},
                    Rule{"leaves_a_thread", Verdict::left_threads, "leaves a thread behind"},
                    Rule{"writes_later", Verdict::late_access, "writes y"},
                    Rule{"takes_memory", Verdict::too_much_memory, "MiB of memory"},
                    Rule{"differs", Verdict::nondeterministic, "two runs"},
                    Rule{"caches_by_pointer", Verdict::stale, "right in a fresh process"},
                    Rule{"answers_from_old_memory", Verdict::stale, "reads y of an earlier call"}),
    [](const auto& param) { return std::string(param.param.backend); });

/// Work that a process does once does not count as a call's time, in a new worker as well.
TEST(Isolation, ASlowStartIsNoPartOfTheTimeLimit) {
  const Isolated in;
  for (int k = 0; k < 2; ++k) {
    const Outcome o = in.run("starts_slowly", kCase, {.limit_s = 0.2});
    EXPECT_EQ(o.verdict, Verdict::passed) << o.reason;
    in.isolation->end_workers();
  }
}

/// Threads that keep the first processor busy; this one and its workers run there too.
class BusyProcessor {
 public:
  BusyProcessor() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t first;
    CPU_ZERO(&first);
    for (int k = 0; CPU_COUNT(&first) == 0; ++k)
      if (CPU_ISSET(k, &before_)) CPU_SET(k, &first);
    sched_setaffinity(0, sizeof first, &first);
    for (int k = 0; k < 6; ++k)
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
        }
      });
  }
  ~BusyProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  BusyProcessor(const BusyProcessor&) = delete;
  BusyProcessor& operator=(const BusyProcessor&) = delete;

 private:
  cpu_set_t before_;
  std::vector<std::jthread> threads_;
};

/// The subject gets a seventh of a processor, and needs 0.2 s of it.
TEST(Isolation, WaitingForAProcessorIsNoPartOfTheTimeLimit) {
  const BusyProcessor busy;
  const Isolated in;
  const Outcome o = in.run("computes", kCase, {.limit_s = 0.4, .warm_up_s = 0});
  EXPECT_EQ(o.verdict, Verdict::passed) << o.reason;
}

TEST(Isolation, AStartThatNeverEndsIsEnded) {
  const Isolated in;
  const Outcome o = in.run("hangs", kCase, {.limit_s = 0.1, .warm_up_s = 0.2});
  EXPECT_EQ(o.verdict, Verdict::hung);
  EXPECT_EQ(o.reason, "no result after 0.1 s, and 0.2 s more to warm up");
  EXPECT_EQ(in.run("hangs", kCase, {.limit_s = 0.1, .warm_up_s = 0.2}).reason,
            "no result after 0.1 s");
}

struct Smallest {
  const char* backend;
  const char* starts;  ///< the smallest case's text
  const char* only_after;
};

class FailsAfresh : public testing::TestWithParam<Smallest> {};

/// Earlier calls in the same worker may be the reason why a case fails.
TEST_P(FailsAfresh, TheSmallestCase) {
  const Isolated in;
  const BackendEntry entry{&in.backend(GetParam().backend), library("breaks_rules"), ""};
  CaseRunOptions options;
  options.isolation = in.isolation;
  const Case first = parse_case("neg x=f32[2,3,4,9] fill=integer:1");
  for (int k = 0; k < 10; ++k) in.run(GetParam().backend, to_string(first));
  const Failure failure = shrink_failure(first, entry, Verdict::failed, options);
  EXPECT_EQ(to_string(failure.smallest).rfind(GetParam().starts, 0), 0U)
      << to_string(failure.smallest);
  EXPECT_EQ(failure.only_after, GetParam().only_after);
  in.isolation->end_workers();
  const bool fails =
      in.run(GetParam().backend, to_string(failure.smallest)).verdict == Verdict::failed;
  EXPECT_EQ(fails, failure.only_after.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Isolation, FailsAfresh,
    testing::Values(Smallest{"wrong_later", "neg x=f32[",
                             "fails only after other calls in the same process"},
                    Smallest{"wrong_later_or_long", "neg x=f32[1,1,1,7]", ""}),
    [](const auto& param) { return std::string(param.param.backend); });

/// The cache is found if the other contents have the same beginning.
TEST(Isolation, WhatIsKeptByContentIsSeen) {
  const Isolated in;
  int seen = 0;
  for (int seed = 0; seed < 16; ++seed) {
    const Outcome o = in.run("caches_by_content", kOddCase + std::to_string(seed));
    seen += o.verdict == Verdict::stale;
  }
  EXPECT_GE(seen, 4);
}

/// The case that runs meanwhile is not to blame.
TEST(Isolation, AWriteThatComesLaterStillIsOfItsOwnCase) {
  const Isolated in;
  const std::string late = "neg x=f32[2,3,4,6] fill=integer:1";
  in.run("writes_much_later", late, {.linger_s = 0.001});
  Outcome o;
  for (int k = 0; k < 200 && o.earlier_case.empty(); ++k) {
    o = in.run("keeps_rules", kCase);
    ::usleep(1000);
  }
  EXPECT_EQ(o.verdict, Verdict::late_access);
  EXPECT_EQ(o.earlier_case, late);
  EXPECT_EQ(in.run("keeps_rules", kCase).verdict, Verdict::passed);
  EXPECT_EQ(in.run("writes_much_later", late, {.linger_s = 0.2}).verdict, Verdict::late_access);
}

/// The distance is in bytes, for an access a page away and any placement.
TEST(Isolation, AnAccessSaysHowFarItIs) {
  const Isolated in;
  EXPECT_EQ(in.run("reads_after_x", kCase).reason, "reads byte 4093 after the end of x");
  EXPECT_EQ(in.run("reads_before_x", kCase).reason, "reads 4096 bytes before the beginning of x");
}

TEST(Isolation, ManyCasesGoThroughOneWorker) {
  const Isolated in;
  CaseRunOptions options;
  options.isolation = in.isolation;
  Prepared prepared(parse_case(kCase), options);
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < 200; ++k)
    EXPECT_EQ(prepared.run(in.backend("keeps_rules")).verdict, Verdict::passed);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 20);
}

/// The backend belongs to no library; it existed when the isolation began.
TEST(Isolation, AFunctionOfThisProcessRunsInAWorkerToo) {
  const test::FakeBackend fake("neg", [](const mote_call* call) {
    for (int k = 0; k < 5; ++k)
      test::floats(call->outputs[0])[k] = -test::floats(call->inputs[0])[k];
    return MOTE_OK;
  });
  const auto isolation = std::make_shared<Isolation>();
  const Case c = parse_case("neg x=f32[1,1,1,5] fill=integer:1");
  EXPECT_EQ(Prepared(c, {.isolation = isolation}).run(fake.get()).verdict, Verdict::passed);
  const Case long_one = parse_case("neg x=f32[1,1,1,6] fill=integer:1");
  EXPECT_EQ(Prepared(long_one, {.isolation = isolation}).run(fake.get()).verdict,
            Verdict::unwritten);
}

TEST(Isolation, AKernelsRunCheckedIsJudgedInAWorker) {
  test::FakeBackend fake("neg", [](const mote_call* call) {
    for (int k = 0; k < 5; ++k)
      test::floats(call->outputs[0])[k] = -test::floats(call->inputs[0])[k];
    return MOTE_OK;
  });
  fake.kernel().run_checked = [](const mote_call* call, void*) {
    for (int k = 0; k < 5; ++k) test::floats(call->outputs[0])[k] = 1;
    return MOTE_OK;
  };
  const auto isolation = std::make_shared<Isolation>();
  const Case c = parse_case("neg x=f32[1,1,1,5] fill=integer:1");
  // Alone, the case is run by run, which is right.
  EXPECT_EQ(Prepared(c, {.isolation = isolation}).run(fake.get()).verdict, Verdict::stale);
}

TEST(Isolation, ALibraryIsDescribedWithoutBeingLoaded) {
  const Isolated in;
  const mote_backend& b = in.backend("keeps_rules");
  EXPECT_STREQ(b.version, "1");
  ASSERT_EQ(b.kernel_count, 1);
  EXPECT_STREQ(b.kernels[0].op, "neg");
  EXPECT_EQ(b.kernels[0].contract->deterministic, 1);
  EXPECT_EQ(Prepared(parse_case(kCase)).run(b).reason, "its library is loaded in a worker only");
  try {
    in.isolation->describe(library("aborts_in_init"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "plug-in " + library("aborts_in_init") + ": crashed while loading (SIGABRT)");
  }
  EXPECT_THROW(in.isolation->describe("/nonexistent.so"), Error);
}

}  // namespace
}  // namespace mote
