// SPDX-License-Identifier: Apache-2.0
// Tests stages in parts: long reductions split, and folded values of iterations stored first.
// Numbers here are exact; tests/cuda runs every dtype on the shim.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "cuda/stages.h"
#include "loop_builders.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/walk.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

LoopProgram native_loops(const std::string& text) {
  LoopProgram p = compile(std::make_shared<const Program>(parse_program(text)));
  p.native = true;
  return p;
}

/// Makes multiples of a quarter, whose sums are exact.
Array numbers_of_quarters(const std::vector<std::int64_t>& shape) {
  Array a{DType::f64, shape, {}};
  for (std::int64_t k = 0; k < element_count(shape); ++k)
    a.values.emplace_back(0.25 * static_cast<double>((k * 7) % 11) - 1);
  return a;
}

/// Expects the same results from the parts of a program that is one stage.
void expect_same_in_parts(const std::string& text,
                          const std::vector<std::vector<std::int64_t>>& shapes, std::size_t parts) {
  SCOPED_TRACE(text);
  const LoopProgram loops = native_loops(text);
  const cuda::Stages whole = cuda::cut(loops);
  ASSERT_EQ(whole.stages.size(), 1U);
  const auto division = cuda::divided(whole, 0);
  ASSERT_TRUE(division);
  EXPECT_EQ(division->parts.stages.size(), parts);
  for (const auto& shape : shapes) {
    const std::vector<Array> inputs = {numbers_of_quarters(shape)};
    EXPECT_EQ(interpret(division->parts.program, inputs, {}), interpret(loops, inputs, {}));
  }
}

std::string text_of_kernel(const CudaProgram& program, const std::string& function) {
  for (const CudaKernel& k : program.kernels)
    if (k.function == function) return k.text;
  return "no " + function;
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in\n" << text;
}

TEST(CudaParts, LeaveTheSameNumbers) {
  const std::vector<std::vector<std::int64_t>> rank1 = {{300}, {64}, {65}, {1}, {0}};
  const std::vector<std::vector<std::int64_t>> rank3 = {{2, 300, 3}, {1, 64, 1}, {3, 0, 2}};
  expect_same_in_parts("op whole\ninput x f64[N]\noutput y = sum[0](x)\n", rank1, 2);
  expect_same_in_parts("op largest\ninput x f64[N]\noutput y = max[0](x) * 2.0\n", rank1, 2);
  expect_same_in_parts("op columns\ninput x f64[R, N, C]\noutput y = sum[1](x)\n", rank3, 2);
  expect_same_in_parts("op planes\ninput x f64[N, C, S]\noutput y = sum[0, 2](x)\n", rank3, 2);
  // A second reduction needs the first, and an elementwise part follows both.
  expect_same_in_parts(
      "op steps\ninput x f64[R, N, C]\n"
      "output y = (x - max[1 keep](x)) * sum[1 keep](x - max[1 keep](x))\n",
      rank3, 5);
  // The iterations contain a reduction: its results are stored first and then folded.
  expect_same_in_parts("op of_rows\ninput x f64[R, N, C]\noutput y = sum[0, 1](max[2](x))\n", rank3,
                       3);
}

Array locations_to_meet(const std::vector<std::int64_t>& shape, std::int64_t extent) {
  Array a{DType::i64, shape, {}};
  for (std::int64_t k = 0; k < element_count(shape); ++k)
    a.values.emplace_back(k * k % (extent + 2) - 1);  // some are out of range
  return a;
}

/// Elements are combined in their original order, so that rounding does not change; for `set` the
/// last one remains.
TEST(CudaParts, OfScattersKeepTheOrder) {
  for (const char* name : {"scatter_elements", "scatter_elements_add", "scatter_elements_mul"}) {
    SCOPED_TRACE(name);
    const OpRecord& op = find_op(name);
    LoopProgram loops = compile(instantiate(op, {DType::f64, full_mask(op)}));
    loops.native = true;
    const cuda::Stages whole = cuda::cut(loops);
    ASSERT_EQ(whole.stages.size(), 1U);
    EXPECT_TRUE(whole.stages[0].in_order);
    const auto division = cuda::divided(whole, 0);
    ASSERT_TRUE(division);
    EXPECT_EQ(division->parts.stages.size(), 3U) << "a copy, the scatter, a copy";
    for (const cuda::Stage& s : division->parts.stages) EXPECT_FALSE(s.in_order);
    for (const std::int64_t extent : {1, 5, 300}) {
      const std::vector<Array> inputs = {numbers_of_quarters({2, extent, 3}),
                                         locations_to_meet({2, 40, 3}, extent),
                                         numbers_of_quarters({2, 40, 3})};
      EXPECT_EQ(interpret(division->parts.program, inputs, {}), interpret(loops, inputs, {}));
    }
  }
}

TEST(CudaParts, OfScattersAreRangesOfLocations) {
  const OpRecord& op = find_op("embedding.grad");
  const CudaProgram program =
      cuda_program(compile(instantiate(op, {DType::f32, full_mask(op)})), CudaVariant::gen);
  const std::string text = text_of_kernel(program, "mote_embedding_grad_2_part1");
  expect_in(text, "/* A thread for each s, d2. */");
  expect_in(text, "if (t >= s * range && s * range + range > t) {");
  EXPECT_EQ(text.find("atomic"), std::string::npos);
}

