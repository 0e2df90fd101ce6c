// SPDX-License-Identifier: Apache-2.0
// What compiling costs: counted in values that the passes have before them, so that other work on
// the machine changes nothing. Each pass goes over them a bounded number of times.
#include <string>

#include "mote/codegen/walk.h"
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

/// x' = x - max(x), again and again: the nest of each max reads the whole chain before it.
std::shared_ptr<const Program> chain(int links) {
  std::string text = "op chain\ninput x f64[R, N]\na0_ = x\n";
  for (int k = 0; k < links; ++k) {
    const std::string from = "a" + std::to_string(k) + "_";
    text += "a" + std::to_string(k + 1) + "_ = " + from + " - max[1 keep](" + from + ")\n";
  }
  return program(text + "output y = a" + std::to_string(links) + "_\n");
}

/// The statements and values of all stages that change the program.
double cost(int links) {
  double total = 0;
  compile(chain(links), [&](const char*, const LoopProgram& p) {
    for_each(p.body, [&](const Stmt& s) {
      ++total;
      for_each_value(s, [&](const Value&) { ++total; });
    });
  });
  return total;
}

TEST(Cost, TwiceTheLinksCostAtMostTwoAndAHalfTimes) {
  const double of_40 = cost(40), of_80 = cost(80), of_160 = cost(160), of_320 = cost(320);
  EXPECT_LE(of_80, 2.5 * of_40);
  EXPECT_LE(of_160, 2.5 * of_80);
  EXPECT_LE(of_320, 2.5 * of_160);
}

TEST(Cost, AShortChainHasNoTensors) {
  const LoopProgram p = compile(chain(60));
  EXPECT_EQ(count(p).temporaries, 0);
}

TEST(Cost, ALongChainKeepsAValueNowAndThen) {
  const LoopProgram p = compile(chain(100));
  EXPECT_EQ(count(p).nests, 1);
  EXPECT_GT(count(p).temporaries, 0);
  EXPECT_LE(count(p).temporaries, 100 / 16);
  expect_right(p);
}

}  // namespace
}  // namespace mote
