// SPDX-License-Identifier: Apache-2.0
// Tests commands as values.
#include "mote/runtime/command.h"

#include <gtest/gtest.h>

#include <cmath>
#include <unordered_set>

#include "mote/runtime/catalogue.h"
#include "mote/runtime/status.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;

TEST(Command, PrintsWhatIsNotADefault) {
  EXPECT_EQ(to_string(Command("relu")), "relu");
  EXPECT_EQ(to_string(Command("conv2d", {{"stride0", 2}, {"pads1", 1}, {"stride1", 1}})),
            "conv2d stride0=2 pads1=1");
  EXPECT_EQ(to_string(Command("leaky_relu", {{"alpha", 0.25}})), "leaky_relu alpha=0.25");
  EXPECT_EQ(to_string(Command("softmax", {}, -1)), "softmax axis=-1");
}

TEST(Command, TakesNumbersOfEveryArithmeticType) {
  const Command two("conv2d", {{"stride0", 2}});
  EXPECT_EQ(Command("conv2d", {{"stride0", 2U}}), two);
  EXPECT_EQ(Command("conv2d", {{"stride0", std::size_t{2}}}), two);
  EXPECT_EQ(Command("conv2d", {{"stride0", 2LL}}), two);
  EXPECT_EQ(Command("conv2d", {{"stride0", static_cast<short>(2)}}), two);
  EXPECT_EQ(Command("gemm", {{"alpha", 0.5F}}), Command("gemm", {{"alpha", 0.5}}));
}

TEST(Command, EqualCommandsHashAlike) {
  const Command a("conv2d", {{"stride0", 2}, {"pads1", 1}});
  const Command b("conv2d", {{"pads1", 1}, {"stride0", 2}, {"groups", 1}});
  const Command c("conv2d", {{"stride1", 2}, {"pads1", 1}});
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_NE(a, c);
  EXPECT_NE(Command("softmax", {}, 1), Command("softmax"));
  EXPECT_EQ(Command("leaky_relu", {{"alpha", 2.0}}), Command("leaky_relu", {{"alpha", 2}}));
  EXPECT_NE(Command("leaky_relu", {{"alpha", -0.0}}), Command("leaky_relu", {{"alpha", 0.0}}));
  EXPECT_EQ(Command("leaky_relu", {{"alpha", NAN}}), Command("leaky_relu", {{"alpha", NAN}}));
  const std::unordered_set<Command> set = {a, b, c, Command("softmax"), Command("softmax", {}, 1)};
  EXPECT_EQ(set.size(), 4U);
}

TEST(Command, ItsTextReadsBackAsIt) {
  for (const Command& command :
       {Command("relu"), Command("conv2d", {{"stride0", 2}, {"pads1", 1}}),
        Command("leaky_relu", {{"alpha", 0.1}}), Command("leaky_relu", {{"alpha", -0.0}}),
        Command("leaky_relu", {{"alpha", 1e300}}), Command("leaky_relu", {{"alpha", NAN}}),
        Command("softmax", {}, -1)})
    EXPECT_EQ(parse_command(to_string(command)), command) << to_string(command);
  for (const char* text : {"", "relu x", "relu =1", "relu axis=", "relu axis=1x", "conv2d stride0=",
                           "conv2d stride0=2=3", "conv2d stride0=two", "relu axis=99999999999"})
    EXPECT_THROW(parse_command(text), StatusError) << text;
}

TEST(Command, MistakesAreFoundWhenItIsMade) {
  expect_error(MOTE_INVALID, "unknown op 'sotfmax': did you mean softmax",
               [] { Command("sotfmax"); });
  expect_error(MOTE_INVALID, "conv2d: unknown parameter 'strid0', did you mean stride0?", [] {
    Command("conv2d", {{"strid0", 2}});
  });
  expect_error(MOTE_INVALID, "conv2d: parameter stride0 must be in 1..", [] {
    Command("conv2d", {{"stride0", 0}});
  });
  expect_error(MOTE_INVALID, "conv2d: parameter stride0 must be an integer, got 1.5", [] {
    Command("conv2d", {{"stride0", 1.5}});
  });
  expect_error(MOTE_INVALID, "conv2d: parameter stride0 is given twice", [] {
    Command("conv2d", {{"stride0", 1}, {"stride0", 2}});
  });
  Registry registry;
  registry.add("mine");
  expect_error(MOTE_INVALID, "op mine has no attribute definition",
               [&] { Command("mine", {}, std::nullopt, registry); });
}

TEST(Command, AMistakeIsOneLine) {
  expect_error(MOTE_INVALID, "got 'a\\x0Ab'", [] { (void)parse_command("relu a\nb"); });
  expect_error(MOTE_INVALID, "'re\\x0Alu'", [] { (void)Command("re\nlu"); });
}

TEST(Catalogue, EveryOpIsRegisteredWithItsAttributes) {
  const Registry& registry = Registry::global();
  const Column<Definition> definitions = registry.column(kDefinition);
  for (std::int32_t k = 0; k < mote_op_count; ++k) {
    const OpId op = registry.get(mote_ops[k].name);
    EXPECT_EQ(definitions.at(op), &mote_ops[k]);
  }
  EXPECT_EQ(registry.column(kInPlace).at(registry.get("softmax")), InPlacePairs({{0, 0}}));
  EXPECT_FALSE(registry.members("elementwise").empty());
}

TEST(Catalogue, BatchAxesAreThoseThatNothingMixes) {
  const auto batch = [](const char* op, int input) {
    const Registry& registry = Registry::global();
    return registry.column(kDefinition).at(registry.get(op))->inputs[input].batch;
  };
  EXPECT_EQ(batch("relu", 0), 0b1111U);
  EXPECT_EQ(batch("softmax", 0), 0b101U);  // [R, N, C]
  EXPECT_EQ(batch("cumsum", 0), 0b101U);
  EXPECT_EQ(batch("flip", 0) & 0b010U, 0U);
  EXPECT_EQ(batch("layer_norm", 0), 0b01U);  // [R, N]
  EXPECT_EQ(batch("matmul", 0), 0b0111U);    // [P, Q, M, K]
  EXPECT_EQ(batch("matmul", 1), 0b1011U);    // [P, Q, K, N]
  EXPECT_EQ(batch("conv2d", 0), 0b0001U);    // [N, C, H, W]
  EXPECT_EQ(batch("conv2d", 1), 0U);
  EXPECT_EQ(batch("dropout", 0), 0U);  // the random bits of each element depend on its position
}

}  // namespace
}  // namespace mote
