// SPDX-License-Identifier: Apache-2.0
// Tests mote-gen: a second run writes nothing, --list agrees with the registry, errors name bad
// arguments, and the keys of the registry find its entries.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "call.h"
#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "shell.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

using test::Ran;

Ran mote_gen(const std::string& arguments) {
  return test::run_in_shell(std::string(MOTE_GEN) + " " + arguments);
}

std::map<std::string, fs::file_time_type> times(const fs::path& folder) {
  std::map<std::string, fs::file_time_type> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) all[entry.path().string()] = entry.last_write_time();
  return all;
}

/// The second run has either the texts that the first one kept, or none.
TEST(MoteGen, ASecondRunWritesNothing) {
  std::string folder = (fs::temp_directory_path() / "mote_gen_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string kept = "--cache " + folder + ".cache --built-from " MOTE_GEN " ";
  const Ran first = mote_gen("--timing --shards 3 " + kept + folder);
  ASSERT_EQ(first.code, 0) << first.out;
  EXPECT_NE(first.out.find(" kernels, 21 files written, "), std::string::npos) << first.out;
  const auto written = times(folder);
  ASSERT_EQ(written.size(), 21U);
  for (const std::string& how : {kept, std::string()}) {
    const Ran again = mote_gen("--timing --shards 3 " + how + folder);
    EXPECT_NE(again.out.find(" kernels, 0 files written, "), std::string::npos) << again.out;
    EXPECT_EQ(times(folder), written);
  }
  fs::remove_all(folder);
  EXPECT_TRUE(fs::remove(folder + ".cache"));
}

TEST(MoteGen, ListsWhatTheRegistryHolds) {
  const Ran ran = mote_gen("--list");
  ASSERT_EQ(ran.code, 0);
  std::size_t lines = 0;
  for (const char c : ran.out) lines += c == '\n' ? 1U : 0U;
  EXPECT_EQ(2 * lines, generated_kernels().size()) << "each stands in two variants";
  EXPECT_NE(ran.out.find("mote_conv2d_f32 conv2d f32 inputs 0x7\n"), std::string::npos);
}

TEST(MoteGen, NamesBadArguments) {
  EXPECT_EQ(mote_gen("").code, 2);
  EXPECT_NE(mote_gen("").out.find("mote-gen: the output folder is missing\nusage: "),
            std::string::npos);
  EXPECT_NE(mote_gen("--shards none x").out.find("--shards takes a number in 1..1000, got 'none'"),
            std::string::npos);
  EXPECT_EQ(mote_gen("--frob").code, 2);
  const Ran unwritable = mote_gen("/dev/null/x");
  EXPECT_EQ(unwritable.code, 1);
  EXPECT_TRUE(unwritable.out.starts_with("mote-gen: ")) << unwritable.out;
}

const mote_generated_kernel& reference_of(const mote_generated_kernel& k) {
  return *find_generated(k.op, kReference, *parse_dtype(k.dtype), k.input_mask);
}

/// Integers that can run in vectors have kernels of their own.
TEST(Generated, IntegersHaveGenKernels) {
  for (const char* op : {"add", "relu", "max", "equal", "sum", "reduce_max", "cumsum", "argmax",
                         "max_pool2d", "transpose", "gather", "matmul", "logical_and"}) {
    int kernels = 0;
    for (const mote_generated_kernel& k : generated_kernels()) {
      if (std::string_view(k.op) != op || k.variant != kGen || is_real(*parse_dtype(k.dtype)))
        continue;
      ++kernels;
      EXPECT_NE(k.kernel.run, reference_of(k).kernel.run) << op << " " << k.dtype;
    }
    EXPECT_GT(kernels, 0) << op;
  }
}

TEST(Generated, EveryKernelIsFoundByItsKeys) {
  ASSERT_GT(generated_kernels().size(), 100U);
  for (const mote_generated_kernel& k : generated_kernels()) {
    EXPECT_EQ(find_generated(k.op, k.variant, *parse_dtype(k.dtype), k.input_mask), &k);
    EXPECT_STREQ(k.kernel.op, k.op);
    EXPECT_EQ(k.kernel.size, sizeof(mote_kernel));
    const bool draws = std::set<std::string_view>{"uniform", "normal"}.contains(k.op);
    const bool gen = k.kernel.run != reference_of(k).kernel.run;
    if (k.variant == kReference || draws) EXPECT_FALSE(gen) << k.op;
    if (k.variant == kGen && is_real(*parse_dtype(k.dtype)) && !draws) EXPECT_TRUE(gen) << k.op;
    EXPECT_EQ(k.kernel.contract->accumulator == MOTE_ACC_F64, !gen);
    EXPECT_EQ(k.kernel.contract->function_count > 0, gen && *parse_dtype(k.dtype) != DType::f64);
  }
  EXPECT_EQ(find_generated("no_such_op", kReference, DType::f32, 1), nullptr);
  EXPECT_EQ(find_generated("conv2d", "turbo", DType::f32, 7), nullptr);
}

TEST(Generated, TablesOfAnEarlierVersionAreReadByTheFormerNamesOfVariants) {
  const mote_generated_kernel table[] = {{"swish", "fast", "f32", 1, 1, 1, {}},
                                         {"swish", "oracle", "f32", 1, 1, 1, {}}};
  EXPECT_EQ(find_generated(table, "swish", kGen, DType::f32, 1), &table[0]);
  EXPECT_EQ(find_generated(table, "swish", kReference, DType::f32, 1), &table[1]);
}

TEST(Generated, GemmWithoutCIgnoresBeta) {
  const mote_generated_kernel* gemm = find_generated("gemm", kReference, DType::f64, 3);
  ASSERT_NE(gemm, nullptr);
  test::Tensor a(DType::f64, {2, 3});
  test::Tensor b(DType::f64, {3, 2}, {1, 3});
  test::Tensor y(DType::f64, {2, 2});
  a.fill_integers(1);
  b.fill_integers(2);
  test::Call call("gemm", {&a, &b, nullptr}, {&y});
  ASSERT_EQ(call.real("alpha", 2).real("beta", 5).run(gemm->kernel), MOTE_OK) << call.message();
  for (std::int64_t m = 0; m < 2; ++m)
    for (std::int64_t n = 0; n < 2; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < 3; ++k) sum += a.get({m, k}) * b.get({k, n});
      EXPECT_EQ(y.get({m, n}), 2 * sum);
    }
}

}  // namespace
}  // namespace mote
