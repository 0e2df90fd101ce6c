// SPDX-License-Identifier: Apache-2.0
// Tests that a loop program is cut into the stages of CUDA kernels, and that loops of attention are
// distributed.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cuda/distribute.h"
#include "cuda/stages.h"
#include "cuda_programs.h"
#include "golden.h"
#include "ir/dependence.h"
#include "loop_builders.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/codegen/passes.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

using namespace test;

Array numbers(const std::vector<std::int64_t>& shape) {
  Array a{DType::f64, shape, {}};
  for (std::int64_t k = 0; k < element_count(shape); ++k)
    a.values.emplace_back(0.25 * static_cast<double>((k * 7) % 11) - 1);
  return a;
}

constexpr const char* kShared = R"(op shared
input x f64[N]; input s f64[]
output total = sum[0](x) * s
output z = x * sum[0](x*x) - s[over N]
)";

TEST(CudaStages, PassSumsThroughMemory) {
  const LoopProgram loops = compiled(kShared);
  const cuda::Stages cut = cuda::cut(loops);
  verify(cut.program);
  ASSERT_EQ(cut.stages.size(), 2U);
  EXPECT_TRUE(cut.stages[0].in_order);
  EXPECT_FALSE(cut.stages[1].in_order);
  EXPECT_EQ(evaluate(cut.stages[1].iterations, {{Symbol(SymbolKind::size, "N"), 13}}), 13);
  const std::vector<Array> inputs = {numbers({13}), numbers({})};
  EXPECT_EQ(interpret(cut.program, inputs, {}), interpret(loops, inputs, {}));
}

/// Statements that are not shared become loops of one iteration, in several stages here.
TEST(CudaStages, OfOneIterationHaveTheirOwnVariables) {
  LoopProgram loops = compiled(R"(op product
input x f64[1]; input k i64[2]; input m f64[2]
output f = sum[0](select_scatter[0, mul](x, sum[0](m)[over 2], k)[0 over 2, 1])
)");
  loops.native = true;
  EXPECT_NO_THROW(verify(cuda::cut(loops).program));
}

TEST(CudaStages, OfEveryOpAreLegalPrograms) {
  for (const OpRecord* record : generated_ops()) {
    const Instance instance = instances(*record).front();
    SCOPED_TRACE(instance_name(*record, instance));
    const LoopProgram loops =
        compile_for_calls(instantiate(*record, instance), record->optional_outputs);
    EXPECT_NO_THROW(verify(cuda::cut(loops).program));
    EXPECT_NO_THROW(cuda::distributed(loops, cuda::Steps::nests));
  }
}

/// Removes the k-th barrier; returns false if there are fewer.
bool remove_barrier(Body& body, int& k) {
  for (std::size_t at = 0; at < body.size(); ++at) {
    if (std::holds_alternative<Barrier>(body[at].kind) && k-- == 0) {
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    }
    if (Body* nested = nested_body(body[at]); nested != nullptr && remove_barrier(*nested, k))
      return true;
  }
  return false;
}

/// verify() accepts the loops of every kernel, and rejects them without one of their barriers.
TEST(CudaStages, KernelsOfEveryOpAreLegalAndNeedTheirBarriers) {
  int barriers = 0, needed = 0;
  for (const OpRecord* record : generated_ops()) {
    const Instance instance = instances(*record).front();
    SCOPED_TRACE(instance_name(*record, instance));
    EmitOptions options;
    options.optional_outputs = record->optional_outputs;
    const CudaProgram program =
        cuda_program(compile_for_calls(instantiate(*record, instance), record->optional_outputs),
                     CudaVariant::gen, options);
    for (const CudaKernel* kernel : all_kernels(program)) {
      EXPECT_NO_THROW(verify(kernel->loops())) << to_string(kernel->loops());
      for (int k = 0; kernel->is_by_block(); ++k, ++barriers) {
        LoopProgram without = kernel->loops();
        int at = k;
        if (!remove_barrier(without.body, at)) break;
        try {
          verify(without);
        } catch (const InternalError&) {
          ++needed;
        }
      }
    }
  }
  EXPECT_EQ(needed, barriers);
  EXPECT_GT(barriers, 20);
}

