// SPDX-License-Identifier: Apache-2.0
// Random programs on a dynamic graph do what a model says. MOTE_DYNAMIC_PROGRAMS sets their number,
// MOTE_SEED the first seed.
#include "random_program.h"

#include <gtest/gtest.h>

#include <iostream>

#include "support/random_run.h"

namespace mote::test {
namespace {

constexpr int kPrograms = 3000;
constexpr int kMaxDifferences = 3;
/// The number of programs that together do all that there is to do.
constexpr int kAllKinds = 1000;

TEST(RandomPrograms, DoWhatTheModelSays) {
  const std::string how_many = environment("MOTE_DYNAMIC_PROGRAMS");
  const int count = how_many.empty() ? kPrograms : std::stoi(how_many);
  const std::uint64_t first = first_seed();
  std::cout << count << " random programs from MOTE_SEED=" << first << "\n";
  say_seed_on_crash("\ncrashed in a random program: MOTE_DYNAMIC_PROGRAMS=1 MOTE_SEED=");
  ProgramCounts counts;
  int differences = 0;
  for (int k = 0; k < count && differences < kMaxDifferences; ++k) {
    current_seed = first + static_cast<std::uint64_t>(k);
    if (program_difference(current_seed, counts)) {
      ADD_FAILURE() << "MOTE_DYNAMIC_PROGRAMS=1 MOTE_SEED=" << current_seed << "\n"
                    << shrunk_program(current_seed);
      ++differences;
    }
  }
  if (differences > 0 || count < kAllKinds) return;
  for (const std::string& kind : counted_by_programs())
    EXPECT_GT(counts[kind], 0) << "no program has: " << kind;
}

}  // namespace
}  // namespace mote::test
