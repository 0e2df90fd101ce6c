// SPDX-License-Identifier: Apache-2.0
// Tests the passes that give the iterations of a stage to blocks of threads, and put them in steps
// of vectors.
#include <gtest/gtest.h>

#include "cuda/row_vectors.h"
#include "cuda/rows.h"
#include "cuda/share_rows.h"
#include "cuda/stages.h"
#include "cuda/vector_access.h"
#include "ir/dependence.h"
#include "mote/base/error.h"
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

/// Returns the loops of an op of one stage, as the variant gen marks them.
LoopProgram stage_of(const LoopProgram& loops) {
  LoopProgram native = loops;
  native.native = true;
  const cuda::Stages cut = cuda::cut(native);
  EXPECT_EQ(cut.stages.size(), 1U);
  LoopProgram stage = cut.program;
  stage.body = cut.stages.front().body;
  return stage;
}
LoopProgram stage_of(const std::string& text) { return stage_of(compile(program(text))); }

LoopProgram share_rows(LoopProgram p) {
  const Loop& first = *first_of_threads(p.body).front();
  const auto strides = cuda::strides_of_rows(p, *threads_chain(first).back());
  return strides ? cuda::share_rows(p, *strides) : p;
}

LoopProgram vectorise_rows(LoopProgram p) {
  const auto made = cuda::vectorise_rows(p);
  return made ? made->program : p;
}

/// Returns the tensors with the shapes that they have without it.
LoopProgram vectorise_elements(LoopProgram p) {
  const auto made = cuda::vectorise_elements(p, p.body);
  return made ? made->program : p;
}

constexpr const char* kRows = R"(op rows
input x f32[R, N]
output y = x - sum[1 keep](x)
output z = sum[1](x)
)";

TEST(ShareRows, Golden) { expect_golden_pass(share_rows, stage_of(kRows)); }

TEST(ShareRows, GivesPlanesToWarpsAndLanes) {
  expect_golden_pass(share_rows, stage_of("op planes\ninput x f32[N, C, S]\n"
                                          "output y = sum[0, 2](x)\n"));
}

TEST(ShareRows, LeavesWindowsAlone) {
  expect_unchanged(share_rows, stage_of("op window\ninput x f32[N, M]; input w f32[K, L]\n"
                                        "output y = sum[2, 3](x[i0 + i2, i1 + i3 over N - K + 1, M "
                                        "- L + 1, K, L] * w[i2, i3 over N - K + 1, M - L + 1, K, "
                                        "L])\n"));
}

TEST(VectoriseRows, Golden) { expect_golden_pass(vectorise_rows, share_rows(stage_of(kRows))); }

TEST(VectoriseRows, LeavesEveryOtherElementAlone) {
  expect_unchanged(vectorise_rows,
                   share_rows(stage_of("op rows\ninput x f32[R, N]\n"
                                       "output y = sum[1](x[i0, i1 + 1 over R, M: N - 1])\n")));
}

/// Vectors lie in tensors of one axis: the loops mean the same as the op on such a tensor.
TEST(VectoriseElements, Golden) {
  expect_golden_pass(vectorise_elements, stage_of("op map\ninput x f32[N]\n"
                                                  "output y = max(x, 0.0)\n"));
}

TEST(VectoriseElements, LeavesTransposesAlone) {
  expect_unchanged(vectorise_elements, stage_of("op transpose\ninput x f32[M, N]\n"
                                                "output y = x[i1, i0 over N, M]\n"));
}

/// Steps that leave out the iterations that fill no vector leave elements without a value.
TEST(VectoriseRows, WithoutTheRestIsRejected) {
  LoopProgram p = vectorise_rows(share_rows(stage_of(kRows)));
  Loop* steps = nullptr;
  const auto find = [&](const auto& self, Body& body) -> void {
    for (Stmt& s : body) {
      Loop* loop = as_loop(s);
      if (loop != nullptr && loop->step != Expr(1) && loop->accumulators.empty()) steps = loop;
      if (Body* nested = nested_body(s)) self(self, *nested);
    }
  };
  find(find, p.body);
  ASSERT_NE(steps, nullptr);
  steps->end = steps->end - (steps->step - 1);
  const Array x{DType::f32, {1, 5}, std::vector<Number>(5, Number(1.0))};
  EXPECT_THROW((void)interpret(p, {x}, {}), InternalError);
}

}  // namespace
}  // namespace mote
