// SPDX-License-Identifier: Apache-2.0
// Tests workers that come from a program of the caller's, as those of an interpreter do.
#include <gtest/gtest.h>

#include <memory>

#include "fake_backend.h"
#include "mote/base/error.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/reference_values.h"
#include "mote/oracle/run.h"

namespace mote {
namespace {

constexpr double kStart = 30;

/// Runs a case of y = -x in workers of the program; in this process the kernel must not run.
Outcome run_in_program(const std::string& how) {
  const test::FakeBackend here("neg", [](const mote_call*) -> mote_status {
    ADD_FAILURE() << "the kernel ran in the process that judges";
    return MOTE_FAILED;
  });
  CaseRunOptions options;
  options.isolation =
      std::make_shared<Isolation>(std::vector<std::string>{MOTE_SERVES_NEGATION, how}, kStart);
  options.keep_outputs = true;
  return Prepared(parse_case("neg x=f32[1,1,1,5] fill=integer:1"), options).run(here.get());
}

TEST(Launched, ARightKernelPasses) {
  const Outcome o = run_in_program("right");
  EXPECT_EQ(o.verdict, Verdict::passed) << o.reason;
  EXPECT_EQ(o.got, nullptr);
}

TEST(Launched, AWrongKernelsOutputsAreKept) {
  const Outcome o = run_in_program("wrong");
  ASSERT_EQ(o.verdict, Verdict::failed) << o.reason;
  ASSERT_EQ(o.differing, 1);
  ASSERT_NE(o.got, nullptr);
  ASSERT_EQ(o.got->size(), 1U);
  EXPECT_EQ(o.got->front().shape, std::vector<std::int64_t>({1, 1, 1, 5}));
  const Difference& d = o.differences.at(0);
  EXPECT_EQ(d.index, std::vector<std::int64_t>({0, 0, 0, 2}));
  EXPECT_EQ(o.got->front().at(2).real(), d.got.real());
  EXPECT_EQ(o.got->front().at(2).real(), -d.expected.real());
}

TEST(Launched, ACrashIsAVerdict) {
  EXPECT_EQ(run_in_program("crashes").verdict, Verdict::crashed);
}

TEST(Launched, AProgramThatDoesNotServeIsAnError) {
  const std::vector<std::string> command = {MOTE_SERVES_NEGATION, "silent"};
  EXPECT_THROW(Isolation(command, kStart), Error);
  EXPECT_THROW(Isolation({"/nowhere/python"}, kStart), Error);
}

}  // namespace
}  // namespace mote