/// Scores are stored for all iterations, and computed also for keys that no query sees; limits, the
/// softmax's sums and the order of all sums stay.
TEST(CudaDistribution, OfAttention) {
  const OpRecord& op = find_op("attention");
  const LoopProgram loops = compile(instantiate(op, {DType::f64, full_mask(op)}));
  const auto parts = cuda::distributed(loops, cuda::Steps::nests);
  ASSERT_TRUE(parts);
  test::expect_golden(to_string(*parts));
  const std::vector<Array> inputs = {numbers({2, 4, 3, 2}), numbers({2, 2, 5, 2}),
                                     numbers({2, 2, 5, 3}), numbers({2, 4, 3, 5})};
  for (const std::int64_t causal : {0, 1})
    for (const std::int64_t window : {-1, 1}) {
      const std::map<std::string, Number> params = {{"causal", Number(causal)},
                                                    {"window0", Number(window)}};
      EXPECT_EQ(interpret(*parts, inputs, params), interpret(loops, inputs, params));
    }
}

/// The loops are nested: heads, then queries, and keys. A value that is stored under a condition is
/// read only where the condition holds. Outputs may be left out: a branch that all iterations take
/// alike encloses the loops.
TEST(CudaDistribution, OfAttentionsGradient) {
  const OpRecord& op = find_op("attention.grad");
  const auto program = instantiate(op, {DType::f64, full_mask(op)});
  const LoopProgram loops = compile(program);
  const auto parts = cuda::distributed(loops, cuda::Steps::nests);
  ASSERT_TRUE(parts);
  const std::vector<Array> inputs = {numbers({2, 4, 3, 3}), numbers({2, 4, 3, 2}),
                                     numbers({2, 2, 5, 2}), numbers({2, 2, 5, 3}),
                                     numbers({2, 4, 3, 5}), numbers({2, 4, 3, 3})};
  for (const std::int64_t causal : {0, 1})
    for (const std::int64_t window : {-1, 1}) {
      const std::map<std::string, Number> params = {{"causal", Number(causal)},
                                                    {"window0", Number(window)}};
      EXPECT_EQ(interpret(*parts, inputs, params), interpret(loops, inputs, params));
    }
  EmitOptions options;
  options.optional_outputs = op.optional_outputs;
  const CudaProgram cuda =
      cuda_program(compile_for_calls(program, op.optional_outputs), CudaVariant::gen, options);
  ASSERT_EQ(cuda.distributed.size(), 1U);
  std::map<Symbol, std::int64_t> sizes;
  for (const auto& [name, extent] :
       {std::pair("B", 2), std::pair("HK", 2), std::pair("G", 3), std::pair("T", 5),
        std::pair("S", 7), std::pair("D", 11), std::pair("E", 13)})
    sizes.emplace(Symbol(SymbolKind::size, name), extent);
  std::vector<std::pair<std::int64_t, std::int64_t>> tiles;
  for (const CudaKernel& k : cuda.distributed.front().kernels)
    if (const CudaPerTile* tile = k.per_tile())
      tiles.emplace_back(evaluate(tile->rows, sizes), evaluate(tile->columns, sizes));
  // The sizes are: scores G T x S; gq G T x D; gk S x D; gv S x E.
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {
      {15, 7}, {15, 11}, {7, 11}, {7, 13}};
  EXPECT_EQ(tiles, expected);
  for (const CudaKernel& k : cuda.kernels) EXPECT_FALSE(k.is_in_order()) << k.function;
}

