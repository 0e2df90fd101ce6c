// SPDX-License-Identifier: Apache-2.0
// Tests which helpers, arguments and constants emitted text has: those that the printed text uses,
// whatever words stand in it by chance.
#include "c/helpers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "c_library.h"
#include "mote/base/characters.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"
#include "mote/uops/program.h"
#include "shell.h"

namespace mote {
namespace {

using emit::Helper;

std::vector<Helper> all_helpers() {
  std::vector<Helper> all;
  for (const auto table : {emit::reference_helpers(), emit::bound_helpers(), emit::gen_helpers(),
                           emit::thread_helpers(), emit::memory_helpers()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

/// Returns true if the text calls the function, or has the constant.
bool calls_helper(std::string_view text, const std::string& helper) {
  const bool is_constant = helper.starts_with("MOTE_");
  const std::string call = is_constant ? helper : helper + "(";
  for (std::size_t at = text.find(call); at != std::string_view::npos;
       at = text.find(call, at + 1)) {
    const std::size_t end = at + call.size();
    const bool ends = !is_constant || end == text.size() || !is_word(text[end]);
    if (ends && (at == 0 || !is_word(text[at - 1]))) return true;
  }
  return false;
}

TEST(Helpers, TheTableSaysWhichTheyCall) {
  std::vector<Helper> before;
  for (const Helper& h : all_helpers()) {
    for (const Helper& other : before)
      EXPECT_EQ(std::ranges::find(h.calls, other.name) != h.calls.end(),
                calls_helper(h.function, std::string(other.name)))
          << h.name << ", " << other.name;
    before.push_back(h);
    const auto is_known = [&](std::string_view name) {
      return name.empty() || std::ranges::find(before, name, &Helper::name) != before.end();
    };
    EXPECT_TRUE(std::ranges::all_of(h.calls, is_known)) << h.name << " stands before its callee";
  }
}

TEST(Helpers, ComeWithThoseThatTheyCall) {
  EXPECT_EQ(emit_c_helpers({}), "");
  EXPECT_EQ(emit_c_helpers({"isnan", "mote_k"}), "");
  const std::string div = emit_c_helpers({"mote_div"});
  EXPECT_LT(div.find("int64_t mote_neg("), div.find("int64_t mote_div("));
  EXPECT_EQ(div.find("mote_abs"), std::string::npos);
}

TEST(Helpers, HaveSpecifiersOfTheirTarget) {
  const std::string cuda = cuda_helpers(std::set<std::string>{"mote_max", "mote_maxf"});
  EXPECT_NE(cuda.find("MOTE_DEVICE double mote_max("), std::string::npos) << cuda;
  EXPECT_NE(cuda.find("MOTE_INLINE float mote_maxf("), std::string::npos) << cuda;
  EXPECT_EQ(cuda.find("static"), std::string::npos) << cuda;
  EXPECT_EQ(cuda_helpers(std::set<std::string>{"mote_alloc"}), "");
}

/// Arrays of a block begin at multiples of 64 bytes, each 64 bytes behind the one before. Arrays
/// that no memory can hold have no block, also where their bytes are more than a size_t counts.
TEST(Helpers, PlaceArraysInABlock) {
  const test::CLibrary library(emit_c_gen_includes() +
                               emit_c_helpers({"mote_place", "mote_alloc_block", "mote_array"}) +
                               R"(
size_t place(size_t *size, size_t element, int rank, const int64_t *extents) {
  return mote_place(size, element, rank, extents);
}
int has_block(size_t size) {
  char *block = mote_alloc_block(size);
  if (block == NULL) return 0;
  const int is_aligned = (uintptr_t)block % 64 == 0;
  if (size > 0) memset(mote_array(block, size / 2), 1, size - size / 2);
  free(block);
  return is_aligned;
}
)");
  const auto place =
      library.function<std::size_t(std::size_t*, std::size_t, int, const std::int64_t*)>("place");
  const auto has_block = library.function<int(std::size_t)>("has_block");
  std::size_t size = 0;
  const auto begin_of = [&](std::size_t element, const std::vector<std::int64_t>& extents) {
    return place(&size, element, static_cast<int>(extents.size()), extents.data());
  };
  EXPECT_EQ(begin_of(4, {3, 5}), 64U);
  EXPECT_EQ(begin_of(8, {2, 0}), 192U);
  EXPECT_EQ(begin_of(8, {-1, 9}), 256U);
  EXPECT_EQ(begin_of(8, {2, 8}), 320U);
  EXPECT_EQ(begin_of(1, {1}), 512U);
  EXPECT_EQ(size, 576U);
  EXPECT_TRUE(has_block(size));
  size = 0;
  EXPECT_EQ(begin_of(8, {0}), 64U);
  EXPECT_TRUE(has_block(size));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::vector<std::int64_t>& extents : std::vector<std::vector<std::int64_t>>{
           {kMost, kMost}, {kMost}, {kMost / 8 + 1}, {2, kMost, 2}, {kMost / 4, 4, 4, 1}}) {
    size = 0;
    begin_of(4, {3});
    begin_of(8, extents);
    EXPECT_FALSE(has_block(size)) << size;
    begin_of(4, {7});
    EXPECT_FALSE(has_block(size)) << size;
  }
}

/// A program that writes `count` bytes at the begin of the first of two arrays of 64 bytes in a
/// block.
std::string writer_of(int count) {
  return emit_c_gen_includes() + emit_c_helpers({"mote_place", "mote_alloc_block", "mote_array"}) +
         "int main(void) {\n"
         "  const int64_t extent = 64;\n"
         "  size_t size = 0;\n"
         "  const size_t first = mote_place(&size, 1, 1, &extent);\n"
         "  const size_t second = mote_place(&size, 1, 1, &extent);\n"
         "  char *block = mote_alloc_block(size);\n"
         "  volatile char *array = mote_array(block, first);\n"
         "  memset(mote_array(block, second), 1, 64);\n" +
         fmt::format("  for (int k = 0; k < {}; k++) array[k] = 2;\n", count) +
         "  free(block);\n"
         "  return 0;\n"
         "}\n";
}

TEST(Helpers, TheAddressSanitizerWatchesBetweenArraysOfABlock) {
  const std::string folder = ::testing::TempDir() + "/mote_watched_block";
  std::filesystem::create_directories(folder);
  for (const int count : {64, 65, 128}) {
    std::ofstream(folder + "/block.c") << writer_of(count);
    const test::Ran built = test::run_in_shell(
        fmt::format("cc -std=c11 -g -fsanitize=address {0}/block.c -o {0}/block -lm", folder));
    ASSERT_EQ(built.code, 0) << built.out;
    const test::Ran ran = test::run_in_shell(folder + "/block");
    EXPECT_EQ(ran.code == 0, count <= 64) << count << " bytes: " << ran.out;
    EXPECT_EQ(ran.out.find("use-after-poison") != std::string::npos, count > 64) << ran.out;
  }
  std::filesystem::remove_all(folder);
}

LoopProgram compiled_text(const std::string& text) {
  return compile(std::make_shared<const Program>(parse_program(text)));
}

/// The input has a name that stands in a pragma too.
TEST(Uses, AWordOfAPragmaReadsNoArgument) {
  const std::string text =
      "op d\ninput omp i64[N]; input x i64[N, M]\noutput y = sum[1](x) + i64(omp != omp)\n";
  for (const bool gen : {false, true}) {
    const std::string out =
        gen ? emit_c(schedule(compiled_text(text)), {}) : emit_c(compiled_text(text), {});
    EXPECT_EQ(out.find("#pragma omp") != std::string::npos, gen) << out;
    EXPECT_NE(out.find("(void)omp;"), std::string::npos) << out;
  }
}

/// Texts of several functions have the rare helpers that these call, behind those that they call.
TEST(Uses, RareHelpersStandBehindThoseThatTheyCall) {
  const std::string out = emit_c_rare_helpers({"mote_transpose_columns_32"});
  const std::size_t square = out.find("void mote_transpose_8x8_32(");
  ASSERT_NE(square, std::string::npos) << out;
  EXPECT_LT(square, out.find("void mote_transpose_columns_32("));
  EXPECT_EQ(out.find("void mote_transpose_4x4_64("), std::string::npos) << out;
}

/// A helper whose call is folded away is not needed.
TEST(Uses, AFoldedComparisonCallsNoHelper) {
  const std::string text = "op d\ninput x i64[N]\noutput y = (x*x == x*x)\n";
  std::set<std::string> helpers;
  EmitOptions options;
  options.helpers = &helpers;
  const std::string out = emit_c(compiled_text(text), options);
  EXPECT_EQ(out.find("mote_mul("), std::string::npos) << out;
  EXPECT_FALSE(helpers.contains("mote_mul")) << out;
  EXPECT_NE(out.find("(void)x;"), std::string::npos) << out;
}

}  // namespace
}  // namespace mote
