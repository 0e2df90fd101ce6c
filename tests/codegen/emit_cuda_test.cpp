// SPDX-License-Identifier: Apache-2.0
// CUDA text and the stages it is made of. That the kernels compute what they should is shown on the
// shim, by the oracle (tests/cuda); here is what the text must look like.
#include "mote/codegen/emit_cuda.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/distribute.h"
#include "cuda/stages.h"
#include "golden.h"
#include "loop_builders.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/codegen/passes.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

LoopProgram compiled(const std::string& text) {
  return compile(std::make_shared<const Program>(parse_program(text)));
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in\n" << text;
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

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

/// y[m, n] = max(sum_k a[m, k] * b[k, n] + c[n], 0)
constexpr const char* kProduct = R"(op product
input a f32[M, K]; input b f32[K, N]; input c f32[N]
output y = max(sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K]) + c[i1 over M, N], 0.0)
)";

TEST(CudaStages, PassSumsThroughMemory) {
  const LoopProgram loops = compiled(kShared);
  const cuda::Stages cut = cuda::cut(loops);
  verify(cut.program);
  ASSERT_EQ(cut.stages.size(), 2U);
  EXPECT_TRUE(cut.stages[0].in_order);
  EXPECT_FALSE(cut.stages[1].in_order);
  EXPECT_EQ(evaluate(cut.stages[1].rounds, {{Symbol(SymbolKind::size, "N"), 13}}), 13);
  const std::vector<Array> inputs = {numbers({13}), numbers({})};
  EXPECT_EQ(interpret(cut.program, inputs, {}), interpret(loops, inputs, {}));
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

/// Scores become memory of all rounds, computed for keys that no query sees too; limits, a
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

/// Rounds of rounds: of heads, then of queries and of keys; what is stored under a condition is
/// read where that holds. Also where outputs may be left out: a branch that all rounds take alike
/// is around the loops.
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
      cuda_gen_program(compile_for_calls(program, op.optional_outputs), options);
  ASSERT_EQ(cuda.distributed.size(), 1U);
  std::map<Symbol, std::int64_t> sizes;
  for (const auto& [name, extent] :
       {std::pair("B", 2), std::pair("HK", 2), std::pair("G", 3), std::pair("T", 5),
        std::pair("S", 7), std::pair("D", 11), std::pair("E", 13)})
    sizes.emplace(Symbol(SymbolKind::size, name), extent);
  std::vector<std::pair<std::int64_t, std::int64_t>> tiles;
  for (const CudaKernel& k : cuda.distributed.front().kernels)
    if (k.has_tiles()) tiles.emplace_back(evaluate(k.rows, sizes), evaluate(k.columns, sizes));
  // Scores G T x S; gq G T x D; gk S x D; gv S x E.
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {
      {15, 7}, {15, 11}, {7, 11}, {7, 13}};
  EXPECT_EQ(tiles, expected);
  for (const CudaKernel& k : cuda.kernels) EXPECT_FALSE(k.in_order) << k.function;
}

/// t = a[r], of which a nest replaces the part up to the diagonal: further rounds of the nest would
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

/// Of scores and of what weighs values tiles, of the softmax rows; weights are read along the keys.
TEST(CudaDistribution, GivesStagesTilesAndRows) {
  const OpRecord& op = find_op("attention");
  const LoopProgram loops = compile(instantiate(op, {DType::f32, full_mask(op)}));
  EXPECT_TRUE(cuda_program(loops, {}).distributed.empty());
  const CudaProgram program = cuda_gen_program(loops, {});
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
  expect_has(text, "const int slot = true ? lane % 16 : lane / 64;");
}

TEST(CudaDistribution, NeedsMemoryOfRoundsAndANest) {
  EXPECT_FALSE(cuda::distributed(compiled(kProduct), cuda::Steps::nests));
  EXPECT_FALSE(cuda::distributed(compiled(kShared), cuda::Steps::nests));
  const OpRecord& softmax = find_op("softmax");
  EXPECT_FALSE(cuda::distributed(compile(instantiate(softmax, {DType::f32, full_mask(softmax)})),
                                 cuda::Steps::nests));
}

