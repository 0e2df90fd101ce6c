// SPDX-License-Identifier: Apache-2.0
// Tests checkpoints whose functions write to variables that they capture: the old values have no
// name and no memory any more, and are computed again from what lies outside of the checkpoint.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "graphs/dynamic/modes.h"

namespace mote {
namespace {

using namespace test;

struct CapturedCheckpoint : InBothModes {
  const Variable w = g.variable(all_of({1}, 0.5));
  Variable h;

  /// h becomes sin(h + w), in a checkpoint.
  Variable in_checkpoint() {
    return g.checkpoint(
        [&](std::span<const Variable> in) {
          h = h + in[0];
          h = g.run("sin", {h});
          return std::vector<Variable>{h};
        },
        std::vector<Variable>{w})[0];
  }
  double gradient_by_w(const Variable& y) { return g.backward({y}, {w})[0].item(); }
};

TEST_P(CapturedCheckpoint, KeepsWhatTheOldValueIsComputedFrom) {
  for (const bool forgets : {false, true}) {
    Variable given = g.variable(all_of({1}, 0.3));
    Variable t = g.run("sin", {given});
    given = {};
    h = t + 1.0;
    const Variable y = in_checkpoint();
    if (forgets) (void)g.statistics();
    t = {};
    EXPECT_DOUBLE_EQ(gradient_by_w(y), std::cos(std::sin(0.3) + 1.5)) << forgets;
  }
}

TEST_P(CapturedCheckpoint, KeepsWhatHasANameUntilThen) {
  const Variable b = g.variable(all_of({1}, 0.1));
  Variable x = g.constant(all_of({1}, 0.3));
  h = x + b;
  const Variable y = in_checkpoint();
  x = {};
  EXPECT_DOUBLE_EQ(gradient_by_w(y), std::cos(0.9));
}

INSTANTIATE_TEST_SUITE_P(Modes, CapturedCheckpoint, testing::Bool(), mode_name);

}  // namespace
}  // namespace mote
