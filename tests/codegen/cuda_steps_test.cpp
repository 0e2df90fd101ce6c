// SPDX-License-Identifier: Apache-2.0
// Tests the steps of a GPU's schedule: those of every kernel give it again, and one that a
// dependence forbids is refused with that dependence.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <regex>
#include <string>

#include "cuda_programs.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

using namespace test;

LoopProgram op_loops(const char* name) {
  const OpRecord& op = find_op(name);
  return compile(instantiate(op, {DType::f32, full_mask(op)}));
}

CudaProgram by(const LoopProgram& p, const std::string& steps) {
  return cuda_program_by(p, parse_steps(steps), CudaVariant::gen);
}

/// Returns why the last of the steps is refused.
std::string refusal(const LoopProgram& p, const std::string& steps) {
  try {
    (void)by(p, steps);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& e) {
    const std::string text = e.what(), marker = "cannot be taken: ";
    return text.substr(text.find(marker) + marker.size());
  }
  return "no error";
}

/// Returns the statements without what numbers tell apart: an op whose other stages are in parts
/// too has further names.
std::string without_numbers(const CudaKernel& k) {
  std::string text;
  for (const Stmt& s : k.loops().body) text += to_string(s);
  return std::regex_replace(text, std::regex("[_0-9]*\\b"), "");
}

TEST(CudaSteps, OfEveryKernelGiveItAgain) {
  std::size_t kernels = 0;
  for (const OpRecord* record : generated_ops()) {
    const Instance instance = instances(*record).front();
    SCOPED_TRACE(instance_name(*record, instance));
    EmitOptions options;
    options.optional_outputs = record->optional_outputs;
    const LoopProgram p =
        compile_for_calls(instantiate(*record, instance), record->optional_outputs);
    const CudaProgram program = cuda_program(p, CudaVariant::gen, options);
    for (const CudaKernel* kernel : all_kernels(program)) {
      const std::string steps = to_string(steps_of(*kernel->version));
      const CudaProgram again = cuda_program_by(p, parse_steps(steps), CudaVariant::gen, options);
      EXPECT_TRUE(std::ranges::any_of(again.kernels,
                                      [&](const CudaKernel& k) {
                                        return k.worker.index() == kernel->worker.index() &&
                                               without_numbers(k) == without_numbers(*kernel);
                                      }))
          << kernel->function << ": " << steps << "\n"
          << loops_text(again);
      ++kernels;
    }
  }
  EXPECT_GT(kernels, 1000U);
}

TEST(CudaSteps, MakeTheKernelsThatTheyName) {
  const LoopProgram softmax = op_loops("softmax");
  const CudaProgram rows = by(softmax, "keep y, grid r c, row_vectors r");
  ASSERT_EQ(rows.kernels.size(), 2U);  // the second is for rows that are not adjacent
  EXPECT_EQ(rows.kernels[0].function, "mote_softmax_row_vectors");
  EXPECT_EQ(rows.kernels[1].function, "mote_softmax");
  expect_has(rows.kernels[0].text, "kept");
  EXPECT_EQ(by(softmax, "").kernels[0].text.find("kept"), std::string::npos);
  EXPECT_EQ(by(softmax, "threads r").kernels.size(), 1U);
  expect_has(by(softmax, "threads r").kernels[0].text,
             "for (int64_t r = mote_thread(); r < R; r += mote_threads()) {");
  const CudaProgram parts = by(softmax, "parts r");
  EXPECT_GT(parts.kernels.size(), 3U);
  EXPECT_FALSE(parts.sizes.empty());
  EXPECT_TRUE(
      std::ranges::none_of(parts.kernels, [](const CudaKernel& k) { return k.part.has_value(); }));
  const CudaProgram tiles = by(compiled(kProduct), "block_tile m 128");
  EXPECT_TRUE(tiles.kernels.front().has_pipelined_tiles());
  EXPECT_FALSE(tiles.kernels.back().has_tiles());
  const CudaProgram split = by(compiled("op map\ninput x f32[N]\noutput y = x + x\n"), "split n 4");
  expect_has(split.kernels[0].text, "for (int64_t");
}

TEST(CudaSteps, AreRefusedWithTheReason) {
  const LoopProgram softmax = op_loops("softmax");
  EXPECT_EQ(refusal(softmax, "grid n"), "iterations of n fold into max");
  EXPECT_EQ(refusal(softmax, "grid x"), "there is no loop x (loops: r, c, n, n2, n3)");
  EXPECT_EQ(refusal(softmax, "threads r, grid r"), "step 'threads r' was taken before it");
  EXPECT_EQ(refusal(softmax, "grid c"),
            "expected the first of the loops that can be shared (r, c), got c");
  EXPECT_EQ(refusal(softmax, "threads r, keep y"), "steps on loops come before those of a GPU");
  EXPECT_EQ(refusal(softmax, "simd n"), "a GPU's schedule does not have it");
  EXPECT_EQ(refusal(softmax, "row_vectors r"), "no block takes an iteration (step grid)");
  EXPECT_EQ(refusal(softmax, "block_tile r 64"),
            "its loops are no sum of products of rows with columns");
  EXPECT_EQ(refusal(softmax, "block_tile r 63"), "expected 64 or 128 rows, got 63");
  EXPECT_EQ(refusal(softmax, "grid r"), "the threads of a block cannot share `for c in 0..C {`");
  EXPECT_EQ(refusal(op_loops("argmax"), "grid r c"),
            "the threads of a block cannot combine argmax");
  EXPECT_EQ(refusal(compiled("op map\ninput x f32[N]\noutput y = x + x\n"), "parts n"),
            "it has no reduction to split, no scatter, and no steps that can be launches of their "
            "own");
  EXPECT_THROW(cuda_program_by(softmax, {}, CudaVariant::reference), Error);
}

}  // namespace
}  // namespace mote
