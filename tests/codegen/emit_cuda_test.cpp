// SPDX-License-Identifier: Apache-2.0
// Tests the form of the CUDA text. The oracle checks the results of the kernels on the shim
// (tests/cuda).
#include "mote/codegen/emit_cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/stages.h"
#include "cuda_programs.h"
#include "golden.h"
#include "loop_builders.h"
#include "mote/codegen/passes.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

using namespace test;

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(CudaText, SaysTheEquationAndWhatThreadsAreFor) {
  const LoopProgram loops = compiled(R"(op rows "y[r] = sum_n x[r, n]"
input x f32[R, N]
output y = sum[1](x)
)");
  const std::string text = emit_cuda(cuda_program(loops, CudaVariant::reference), false);
  expect_has(text, "#include \"mote_cuda.h\"\n");
  expect_has(text, "/* rows: y[r] = sum_n x[r, n]\n");
  expect_has(text, "extern \"C\" __global__ void __launch_bounds__(128, 1)\nmote_rows(");
  expect_has(text, "for (int64_t r = mote_thread(); r < R; r += mote_threads()) {");
  expect_has(text, "double sum = 0.0;");
  EXPECT_EQ(text.find("__shared__"), std::string::npos);
  const std::string alone = emit_cuda(cuda_program(loops, CudaVariant::reference), true);
  EXPECT_EQ(alone.find("#include \"mote_cuda.h\""), std::string::npos);
  expect_has(alone, "struct mote_strides");
}

TEST(CudaText, GenGivesARowToABlockWhereItIsContiguous) {
  const LoopProgram loops = compiled(R"(op rows
input x f32[R, N]
output y = x - sum[1 keep](x)
)");
  const CudaProgram program = cuda_program(loops, CudaVariant::gen);
  ASSERT_GT(program.kernels.size(), 3U);
  EXPECT_EQ(program.kernels[3].part, 1);
  const auto& [vectors, rows, plain] =
      std::tie(program.kernels[0], program.kernels[1], program.kernels[2]);
  EXPECT_TRUE(vectors.is_by_block() && rows.is_by_block() && !plain.is_by_block());
  EXPECT_TRUE(vectors.stage == rows.stage && rows.stage == plain.stage);
  const std::vector<KnownStride> strides = {{"x", 1, 1}, {"y", 1, 1}};
  EXPECT_TRUE(std::ranges::equal(vectors.strides(), strides));
  EXPECT_TRUE(std::ranges::equal(rows.strides(), strides));
  EXPECT_TRUE(plain.strides().empty());
  ASSERT_TRUE(vectors.per_block() && rows.per_block());
  ASSERT_EQ(vectors.per_block()->vectors.size(), 2U);
  for (const VectorRow& row : vectors.per_block()->vectors) {
    EXPECT_EQ(row.axis, 1) << row.tensor;
    EXPECT_EQ(row.elements, 4) << row.tensor;
  }
  EXPECT_TRUE(rows.per_block()->vectors.empty());
  test::expect_golden(vectors.text);
  const std::string text = emit_cuda(program, false);
  expect_has(text, "float sum = 0.0f;");
  expect_has(text, "sum = mote_block_sumf(sum);");
  EXPECT_EQ(count_of(text, "MOTE_DEVICE float mote_block_sumf("), 1);
}

/// Counts the loops of a row that use vector accesses; each is unrolled.
int vector_loops(const std::string& text) {
  const CudaProgram program = cuda_program(compiled(text), CudaVariant::gen);
  const CudaPerBlock* rows = program.kernels.front().per_block();
  if (rows == nullptr || rows->vectors.empty()) return 0;
  return count_of(program.kernels.front().text, "#pragma unroll");
}

TEST(CudaText, RowsGoByVectorsWhereElementsAreAtTheLoopsOwnPlace) {
  const std::string rows = "op rows\ninput x f32[R, N]\n";
  EXPECT_EQ(vector_loops(rows + "output y = sum[1](x)\n"), 1);
  EXPECT_EQ(vector_loops(rows + "output y = x - max[1 keep](x)\n"), 2);
  // The accesses are: the next element, which is not aligned; a row from its middle on; every other
  // element.
  EXPECT_EQ(vector_loops(rows + "output y = sum[1](x[i0, i1 + 1 over R, M: N - 1])\n"), 0);
  EXPECT_EQ(vector_loops(rows + "output y = sum[1](where(iota(i1 - 3 over R, N) >= 0, x, 0))\n"),
            0);
  EXPECT_EQ(vector_loops(rows + "output y = sum[1](x[i0, 2*i1 over R, M: N / 2])\n"), 0);
}

/// Returns the number of loops of the kernel without blocks, and the number of those that are not
/// unrolled.
std::pair<int, int> loops_and_rolled(const LoopProgram& loops) {
  std::vector<CudaKernel> kernels = cuda_program(loops, CudaVariant::gen).kernels;
  std::erase_if(kernels, [](const CudaKernel& k) { return k.part.has_value(); });
  const CudaKernel& plain = kernels.back();
  EXPECT_FALSE(plain.is_by_block());
  return {count_of(plain.text, "for (") - 1, count_of(plain.text, "#pragma unroll 1\n")};
}

TEST(CudaText, LoopsInARoundThatHasSeveralAreNotUnrolled) {
  const OpRecord& gradient = find_op("attention_softcap.grad");
  const auto [loops, rolled] =
      loops_and_rolled(compile(instantiate(gradient, {DType::f32, full_mask(gradient)})));
  EXPECT_GT(rolled, 1);
  EXPECT_LT(rolled, loops);  // only the innermost ones
  const std::string rows = "op rows\ninput x f32[R, N, M]\n";
  EXPECT_EQ(loops_and_rolled(compiled(rows + "output y = sum[1, 2](x)\n")), std::pair(2, 0));
  EXPECT_EQ(loops_and_rolled(compiled(rows + "output y = x - max[2 keep](x)\n")), std::pair(2, 0));
}

TEST(CudaText, FunctionsOfElementsOfF32AreComputedInDouble) {
  const LoopProgram loops = compiled("op e\ninput x f32[N]\noutput y = exp(x) + pow(x, abs(x))\n");
  const std::string text = to_string(cuda_program(loops, CudaVariant::reference));
  expect_has(text, "exp((double)x[");
  expect_has(text, "pow((double)x[");
  expect_has(text, "fabs((double)x[");
}

TEST(CudaText, ScattersInOrder) {
  const OpRecord& op = find_op("index_add");
  const LoopProgram loops = compile(instantiate(op, {DType::f32, full_mask(op)}));
  const CudaProgram program = cuda_program(loops, CudaVariant::reference);
  EXPECT_TRUE(std::ranges::any_of(program.kernels, &CudaKernel::is_in_order));
  EXPECT_EQ(to_string(program).find("atomic"), std::string::npos);
}

}  // namespace
}  // namespace mote
