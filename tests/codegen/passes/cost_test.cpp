// SPDX-License-Identifier: Apache-2.0
// Tests that the cost of compiling grows almost in proportion to the program. The cost is counted, so
// that other work on the machine changes nothing: in values that the passes have before them, over
// which each pass goes a bounded number of times, and in allocations, which most of the work of passes
// and of proofs makes.
#include <cmath>
#include <string>

#include "mote/codegen/walk.h"
#include "mote/macroops/catalogue.h"
#include "mote/uops/bound.h"
#include "pass_testing.h"
#include "runtime/heap_count.h"

namespace mote {
namespace {

using namespace test;

/// The most that a program of twice the size may cost.
constexpr double kTwiceTheSize = 2.5;

/// x' = x - max(x), again and again: the nest of each max reads the whole chain before it.
std::shared_ptr<const Program> chain(int links) {
  std::string text = "op chain\ninput x f64[R, N]\na0_ = x\n";
  for (int k = 0; k < links; ++k) {
    const std::string from = "a" + std::to_string(k) + "_";
    text += "a" + std::to_string(k + 1) + "_ = " + from + " - max[1 keep](" + from + ")\n";
  }
  return program(text + "output y = a" + std::to_string(links) + "_\n");
}

/// The statements and values of a program.
double size_of(const LoopProgram& p) {
  double total = 0;
  for_each(p.body, [&](const Stmt& s) {
    ++total;
    for_each_value(s, [&](const Value&) { ++total; });
  });
  return total;
}

/// The statements and values of all stages that change the program.
double cost(int links) {
  double total = 0;
  compile(chain(links), [&](const char*, const LoopProgram& p) { total += size_of(p); });
  return total;
}

/// The allocations that compiling the program makes.
double allocations(const std::shared_ptr<const Program>& program, double* size = nullptr) {
  const int before = heap_allocations();
  const LoopProgram loops = compile(program);
  const int count = heap_allocations() - before;
  if (size != nullptr) *size = size_of(loops);
  return count;
}

struct BoundCost {
  double allocations = 0;
  double size = 0;  ///< of the loops that the op's bound becomes
};
BoundCost cost_of_bound(const char* op) {
  const OpRecord& record = find_op(op);
  const auto program = instantiate(record, {DType::f32, full_mask(record)});
  BoundCost cost;
  cost.allocations = allocations(std::make_shared<const Program>(bound(*program)), &cost.size);
  return cost;
}

TEST(Cost, TwiceTheLinksCostAtMostTwoAndAHalfTimes) {
  const double of_40 = cost(40), of_80 = cost(80), of_160 = cost(160), of_320 = cost(320);
  EXPECT_LE(of_80, kTwiceTheSize * of_40);
  EXPECT_LE(of_160, kTwiceTheSize * of_80);
  EXPECT_LE(of_320, kTwiceTheSize * of_160);
}

TEST(Cost, TwiceTheLinksAreAtMostTwoAndAHalfTimesTheAllocations) {
  const double of_80 = allocations(chain(80)), of_160 = allocations(chain(160)),
               of_320 = allocations(chain(320));
  EXPECT_GT(of_80, 80);
  EXPECT_LE(of_160, kTwiceTheSize * of_80);
  EXPECT_LE(of_320, kTwiceTheSize * of_160);
}

TEST(Cost, ALongBoundCostsAtMostTwoAndAHalfTimesForEachDoubling) {
  const BoundCost one = cost_of_bound("attention_softcap"),
                  more = cost_of_bound("attention_softcap.grad.grad");
  const double doublings = std::log2(more.size / one.size);
  EXPECT_GT(doublings, 3);
  EXPECT_LE(more.allocations, std::pow(kTwiceTheSize, doublings) * one.allocations);
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