TEST(CudaText, SaysTheEquationAndWhatThreadsAreFor) {
  const LoopProgram loops = compiled(R"(op rows "y[r] = sum_n x[r, n]"
input x f32[R, N]
output y = sum[1](x)
)");
  const std::string text = emit_cuda(cuda_program(loops, {}), false);
  expect_has(text, "#include \"mote_cuda.h\"\n");
  expect_has(text, "/* rows: y[r] = sum_n x[r, n]\n");
  expect_has(text, "extern \"C\" __global__ void __launch_bounds__(128, 1)\nmote_rows(");
  expect_has(text, "for (int64_t r = mote_thread(); r < R; r += mote_threads()) {");
  expect_has(text, "double sum = 0.0;");
  EXPECT_EQ(text.find("__shared__"), std::string::npos);
  const std::string alone = emit_cuda(cuda_program(loops, {}), true);
  EXPECT_EQ(alone.find("#include \"mote_cuda.h\""), std::string::npos);
  expect_has(alone, "struct mote_strides");
}

TEST(CudaText, GenGivesARowToABlockWhereItIsContiguous) {
  const LoopProgram loops = compiled(R"(op rows
input x f32[R, N]
output y = x - sum[1 keep](x)
)");
  const CudaProgram program = cuda_gen_program(loops, {});
  ASSERT_GT(program.kernels.size(), 3U);
  EXPECT_EQ(program.kernels[3].part, 1);
  const auto& [packs, rows, plain] =
      std::tie(program.kernels[0], program.kernels[1], program.kernels[2]);
  EXPECT_TRUE(packs.by_block && rows.by_block && !plain.by_block);
  EXPECT_TRUE(packs.stage == rows.stage && rows.stage == plain.stage);
  const std::vector<KnownStride> strides = {{"x", 1, 1}, {"y", 1, 1}};
  EXPECT_EQ(packs.strides, strides);
  EXPECT_EQ(rows.strides, strides);
  EXPECT_TRUE(plain.strides.empty());
  ASSERT_EQ(packs.packed_rows.size(), 2U);
  for (const PackedRow& row : packs.packed_rows) {
    EXPECT_EQ(row.axis, 1) << row.tensor;
    EXPECT_EQ(row.elements, 4) << row.tensor;
  }
  EXPECT_TRUE(rows.packed_rows.empty());
  test::expect_golden(packs.text);
  const std::string text = emit_cuda(program, false);
  expect_has(text, "float sum = 0.0f;");
  expect_has(text, "sum = mote_block_sumf(sum);");
  EXPECT_EQ(count_of(text, "MOTE_DEVICE float mote_block_sumf("), 1);
}

/// The loops of a row that go by packs, for each of which there is "mote_pack<".
int packed_loops(const std::string& text) {
  const CudaProgram program = cuda_gen_program(compiled(text), {});
  if (program.kernels.front().packed_rows.empty()) return 0;
  return count_of(program.kernels.front().text, "#pragma unroll");
}

TEST(CudaText, RowsGoByPacksWhereElementsAreAtTheLoopsOwnPlace) {
  const std::string rows = "op rows\ninput x f32[R, N]\n";
  EXPECT_EQ(packed_loops(rows + "output y = sum[1](x)\n"), 1);
  EXPECT_EQ(packed_loops(rows + "output y = x - max[1 keep](x)\n"), 2);
  // The next element, which begins no pack; a row from its middle on; every other element.
  EXPECT_EQ(packed_loops(rows + "output y = sum[1](x[i0, i1 + 1 over R, M: N - 1])\n"), 0);
  EXPECT_EQ(packed_loops(rows + "output y = sum[1](where(iota(i1 - 3 over R, N) >= 0, x, 0))\n"),
            0);
  EXPECT_EQ(packed_loops(rows + "output y = sum[1](x[i0, 2*i1 over R, M: N / 2])\n"), 0);
}

/// The thread's own loops of the kernel that goes by threads, and how many are not unrolled.
std::pair<int, int> loops_and_rolled(const LoopProgram& loops) {
  std::vector<CudaKernel> kernels = cuda_gen_program(loops, {}).kernels;
  std::erase_if(kernels, [](const CudaKernel& k) { return k.part > 0; });
  const CudaKernel& plain = kernels.back();
  EXPECT_FALSE(plain.by_block);
  return {count_of(plain.text, "for (") - 1, count_of(plain.text, "#pragma unroll 1\n")};
}

