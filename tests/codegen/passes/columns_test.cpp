// SPDX-License-Identifier: Apache-2.0
// Tests sums over rows: which columns go inside of them, rows that are read for their own results
// and for the sums, and partial sums.
#include <algorithm>

#include "mote/codegen/walk.h"
#include "steps_testing.h"

namespace mote {
namespace {

using namespace test;

bool has_version(const Schedule& s, const std::string& name) {
  return std::ranges::any_of(s.versions, [&](const Version& v) { return v.name == name; });
}

std::string steps_of_version(const Schedule& s, const std::string& name) {
  const auto v = std::ranges::find(s.versions, name, &Version::name);
  return v == s.versions.end() ? "" : to_string(steps_of(*v));
}

/// The elements that are added up lie along s: sums over n and s for each c at a time would read
/// lines of which they use one element.
TEST(Columns, StayOutwardWhereTheirElementsLieApart) {
  const Schedule s = schedule(compiled_op("instance_norm.grad"));
  EXPECT_TRUE(has_version(s, "simd_s"));
  EXPECT_FALSE(has_version(s, "simd_s_inward"));
  EXPECT_FALSE(has_version(schedule(compiled_op("group_norm.grad")), "simd_s_inward"));
}

TEST(Columns, GoInwardWhereTheirElementsAreAdjacent) {
  EXPECT_TRUE(has_version(schedule(compiled_op("batch_norm_training.grad")), "simd_c2"));
}

TEST(Columns, RowsInBlocks) { expect_golden_schedule(compiled_op("layer_norm.grad")); }

TEST(Columns, RowsThatAreReadForSumsTooAreTakenInBlocks) {
  EXPECT_TRUE(steps_of_version(schedule(compiled_op("rms_norm.grad")), "rows_in_blocks")
                  .starts_with("blocks r 4, partial r_block 128, "));
  const LoopProgram own = compile(std::make_shared<const Program>(
      parse_program("op own\ninput x f32[R, N]\ns = max[1 keep](x)\noutput y = x / s\n"
                    "output z = sum[0](x / s)\n")));
  EXPECT_TRUE(has_version(schedule(own), "rows_in_blocks")) << to_string(schedule(own));
}

/// The rows do not read the input of the sums.
TEST(Columns, RowsThatAreReadOnceAreNotTakenInBlocks) {
  const LoopProgram other = compile(std::make_shared<const Program>(parse_program(
      "op other\ninput x f32[R, N]\ninput v f32[R, N]\nt = exp(max[1 keep](x))\noutput y = t * 2\n"
      "output z = sum[0](v * t)\n")));
  EXPECT_FALSE(has_version(schedule(other), "rows_in_blocks")) << to_string(schedule(other));
}

TEST(Steps, BlocksAddSeveralSumsInTheirOrder) {
  const LoopProgram p = after(compiled_op("layer_norm.grad"), "blocks r 3");
  std::size_t sums = 0;
  for_each(p.body, [&](const Stmt& s) {
    const auto* sum = std::get_if<StoreReduce>(&s.kind);
    sums += sum != nullptr && sum->tensor.ends_with("_of_blocks") ? 1U : 0U;
  });
  EXPECT_EQ(sums, 2U) << to_string(p);
}

/// The loop has fewer, as many or more iterations than a part, and one array of sums.
TEST(Steps, PartialSumsAreThoseOfParts) {
  const Expr i = var("i"), j = var("j"), k = var("k"), l = var("l");
  const LoopProgram p =
      loops_of(copy_spec("columns"),
               {loop("k", 3, {store("s", {k}, real(2))}),
                loop("i", size("N"),
                     {loop("j", 3, {{StoreReduce{"s", {j}, ScatterOp::add, at("x", {i})}}})}),
                loop("l", size("N"), {store("y", {l}, at("s", {Expr(2)}))})},
               {temporary("s", {3})});
  for (const char* amount : {"1", "2", "5", "1000"}) {
    const LoopProgram parts = after(p, std::string("partial i ") + amount);
    EXPECT_NE(to_string(parts).find("s_of_parts"), std::string::npos) << to_string(parts);
    (void)after(p, std::string("partial i ") + amount + ", threads i_part");
  }
}

/// Of terms for one array: the second is added to what the first has left.
TEST(Steps, JamAddsTwoTermsToOneArray) {
  const Expr i = var("i"), j = var("j"), k = var("k"), l = var("l");
  const auto add = [&](Value term) -> Stmt {
    return {StoreReduce{"s", {j}, ScatterOp::add, std::move(term)}};
  };
  const LoopProgram p = loops_of(
      copy_spec("terms"),
      {loop("k", 4, {store("s", {k}, real(2))}),
       loop("i", size("N"),
            {loop("j", 4, {add(at("x", {i})), add(op(MapOp::mul, {at("x", {i}), real(3)}))})}),
       loop("l", size("N"), {store("y", {l}, at("s", {Expr(2)}))})},
      {temporary("s", {4})});
  EXPECT_NE(to_string(after(p, "simd j, jam 2")).find("i_rows"), std::string::npos);
}

/// A loop that begins at the iteration is one over its block only if it ends with that.
TEST(Steps, PartialSumsHaveTheTermsOfLongerLoops) {
  const Expr i = var("i"), j = var("j"), k = var("k"), l = var("l");
  Stmt longer = loop("j", size("N"), {{StoreReduce{"s", {Expr(0)}, ScatterOp::add, at("x", {j})}}});
  std::get<Loop>(longer.kind).begin = i;
  const LoopProgram p =
      loops_of(copy_spec("triangle"),
               {loop("k", 1, {store("s", {k}, real(2))}), loop("i", size("N"), {longer}),
                loop("l", size("N"), {store("y", {l}, at("s", {Expr(0)}))})},
               {temporary("s", {1})});
  EXPECT_NE(to_string(after(p, "partial i 2, threads i_part")).find("s_of_parts"),
            std::string::npos);
}

TEST(Steps, PartialSumsAreRefusedWithTheReason) {
  const auto why = [](const LoopProgram& p, const std::string& steps) {
    const std::string text = refusal(p, steps);
    return text.substr(text.find("taken: ") + 7);
  };
  const Expr i = var("i"), l = var("l");
  EXPECT_EQ(why(loops_of(copy_spec("first"),
                         {store("s", {Expr(0)}, real(2)),
                          loop("i", size("N"),
                               {{StoreReduce{"s", {Expr(0)}, ScatterOp::add, at("x", {i})}}}),
                          loop("l", size("N"), {store("y", {l}, at("s", {Expr(0)}))})},
                         {temporary("s", {2})}),
                "partial i 4"),
            "it adds to no array that was filled before, or reads what it adds to");
  const LoopProgram norm = compiled_op("layer_norm.grad");
  EXPECT_EQ(why(compiled_op("add"), "partial l 4"),
            "it adds to no array that was filled before, or reads what it adds to");
  EXPECT_EQ(why(norm, "partial r 4"),
            "it adds to no array that was filled before, or reads what it adds to");
  EXPECT_EQ(why(compiled_op("softmax"), "partial n 4"), "iterations of n fold into max");
  EXPECT_EQ(why(norm, "blocks r 8, partial r_block 12"),
            "parts of 12 do not consist of whole steps of r_block");
  EXPECT_EQ(why(norm, "blocks r 8, partial r 8"), "its limits change");
  EXPECT_EQ(why(norm, "blocks r 8, simd n6, partial r_block 8"), "loop n6 has a kind already");
}

/// The loop that fills the array is around the sums: they begin when its first elements are stored.
TEST(Columns, PartsAddToNoArrayThatIsStillBeingFilled) {
  const LoopProgram p = compile(
      program("op pf\ninput x u8[A, A]\noutput e = x\n"
              "output f = scatter[max](u8(250)[over A], x to 0)\noutput g = e\n"));
  EXPECT_EQ(refusal(p, "simd a6, split a6 4096, threads a6_start, partial a3 4"),
            "pf: step 'partial a3 4' cannot be taken: it adds to no array that was filled before, or "
            "reads what it adds to");
}

}  // namespace
}  // namespace mote