TEST(CudaParts, AreOfLongReductionsAlone) {
  const auto is_divided = [](const std::string& text) {
    return cuda::divided(cuda::cut(native_loops(text)), 0).has_value();
  };
  EXPECT_FALSE(is_divided("op map\ninput x f32[N]\noutput y = x + 1.0\n"));
  EXPECT_FALSE(is_divided("op place\ninput x f32[R, N]\noutput y = argmax[1](x)\n"));
}

/// A divided scatter is no longer the work of one thread.
TEST(CudaParts, AreLegalProgramsOfEveryOp) {
  int found = 0, scatters = 0;
  const auto holds_scatter = [](const Body& body) {
    bool holds = false;
    for_each(body,
             [&](const Stmt& s) { holds = holds || std::holds_alternative<StoreReduce>(s.kind); });
    return holds;
  };
  for (const OpRecord* record : generated_ops()) {
    const Instance instance = instances(*record).front();
    SCOPED_TRACE(instance_name(*record, instance));
    LoopProgram loops = compile(instantiate(*record, instance));
    loops.native = true;
    const cuda::Stages cut = cuda::cut(loops);
    for (std::size_t k = 0; k < cut.stages.size(); ++k) {
      const auto division = cuda::divided(cut, k);
      found += division ? 1 : 0;
      if (!division || !holds_scatter(cut.stages[k].body)) continue;
      ++scatters;
      for (const cuda::Stage& s : division->parts.stages)
        EXPECT_FALSE(s.in_order && holds_scatter(s.body));
    }
  }
  EXPECT_GT(scatters, 20);
  EXPECT_GT(found, 50);
}

TEST(CudaParts, ArePartsAndThenTheirSum) {
  const CudaProgram program = cuda_program(
      native_loops("op whole\ninput x f32[N]\noutput y = sum[0](x)\n"), CudaVariant::gen);
  EXPECT_EQ(program.temporaries.size(), 1U);
  ASSERT_EQ(program.sizes.size(), 2U);
  EXPECT_EQ(program.sizes[0].name, "length64");
  expect_in(text_of_kernel(program, "mote_whole_rows"), "/* One block, where 1 is sx[0]. */");
  const std::string parts = text_of_kernel(program, "mote_whole_part1_row_vectors");
  expect_in(parts, "= n2_begin + threadIdx.x * 4; n2 + 4 <= n2_end; n2 += blockDim.x * 4)");
  expect_in(parts, "= n2_begin + (n2_end - n2_begin) / 4 * 4 + threadIdx.x;");
  expect_in(text_of_kernel(program, "mote_whole_part2_rows"), "part < parts");
}

/// A random program found this: memory between the parts of one stage had the name of a sum in
/// another stage.
TEST(CudaParts, GiveNamesThatNoOtherStageUses) {
  const LoopProgram loops = native_loops(R"(op names
input k bool[2]; input l i64[1]; input m f64[2]
v = sin(m)
output e = select[0](sum[0]((v + sum[0](v))[0 over 2, 3]), l)[0 over 2, 2]
output f = all[0](k)
)");
  EXPECT_NO_THROW(cuda_program(loops, CudaVariant::gen));
}

/// Every temporary in a kernel's arguments is among the program's temporaries, by name.
TEST(CudaParts, HaveTheirMemoryInTheProgram) {
  for (const OpRecord* record : generated_ops()) {
    const Instance instance = instances(*record).front();
    SCOPED_TRACE(instance_name(*record, instance));
    const CudaProgram program =
        cuda_program(compile(instantiate(*record, instance)), CudaVariant::gen);
    std::set<std::string> known;
    for (const CudaTemporary& t : program.temporaries) EXPECT_TRUE(known.insert(t.name).second);
    for (const CudaKernel& k : program.kernels)
      for (const CudaArgument& a : k.arguments)
        EXPECT_TRUE(a.kind != CudaArgument::Kind::temporary || known.contains(a.name))
            << k.function << ": " << a.name;
  }
}

TEST(CudaRows, OfANestGoByWarpsAndLanes) {
  const CudaProgram program = cuda_program(
      native_loops("op planes\ninput x f32[N, C, S]\noutput y = sum[0, 2](x)\n"), CudaVariant::gen);
  const std::string rows = text_of_kernel(program, "mote_planes_rows");
  expect_in(rows, "= threadIdx.x / 32; n < N; n += blockDim.x / 32)");
  expect_in(rows, "= threadIdx.x % 32; s < S; s += 32)");
  // A window is short, and its elements do not lie at the loop variables themselves.
  const CudaProgram window = cuda_program(
      native_loops("op window\ninput x f32[N, M]; input w f32[K, L]\n"
                   "output y = sum[2, 3](x[i0 + i2, i1 + i3 over N - K + 1, M - L + 1, K, L] * "
                   "w[i2, i3 over N - K + 1, M - L + 1, K, L])\n"),
      CudaVariant::gen);
  for (const CudaKernel& k : window.kernels) EXPECT_FALSE(!k.part && k.is_by_block()) << k.function;
}

}  // namespace
}  // namespace mote
