// SPDX-License-Identifier: Apache-2.0
// Tests the oracle by planted defects: a wrong pass is found in a few programs, its failure shrinks
// to a program that a person understands at once, and the printed text fails in the same way.
#include "shrink.h"

#include <gtest/gtest.h>

#include "planted_passes.h"
#include "program_features.h"
#include "random_program.h"
#include "replay.h"

namespace mote::test {
namespace {

constexpr int kMaxPrograms = 300;

std::optional<Failure> find(const CheckOptions& options) {
  for (std::uint64_t seed = 1; seed <= kMaxPrograms; ++seed) {
    const Program p = random_program(seed);
    const std::vector<Trial> trials = make_trials(p, seed, 2);
    if (auto m = check_program(p, trials, options)) return Failure{p, trials, *m};
  }
  return std::nullopt;
}

void expect_found_and_shrunk(LoopProgram (*planted)(LoopProgram)) {
  CheckOptions options;
  options.run_c = false;
  options.planted = planted;
  const std::optional<Failure> found = find(options);
  ASSERT_TRUE(found) << "not found in " << kMaxPrograms << " programs";
  EXPECT_EQ(found->mismatch.stage, "planted");
  const Failure small = shrink(*found, options);
  const std::string text = replay_text(small);
  EXPECT_LE(computing_nodes(small.program), 3) << text;
  EXPECT_EQ(small.program.outputs.size(), 1U) << text;
  EXPECT_EQ(small.trials.size(), 1U) << text;

  const Replay replay = parse_replay(text);
  EXPECT_TRUE(equal(replay.program, small.program)) << text;
  const auto again = check_program(replay.program, replay.trials, options);
  ASSERT_TRUE(again) << text;
  EXPECT_EQ(to_string(*again), to_string(small.mismatch)) << text;
  options.planted = nullptr;
  const auto without = check_program(replay.program, replay.trials, options);
  EXPECT_FALSE(without) << to_string(*without);
}

TEST(Oracle, FindsAFuserThatIgnoresOffsets) { expect_found_and_shrunk(fuse_carelessly); }
TEST(Oracle, FindsAContractionOfOneAxisTooMany) { expect_found_and_shrunk(contract_carelessly); }
TEST(Oracle, FindsAFillThatIsLost) { expect_found_and_shrunk(forget_fills); }
TEST(Oracle, FindsAReductionWithoutItsLastTerm) { expect_found_and_shrunk(drop_last_term); }

TEST(Trial, TextReadsBack) {
  const Program p = random_program(7);
  for (const Trial& t : make_trials(p, 7, 20)) {
    const Trial back = parse_trial(to_string(t));
    EXPECT_EQ(to_string(back), to_string(t));
    EXPECT_EQ(make_inputs(p, back), make_inputs(p, t));
  }
}

TEST(RandomProgram, IsAFunctionOfItsSeedAndReadsBackFromText) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Program p = random_program(seed);
    EXPECT_TRUE(equal(p, random_program(seed))) << seed;
    EXPECT_TRUE(equal(p, parse_program(to_string(p)))) << to_string(p);
  }
}

}  // namespace
}  // namespace mote::test