/// t = a[r], and a nest replaces the part up to the diagonal: further iterations of the nest would
/// replace the rest.
TEST(CudaDistribution, KeepsWhatAnEarlierStepStored) {
  const Uop a = input("a", DType::f64, {"R", "S"}), b = input("b", DType::f64, {"S", "D"});
  const Expr r = test::var("r"), s = test::var("s"), d = test::var("d");
  const auto at = [](const std::string& tensor, std::vector<Expr> index) {
    return test::at(tensor, std::move(index), DType::f64);
  };
  const auto sum = [](const std::string& name, const std::string& over, const Expr& end, Value of) {
    return test::loop(over, end, {test::fold(name, ReduceOp::sum, std::move(of))},
                      {{name, ReduceOp::sum, DType::f64}});
  };
  const Expr k = test::var("k"), seen = test::var("seen");
  const Body round = {
      test::loop("s", test::size("S"), {test::store("t", {s}, at("a", {r, s}))}),
      test::loop("seen", min(test::size("S"), r + 1),
                 {sum("product", "d", test::size("D"),
                      test::op(MapOp::mul, {at("a", {r, seen}), at("b", {seen, d})})),
                  test::store("t", {seen}, accumulated_value("product", DType::f64))}),
      sum("total", "k", test::size("S"), at("t", {k})),
      test::store("y", {r}, accumulated_value("total", DType::f64))};
  const LoopProgram loops =
      test::loops_of({"partly", "", {}, {a, b}, {{"y", sum_over(a, {1})}}, {}, {}},
                     {test::loop("r", test::size("R"), round)},
                     {test::temporary("t", {test::size("S")}, DType::f64)});
  verify(loops);
  const auto parts = cuda::distributed(loops, cuda::Steps::nests);
  ASSERT_TRUE(parts);
  const std::vector<Array> inputs = {numbers({3, 5}), numbers({5, 2})};
  EXPECT_EQ(interpret(*parts, inputs, {}), interpret(loops, inputs, {}));
}

/// The scores and the product of weights and values get tiles, the softmax gets rows; weights are
/// read along the keys.
TEST(CudaDistribution, GivesStagesTilesAndRows) {
  const OpRecord& op = find_op("attention");
  const LoopProgram loops = compile(instantiate(op, {DType::f32, full_mask(op)}));
  EXPECT_TRUE(cuda_program(loops, CudaVariant::reference).distributed.empty());
  const CudaProgram program = cuda_program(loops, CudaVariant::gen);
  ASSERT_EQ(program.distributed.size(), 1U);
  const CudaProgram& parts = program.distributed.front();
  EXPECT_EQ(parts.temporaries.size(), 2U);
  std::vector<std::string> first_of_stages;
  int stage = 0;
  for (const CudaKernel& k : parts.kernels)
    if (std::exchange(stage, k.stage) != k.stage) first_of_stages.push_back(k.function);
  EXPECT_EQ(first_of_stages,
            (std::vector<std::string>{"mote_attention_parts_1_tiles", "mote_attention_parts_2_rows",
                                      "mote_attention_parts_3_tiles"}));
  EXPECT_EQ(all_kernels(program).size(), program.kernels.size() + parts.kernels.size());
  const std::string text = emit_cuda(program, false);
  for (const CudaKernel* k : all_kernels(program)) expect_has(text, "\n" + k->function + "(");
  expect_has(text, "const int slot = lane % 16;");
}

TEST(CudaDistribution, NeedsMemoryOfRoundsAndANest) {
  EXPECT_FALSE(cuda::distributed(compiled(kProduct), cuda::Steps::nests));
  EXPECT_FALSE(cuda::distributed(compiled(kShared), cuda::Steps::nests));
  const OpRecord& softmax = find_op("softmax");
  EXPECT_FALSE(cuda::distributed(compile(instantiate(softmax, {DType::f32, full_mask(softmax)})),
                                 cuda::Steps::nests));
}

}  // namespace
}  // namespace mote
