// SPDX-License-Identifier: Apache-2.0
// Tests which functions run in one parallel region, and that a call runs all its iterations, for
// any size and any caller.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "c_library.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

using test::CLibrary;

std::string text_of(const std::shared_ptr<const Program>& program, const std::string& function) {
  return emit_c(schedule(compile(program)), {.function = function, .standalone = true});
}

std::string text_of_op(const std::string& name) {
  const OpRecord& op = find_op(name);
  return text_of(instantiate(op, {DType::f32, full_mask(op)}), "kernel");
}

std::string text_of(const std::string& program) {
  return text_of(std::make_shared<const Program>(parse_program(program)), "kernel");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool is_one_region(const std::string& text) {
  const bool joins = has(text, "omp_get_level()");
  EXPECT_EQ(joins, has(text, "#pragma omp parallel if (work > MOTE_PARALLEL_ABOVE)"));
  EXPECT_EQ(joins, !has(text, "#pragma omp parallel for"));
  EXPECT_EQ(joins, has(text, "#pragma omp for"));
  return joins;
}

TEST(EmitRegion, HoldsFunctionsOfLoopsThatThreadsShare) {
  for (const char* op : {"relu", "softmax", "layer_norm", "sum", "cumsum", "max_pool2d"})
    EXPECT_TRUE(is_one_region(text_of_op(op))) << op;
}

TEST(EmitRegion, HoldsNoFunctionThatAllocates) {
  for (const char* op : {"attention", "matmul", "conv2d"}) {
    const std::string text = text_of_op(op);
    ASSERT_TRUE(has(text, "mote_alloc(") || has(text, "mote_alloc_block(")) << op;
    EXPECT_FALSE(is_one_region(text)) << op;
  }
}

/// x[0] is read before the loop, and the loop's first iteration writes it if y is x.
TEST(EmitRegion, HoldsNoFunctionThatReadsAnElementOutsideOfItsLoops) {
  EXPECT_FALSE(
      is_one_region(text_of("op scaled\ninput x f32[N]\ninput z f32[]\n"
                            "s = exp(z)\noutput y = x * s[over N]\n")));
  EXPECT_TRUE(
      is_one_region(text_of("op scaled\nparam s real = 0.5\ninput x f32[N]\n"
                            "output y = x * exp($s)\n")));
}

/// Only the last loop needs no barrier: a following loop may overwrite the elements that another
/// one reads.
TEST(EmitRegion, LeavesOutTheLastBarrier) {
  const std::string text =
      text_of("op two\ninput x f32[N]\ninput z f32[M]\noutput y = x + 1\noutput w = z * 2\n");
  ASSERT_TRUE(is_one_region(text));
  const std::size_t first = text.rfind("#pragma omp for\n");
  const std::size_t last = text.rfind("#pragma omp for nowait\n");
  ASSERT_NE(first, std::string::npos);
  EXPECT_LT(first, last);
}

/// Computes y[k, n] = 2*x[n] for three k, with one call each, inside a parallel region or outside.
constexpr const char* kCallers = R"(
int from_region(const float *x, float *y, int64_t n);
int from_region(const float* x, float* y, int64_t n) {
  const int64_t s[1] = {1};
#ifdef _OPENMP
#pragma omp parallel for num_threads(3) schedule(static, 1)
#endif
  for (int k = 0; k < 3; k++) twice(x, s, y + k * n, s, n);
  return 0;
}
int from_none(const float* x, float* y, int64_t n);
int from_none(const float* x, float* y, int64_t n) {
  const int64_t s[1] = {1};
  for (int k = 0; k < 3; k++) twice(x, s, y + k * n, s, n);
  return 0;
}
)";

TEST(EmitRegion, EveryCallHasAllItsRounds) {
  const auto program = std::make_shared<const Program>(
      parse_program("op twice\ninput x f32[N]\noutput y = x * 2\n"));
  const std::string prototype =
      "#include <stdint.h>\n" + emit_c_prototype(compile(program), {.function = "twice"});
  const CLibrary library(prototype + text_of(program, "twice") + kCallers, MOTE_OPENMP_FLAG);
  for (const char* caller : {"from_none", "from_region"}) {
    for (const std::int64_t n : {0, 1, 64, 5000, 200000}) {
      const auto count = static_cast<std::size_t>(n);
      std::vector<float> x(count);
      for (std::size_t k = 0; k < count; ++k) x[k] = static_cast<float>(k);
      std::vector<float> y(3 * count, -1.0F);
      library.function<int(const float*, float*, std::int64_t)>(caller)(x.data(), y.data(), n);
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < y.size(); ++k) wrong += y[k] == 2 * x[k % count] ? 0 : 1;
      EXPECT_EQ(wrong, 0U) << caller << " " << n;
    }
  }
}

}  // namespace
}  // namespace mote
