// SPDX-License-Identifier: Apache-2.0
// Tests the versions with tiles of pairs of integers, those whose tiles share panels of windows,
// and those that compute once what others compute twice.
#include <algorithm>

#include "mote/codegen/emit_c.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/codegen/schedule.h"
#include "mote/codegen/walk.h"
#include "mote/macroops/catalogue.h"
#include "pass_testing.h"
#include "passes/leave_out.h"

namespace mote {
namespace {

using namespace test;

/// Each block of rows has its weights, which both gx and gz read. Threads share b.
TEST(Schedule, ComputesOnceWhatIsReadAlongBothAxes) {
  expect_golden_schedule(compile(program(R"--(
op both "gx[b] = w z[b], gz[b] = w^T x[b], w = exp(x[b] z[b]^T) for each b"
input x f32[B, M, K]
input z f32[B, N, K]
w = exp(sum[3](x[i0, i1, i3 over B, M, N, K] * z[i0, i2, i3 over B, M, N, K]))
t = exp(sum[3](x[i0, i2, i3 over B, N, M, K] * z[i0, i1, i3 over B, N, M, K]))
output gx = sum[2](w[i0, i1, i2 over B, M, N, K] * z[i0, i2, i3 over B, M, N, K])
output gz = sum[2](t[i0, i1, i2 over B, N, M, K] * x[i0, i2, i3 over B, N, M, K])
)--")));
}

/// The second reads elements that the first does not have: no block would compute them.
TEST(Schedule, ComputesTwiceWhereBlocksLackElements) {
  for (const char* c :
       {"sum[2](t[i0, i1, i2 over B, N, M + 2 else 1])", "t[i0, i1, i2 over B, N, M + 2 else 1]",
        "sum[2](t[i0, i1, i2 over B + 1, N, M else 1])", "sum[2](t[i0, i1, i2 over B/2, N, M])",
        "sum[2](t * sum[2](w)[i0, i2 over B, N, M])"}) {
    const Schedule s = scheduled(compile(
        program("op both\ninput x f64[B, M, K]\ninput z f64[B, N, K]\n"
                "w = exp(sum[3](x[i0, i1, i3 over B, M, N, K] * z[i0, i2, i3 over B, M, N, K]))\n"
                "t = exp(sum[3](x[i0, i2, i3 over B, N, M, K] * z[i0, i1, i3 over B, N, M, K]))\n"
                "output r = sum[2](w * w)\noutput c = " +
                std::string(c) + "\n")));
    for (const Version& v : s.versions) EXPECT_FALSE(has_step(v, StepKind::once)) << c;
  }
}

/// Threads share the rows, which blocks would run in order.
TEST(Schedule, ComputesTwiceWhatThreadsShare) {
  const Schedule s = schedule(compile(program(R"--(
op both
input x f32[M, K]
input z f32[N, K]
w = exp(sum[2](x[i0, i2 over M, N, K] * z[i1, i2 over M, N, K]))
t = exp(sum[2](x[i1, i2 over N, M, K] * z[i0, i2 over N, M, K]))
output gx = sum[1](w[i0, i1 over M, N, K] * z[i1, i2 over M, N, K])
output gz = sum[1](t[i0, i1 over N, M, K] * x[i1, i2 over N, M, K])
)--")));
  EXPECT_TRUE(s.versions.front().name.starts_with("tile_64")) << to_string(s);
  for (const Version& v : s.versions) EXPECT_FALSE(has_step(v, StepKind::once)) << v.name;
}

/// The rows of a line read each element of x from one panel, whatever tap reads it. Those at the
/// borders read 0.
TEST(Schedule, TilesOfALineShareAWindow) {
  expect_golden_schedule(compile(program(R"--(
op convolve "y[n, l, o] = sum_{k, c} x[n, 2 l + k - 1, c] w[k, c, o]"
param dilation int = 1 in 1..3
input x f32[N, L, C]
input w f32[K, C, O]
read = x[i0, i1*2 + i3*$dilation - 1, i4 over N, L/2, O, K, C else 0]
output y = sum[3, 4](read * w[i3, i4, i2 over N, L/2, O, K, C])
)--")),
                         true);
}

bool has_window(const Schedule& s) {
  return std::ranges::any_of(s.versions, [](const Version& v) {
    return std::ranges::any_of(v.program.tensors, [](const TensorDecl& t) {
      return t.name.starts_with("window") && t.role == TensorRole::temporary;
    });
  });
}

/// Convolutions of every dtype have one, dilated and of groups too.
TEST(Schedule, ConvolutionsShareWindows) {
  for (const char* op : {"conv1d", "conv2d", "conv3d", "conv2d_relu"})
    EXPECT_TRUE(has_window(scheduled(compiled_op(op), true))) << op;
  EXPECT_TRUE(has_window(scheduled(compiled_op("conv2d", DType::bf16), true)));
  EXPECT_TRUE(has_window(scheduled(compiled_op("conv2d_integer", DType::u8), true)));
}

/// Rows that read quotients, a tap that stands in another index too, one that runs backwards, and
/// rows that read an operand where it is, share none.
TEST(Schedule, OtherRowsShareNoWindow) {
  const auto of = [](const std::string& read) {
    return scheduled(compile(program("op other\ninput x f32[N, L, C]\ninput w f32[K, C, O]\n"
                                     "read = x[" +
                                     read +
                                     " over N, L, O, K, C else 0]\noutput y = sum[3, 4](read * "
                                     "w[i3, i4, i2 over N, L, O, K, C])\n")),
                     true);
  };
  EXPECT_TRUE(has_window(of("i0, i1 + i3 - 1, i4")));
  EXPECT_FALSE(has_window(of("i0, (i1 + i3)/2 - 1, i4")));
  EXPECT_FALSE(has_window(of("i0, i1 + i3 - 1, i4 + i3 - 1")));
  EXPECT_FALSE(has_window(of("i0, i1 - i3, i4")));
  EXPECT_FALSE(has_window(of("i0, i1, i4 + i3")));
}

/// A panel is in the order of x: either axis of a call's x may be the one along which elements are
/// adjacent. Results along the rows of a tile are transposed in registers.
TEST(Schedule, WindowsHaveTheOrderOfTheirInput) {
  Schedule s = scheduled(compiled_op("conv1d"), true);
  std::erase_if(s.versions, [](const Version& v) { return v.name != "tile_64" && v.name != ""; });
  expect_golden(to_string(s) + "\n" + emit_c(s, {.function = "", .standalone = true}));
}

bool has_order(const Version& v) {
  return std::ranges::any_of(v.program.tensors,
                             [](const TensorDecl& t) { return t.ordered_like.has_value(); });
}

/// Such versions come ahead of those whose vectors lie along the window.
TEST(Schedule, WindowsInOrderComeFirst) {
  for (const char* op : {"conv1d", "conv2d", "conv3d", "conv2d_relu"}) {
    const Schedule s = scheduled(compiled_op(op), true);
    const std::vector<std::string> names = {"tile_64", "tile_64_innermost", "tile_32",
                                            "tile_32_innermost"};
    for (std::size_t k = 0; k < names.size(); ++k) EXPECT_EQ(s.versions.at(k).name, names[k]) << op;
    for (const std::size_t k : {0U, 2U}) EXPECT_TRUE(has_order(s.versions.at(k))) << op;
  }
}

/// A tile of six rows consists of squares of 4 and of 2. Pairs, and elements that a guard protects,
/// are copied one by one.
TEST(Schedule, OtherWindowsHaveNoOrder) {
  for (const Version& v : scheduled(compiled_op("conv2d"), true).versions)
    EXPECT_EQ(has_order(v), v.name == "tile_64" || v.name == "tile_32") << v.name;
  for (const Version& v : scheduled(compiled_op("conv2d_integer", DType::u8), true).versions)
    EXPECT_FALSE(has_order(v)) << v.name;
}

/// Next to the version along the lines of an image, squares of two sizes are faster for sums of
/// many terms alone; but all narrower tiles come behind both.
TEST(Schedule, SquaresOfTwoSizesAreTriedFirstForManyTermsThenBehindTheNext) {
  const Schedule s = scheduled(compiled_op("conv2d"), true);
  const auto version = std::ranges::find(s.versions, "tile_32", &Version::name);
  ASSERT_NE(version, s.versions.end());
  EXPECT_NE(to_string(version->preferences).find("CG*KH*KW >= 96"), std::string::npos);
  ASSERT_TRUE(version->preferences_behind_next);
  EXPECT_NE(to_string(*version->preferences_behind_next).find("CG*KH*KW >= 32"), std::string::npos);
  const std::string text = emit_c(s, {.function = "conv"});
  std::vector<std::string> order;
  for (std::size_t at = text.find("return conv_tile_"); at != std::string::npos;
       at = text.find("return conv_tile_", at + 1))
    order.push_back(text.substr(at + 12, text.find('(', at) - at - 12));
  const std::vector<std::string> expected = {"tile_64", "tile_64_innermost", "tile_32",
                                             "tile_32_innermost", "tile_32"};
  ASSERT_GE(order.size(), expected.size());
  order.resize(expected.size());
  EXPECT_EQ(order, expected);
  for (const Version& v : s.versions)
    EXPECT_EQ(v.preferences_behind_next.has_value(), v.name == "tile_32") << v.name;
}

/// Such a tensor may be missing, so that no address of it is computed either.
TEST(Schedule, PrefetchesNothingOfWhatACallMayLack) {
  std::size_t lacked = 0;
  for (const char* name : {"rms_norm.grad.grad", "softmax.grad.grad", "var.grad.grad"}) {
    const OpRecord& op = find_op(name);
    const LoopProgram p =
        compile_for_calls(instantiate(op, {DType::f32, full_mask(op)}), op.optional_outputs);
    EmitOptions options;
    options.optional_outputs = op.optional_outputs;
    const Schedule s = schedule(p);
    const std::string text = emit_c(s, options), all = emit_c(s, {});
    EXPECT_NE(all.find("mote_prefetch("), std::string::npos) << name;
    for (const TensorDecl& t : p.tensors) {
      if (outputs_needing(p, t.name, op.optional_outputs).empty()) continue;
      const std::string prefetch = "mote_prefetch(&" + t.name + "[";
      if (all.find(prefetch) != std::string::npos) ++lacked;
      EXPECT_EQ(text.find(prefetch), std::string::npos) << name << ": " << t.name;
    }
  }
  EXPECT_GT(lacked, 0U);
}

bool has_pairs(const Schedule& s) {
  return std::ranges::any_of(s.versions, [](const Version& v) {
    return std::ranges::any_of(v.program.tensors,
                               [](const TensorDecl& t) { return t.integer_bits == 16; });
  });
}

/// Sums of one nest run in vectors along n; those of the other nest, whose terms lie along m, are
/// added up for n side by side. A matrix with too few columns or rows for tiles needs both.
TEST(Schedule, AddsUpColumnsOfOneNestBesideRowsOfAnother) {
  for (const char* op : {"matmul.grad", "gemm.grad"}) {
    const Schedule s = schedule(compiled_op(op));
    const auto rows = std::ranges::find(s.versions, "simd_n", &Version::name);
    ASSERT_NE(rows, s.versions.end()) << op;
    for_each(rows->program.body, [&](const Stmt& stmt) {
      const auto* loop = std::get_if<Loop>(&stmt.kind);
      if (loop == nullptr || std::holds_alternative<Loop>(loop->body.front().kind)) return;
      EXPECT_EQ(loop->kind, LoopKind::simd) << op << ": " << loop->variable.name();
    });
  }
}

/// A call that lacks ga does not read b: b may have any strides.
TEST(Schedule, AsksNoStridesOfWhatACallDoesNotRead) {
  const OpRecord& op = find_op("matmul.grad");
  const LoopProgram p = compile_for_calls(instantiate(op, {DType::f32, 7}), op.optional_outputs);
  EmitOptions options;
  options.optional_outputs = op.optional_outputs;
  const std::string text = emit_c(schedule(p), options);
  EXPECT_NE(text.find("if (sgy[3] == 1 && (sb[3] == 1 || ga == NULL))"), std::string::npos);
  EXPECT_EQ(emit_c(schedule(p), {}).find("ga == NULL"), std::string::npos);
}

/// Products of bytes are added in pairs. Panels hold integers of 16 bits, registers those of 32.
/// Both sums of a row are over the same terms: registers hold half of the rows at once.
TEST(Schedule, RowsHaveSeveralSumsOfTheSameTerms) {
  expect_golden_schedule(compile(program(R"--(
op two_gates "y = (tanh(x a^T) tanh(x b^T)) v"
input x f32[N, I]
input a f32[H, I]
input b f32[H, I]
input v f32[H, K]
p = sum[2](x[i0, i2 over N, H, I] * a[i1, i2 over N, H, I])
q = sum[2](x[i0, i2 over N, H, I] * b[i1, i2 over N, H, I])
t = tanh(p) * tanh(q)
output y = sum[2](t[i0, i2 over N, K, H] * v[i2, i1 over N, K, H])
)--")));
}

TEST(Schedule, PairsOfBytes) { expect_golden_schedule(compiled_op("matmul_integer", DType::u8)); }

TEST(Schedule, PairsOfBytesInWindows) {
  for (const DType dtype : {DType::i8, DType::u8})
    for (const char* op : {"qmatmul", "conv2d_integer", "qconv2d"})
      EXPECT_TRUE(has_pairs(scheduled(compiled_op(op, dtype)))) << op;
}

/// The sum of n products of two bytes fits 32 bits while n * 128 * 128 is at most 2^31 - 1.
TEST(Schedule, PairsDemandThatSumsFit) {
  const Schedule s = scheduled(compile(program(R"(
op dot "y[m, n] = sum_k a[m, k] * b[k, n]"
input a i8[M, K]
input b i8[K, N]
products = i32(a[i0, i2 over M, N, K]) * i32(b[i2, i1 over M, N, K])
output y = sum[2](products)
)")));
  ASSERT_TRUE(has_pairs(s));
  EXPECT_NE(to_string(s).find("K <= 131071"), std::string::npos) << to_string(s);
}

/// The conditions of a row, or of a column, may leave out one term of a pair.
TEST(Schedule, PairsOfWhichOneTermIsLeftOut) {
  for (const char* where : {"iota(i2 over M, N, K) <= iota(i0 over M, N, K)",
                            "iota(i2 over M, N, K) <= iota(i1 over M, N, K)",
                            "iota(i2 over M, N, K) < iota(3 over M, N, K)"}) {
    const std::string text = std::string(R"(
op triangle
input a u8[M, K]
input b i8[K, N]
products = i32(a[i0, i2 over M, N, K]) * i32(b[i2, i1 over M, N, K])
output y = sum[2](where()") + where +
                             ", products, 0))\n";
    EXPECT_TRUE(has_pairs(scheduled(compile(program(text)), true))) << where;
  }
}

/// Neither integers of unknown size, nor other terms than products of two, have pairs.
TEST(Schedule, LeavesSumsThatAreNoPairs) {
  const auto sum_of_terms = [](const std::string& dtype, const std::string& term) {
    return scheduled(compile(program("op other\ninput a " + dtype + "[M, K]\ninput b " + dtype +
                                     "[K, N]\nx = i32(a[i0, i2 over M, N, K])\n"
                                     "z = i32(b[i2, i1 over M, N, K])\noutput y = sum[2](" +
                                     term + ")\n")));
  };
  EXPECT_TRUE(has_pairs(sum_of_terms("u8", "x * (z - 32767)")));
  EXPECT_FALSE(has_pairs(sum_of_terms("u8", "x * (z - 32768)")));
  EXPECT_FALSE(has_pairs(sum_of_terms("i32", "x * z")));
  EXPECT_FALSE(has_pairs(sum_of_terms("u8", "x + z")));
  EXPECT_FALSE(has_pairs(sum_of_terms("u8", "x * z * z")));
}

}  // namespace
}  // namespace mote