TEST(CudaText, LoopsInARoundThatHasSeveralAreNotUnrolled) {
  const OpRecord& gradient = find_op("attention_softcap.grad");
  const auto [loops, rolled] =
      loops_and_rolled(compile(instantiate(gradient, {DType::f32, full_mask(gradient)})));
  EXPECT_GT(rolled, 1);
  EXPECT_LT(rolled, loops);  // innermost ones alone
  const std::string rows = "op rows\ninput x f32[R, N, M]\n";
  EXPECT_EQ(loops_and_rolled(compiled(rows + "output y = sum[1, 2](x)\n")), std::pair(2, 0));
  EXPECT_EQ(loops_and_rolled(compiled(rows + "output y = x - max[2 keep](x)\n")), std::pair(2, 0));
}

/// Its kernel of tiles that are not wide.
const CudaKernel& tiles_of(const CudaProgram& program) {
  return *std::ranges::find_if(
      program.kernels, [](const CudaKernel& k) { return k.has_tiles() && !k.has_wide_tiles(); });
}

TEST(CudaTiles, OfAProductWithWhatFollowsIt) {
  const CudaProgram program = cuda_gen_program(compiled(kProduct), {});
  const CudaKernel& kernel = tiles_of(program);
  EXPECT_TRUE(kernel.strides.empty());
  const std::map<Symbol, std::int64_t> sizes = {{Symbol(SymbolKind::size, "M"), 65},
                                                {Symbol(SymbolKind::size, "N"), 129}};
  EXPECT_EQ(evaluate(kernel.rows, sizes), 65);
  EXPECT_EQ(evaluate(kernel.columns, sizes), 129);
  EXPECT_EQ(evaluate(kernel.rounds, sizes), 6);
  test::expect_golden(kernel.text);
}

/// Operands of 16 bits are staged as they are, for tensor cores, 16 bytes at a time where they can
/// be.
TEST(CudaTiles, OfAProductOfSixteenBits) {
  const CudaProgram program = cuda_gen_program(compiled(R"(op product
input a bf16[M, K]; input b bf16[K, N]
output y = sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K])
)"),
                                               {});
  test::expect_golden(tiles_of(program).text);
}

TEST(CudaTiles, WideOfAProductOfSixteenBits) {
  const CudaProgram program = cuda_gen_program(compiled(R"(op product
input a bf16[B, M, K]; input b bf16[B, K, N]
output y = max(sum[3](a[i0, i1, i3 over B, M, N, K] * b[i0, i3, i2 over B, M, N, K]), 0)
)"),
                                               {});
  const CudaKernel& kernel = program.kernels.at(0);
  ASSERT_TRUE(kernel.has_wide_tiles());
  std::string operands;
  for (const PackedOperand& o : kernel.packed_operands)
    operands += fmt::format("{} {} {} by {}; ", o.tensor, o.axes[0], o.axes[1], o.elements);
  EXPECT_EQ(operands, "a 1 2 by 8; b 2 1 by 8; ");
  test::expect_golden(kernel.text);
}

/// Rows, columns and what is summed are a loop each, and every product counts.
TEST(CudaTiles, AreWideForPlainProducts) {
  struct Form {
    const char* output;
    bool has_wide_tiles;
  };
  const Form forms[] = {
      {"sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K])", true},
      {"sum[2](exp(a[i0, i2 over M, N, K]) * b[i2, i1 over M, N, K])", false},
      {"sum[2](where(iota(i2 over M, N, K) < iota(i0 over M, N, K), a[i0, i2 over M, N, K] * b[i2, "
       "i1 over M, N, K], 0.0))",
       false},
      {"sum[2](a[i0, i0 + i2 over M, N, K - M] * b[i2, i1 over M, N, K - M])", false}};
  for (const Form& f : forms) {
    SCOPED_TRACE(f.output);
    for (const std::string dtype : {"f32", "f16", "f64"}) {
      const CudaProgram program =
          cuda_gen_program(compiled("op form\ninput a " + dtype + "[M, K]; input b " + dtype +
                                    "[K, N]\noutput y = " + f.output + "\n"),
                           {});
      EXPECT_EQ(std::ranges::any_of(program.kernels, &CudaKernel::has_wide_tiles),
                f.has_wide_tiles && dtype != "f64")
          << dtype;
    }
  }
}

