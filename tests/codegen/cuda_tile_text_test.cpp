// SPDX-License-Identifier: Apache-2.0
// Tests which products get tiles, and the text of these tiles.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "cuda_programs.h"
#include "golden.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/passes.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

using namespace test;

const CudaKernel& tiles_of(const CudaProgram& program) {
  return *std::ranges::find_if(program.kernels, [](const CudaKernel& k) {
    return k.has_tiles() && !k.has_pipelined_tiles();
  });
}

TEST(CudaTiles, OfAProductWithWhatFollowsIt) {
  const CudaProgram program = cuda_program(compiled(kProduct), CudaVariant::gen);
  const CudaKernel& kernel = tiles_of(program);
  EXPECT_TRUE(kernel.strides().empty());
  const std::map<Symbol, std::int64_t> sizes = {{Symbol(SymbolKind::size, "M"), 65},
                                                {Symbol(SymbolKind::size, "N"), 129}};
  EXPECT_EQ(evaluate(kernel.per_tile()->rows, sizes), 65);
  EXPECT_EQ(evaluate(kernel.per_tile()->columns, sizes), 129);
  EXPECT_EQ(evaluate(kernel.iterations, sizes), 6);
  test::expect_golden(kernel.text);
}

/// Operands of 16 bits are staged unchanged for tensor cores, 16 bytes at a time where possible.
TEST(CudaTiles, OfAProductOfSixteenBits) {
  const CudaProgram program = cuda_program(compiled(R"(op product
input a bf16[M, K]; input b bf16[K, N]
output y = sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K])
)"),
                                           CudaVariant::gen);
  test::expect_golden(tiles_of(program).text);
}

/// Where no distance along the reduction is known, threads go along rows, and nothing is chosen.
TEST(CudaTiles, ChooseNoLoopWhereOneIsKnown) {
  const CudaProgram program = cuda_program(compiled(R"(op turns
input x f32[2, M]; input y f32[K, N]
output z = sum[2](x[i2%2, i0 over M, N, K] * y[i2, i1 over M, N, K])
)"),
                                           CudaVariant::gen);
  const std::string& text = tiles_of(program).text;
  EXPECT_NE(text.find("if (x_vectors)"), std::string::npos);
  EXPECT_NE(text.find("y_along ?"), std::string::npos);
  EXPECT_EQ(text.find("x_along"), std::string::npos);
  EXPECT_EQ(text.find("false ?"), std::string::npos);
}

TEST(CudaTiles, PipelinedOfAProductOfSixteenBits) {
  const CudaProgram program = cuda_program(compiled(R"(op product
input a bf16[B, M, K]; input b bf16[B, K, N]
output y = max(sum[3](a[i0, i1, i3 over B, M, N, K] * b[i0, i3, i2 over B, M, N, K]), 0)
)"),
                                           CudaVariant::gen);
  const CudaKernel& kernel = program.kernels.at(0);
  ASSERT_TRUE(kernel.has_pipelined_tiles());
  std::string operands;
  for (const VectorOperand& o : kernel.per_tile()->operands)
    operands += fmt::format("{} {} {} by {}; ", o.tensor, o.axes[0], o.axes[1], o.elements);
  EXPECT_EQ(operands, "a 1 2 by 8; b 2 1 by 8; ");
  test::expect_golden(kernel.text);
}

/// Pipelined tiles need one loop each for rows, columns and the sum, and every product must count.
TEST(CudaTiles, ArePipelinedForPlainProducts) {
  struct Form {
    const char* output;
    bool has_pipelined_tiles;
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
          cuda_program(compiled("op form\ninput a " + dtype + "[M, K]; input b " + dtype +
                                "[K, N]\noutput y = " + f.output + "\n"),
                       CudaVariant::gen);
      EXPECT_EQ(std::ranges::any_of(program.kernels, &CudaKernel::has_pipelined_tiles),
                f.has_pipelined_tiles && dtype != "f64")
          << dtype;
    }
  }
}

/// f32 operands are rounded to tf32 while they are staged, if that is allowed; those of f64 and f16
/// are not.
TEST(CudaTiles, OfAProductOfTf32) {
  const auto product_of = [](const std::string& dtype) {
    return cuda_program(compiled("op product\ninput a " + dtype + "[M, K]; input b " + dtype +
                                 "[K, N]\noutput y = sum[2](a[i0, i2 over M, N, K] * b[i2, i1 "
                                 "over M, N, K])\n"),
                        CudaVariant::tf32);
  };
  EXPECT_FALSE(product_of("f64").rounds_to_tf32());
  EXPECT_FALSE(product_of("f16").rounds_to_tf32());
  const CudaProgram program = product_of("f32");
  ASSERT_TRUE(program.kernels.at(0).rounds_to_tf32());
  EXPECT_FALSE(program.kernels.back().rounds_to_tf32());
  test::expect_golden(program.kernels.at(0).text);
}

/// A value that is computed between memory and the product is not a 16-bit element.
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
    const CudaProgram program = cuda_program(compiled(std::string("op form\ninput ") + f.inputs +
                                                      "\noutput y = sum[2](" + f.output + ")\n"),
                                             CudaVariant::gen);
    const CudaKernel& kernel = tiles_of(program);
    EXPECT_EQ(kernel.text.find("mote_tile_multiply_f16(") != std::string::npos, f.has_tensor_cores);
  }
}

/// Groups, padding and strides give several loops per axis and a condition that depends on the
/// column.
TEST(CudaTiles, OfAConvolution) {
  const OpRecord& op = find_op("conv2d");
  const LoopProgram loops = compile(instantiate(op, {DType::f32, full_mask(op)}));
  const CudaProgram program = cuda_program(loops, CudaVariant::gen);
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
    const CudaProgram program = cuda_program(
        compiled(std::string("op form\ninput a f32[M, K]; input b f32[K, N]\noutput y = ") +
                 f.output + "\noutput z = exp(b)\n"),
        CudaVariant::gen);
    EXPECT_EQ(std::ranges::any_of(program.kernels, &CudaKernel::has_tiles), f.has_tiles);
  }
}

}  // namespace
}  // namespace mote