/// Operands of f32 that may be rounded are, as they are staged; of 64 bits they may not.
TEST(CudaTiles, OfAProductOfTf32) {
  const auto product_of = [](const std::string& dtype) {
    return cuda_tf32_program(compiled("op product\ninput a " + dtype + "[M, K]; input b " + dtype +
                                      "[K, N]\noutput y = sum[2](a[i0, i2 over M, N, K] * b[i2, i1 "
                                      "over M, N, K])\n"),
                             {});
  };
  EXPECT_FALSE(product_of("f64").rounds_to_tf32());
  EXPECT_FALSE(product_of("f16").rounds_to_tf32());
  const CudaProgram program = product_of("f32");
  ASSERT_TRUE(program.kernels.at(0).rounds_to_tf32);
  EXPECT_FALSE(program.kernels.back().rounds_to_tf32);
  test::expect_golden(program.kernels.at(0).text);
}

/// What is computed between memory and the product is no element of 16 bits.
TEST(CudaTiles, TakeTensorCoresForElementsAlone) {
  struct Form {
    const char* inputs;
    const char* output;
    bool has_tensor_cores;
  };
  const Form forms[] = {
      {"a f16[M, K]; input b f16[K, N]", "a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K]", true},
      {"a f16[M, K]; input b f16[K, N]", "exp(a[i0, i2 over M, N, K]) * b[i2, i1 over M, N, K]",
       false},
      {"a f32[M, K]; input b f32[K, N]", "a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K]", false}};
  for (const Form& f : forms) {
    SCOPED_TRACE(f.output);
    const CudaProgram program =
        cuda_gen_program(compiled(std::string("op form\ninput ") + f.inputs +
                                  "\noutput y = sum[2](" + f.output + ")\n"),
                         {});
    const CudaKernel& kernel = tiles_of(program);
    EXPECT_EQ(kernel.text.find("mote_tile_multiply_f16(") != std::string::npos, f.has_tensor_cores);
  }
}

/// Groups, padding and strides: several loops an axis, a condition that moves with columns.
TEST(CudaTiles, OfAConvolution) {
  const OpRecord& op = find_op("conv2d");
  const LoopProgram loops = compile(instantiate(op, {DType::f32, full_mask(op)}));
  const CudaProgram program = cuda_gen_program(loops, {});
  ASSERT_TRUE(program.kernels.at(0).has_tiles());
  test::expect_golden(program.kernels.at(0).text);
}

TEST(CudaTiles, NeedTwoOperandsThatAreReadAgain) {
  struct Form {
    const char* output;
    bool has_tiles;
  };
  const Form forms[] = {
      {"sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K])", true},
      {"sum[2](exp(a[i0, i2 over M, N, K]) * b[i2, i1 over M, N, K])", true},
      {"sum[2](where(iota(i2 over M, N, K) < iota(i0 over M, N, K), a[i0, i2 over M, N, K] * b[i2, "
       "i1 over M, N, K], 0.0))",
       true},
      {"sum[2](where(iota(i2 over M, N, K) < iota(i0 + i1 over M, N, K), a[i0, i2 over M, N, K] * "
       "b[i2, i1 over M, N, K], 0.0))",
       false},
      {"sum[2](a[i0, i2 over M, N, K] + b[i2, i1 over M, N, K])", false},
      {"max[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K])", false},
      {"sum[1](a * a)", false},
      {"sum[2](a[i0, i2 over M, N, K] * a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K])", true}};
  for (const Form& f : forms) {
    SCOPED_TRACE(f.output);
    const CudaProgram program = cuda_gen_program(
        compiled(std::string("op form\ninput a f32[M, K]; input b f32[K, N]\noutput y = ") +
                 f.output + "\noutput z = exp(b)\n"),
        {});
    EXPECT_EQ(std::ranges::any_of(program.kernels, &CudaKernel::has_tiles), f.has_tiles);
  }
}

TEST(CudaText, FunctionsOfElementsOfF32AreComputedInDouble) {
  const LoopProgram loops = compiled("op e\ninput x f32[N]\noutput y = exp(x) + pow(x, abs(x))\n");
  const std::string text = to_string(cuda_program(loops, {}));
  expect_has(text, "exp((double)x[");
  expect_has(text, "pow((double)x[");
  expect_has(text, "fabs((double)x[");
}

TEST(CudaText, ScattersInOrder) {
  const OpRecord& op = find_op("index_add");
  const LoopProgram loops = compile(instantiate(op, {DType::f32, full_mask(op)}));
  const CudaProgram program = cuda_program(loops, {});
  EXPECT_TRUE(std::ranges::any_of(program.kernels, &CudaKernel::in_order));
  EXPECT_EQ(to_string(program).find("atomic"), std::string::npos);
}

}  // namespace
}  // namespace mote
