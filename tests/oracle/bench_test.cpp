// SPDX-License-Identifier: Apache-2.0
// Tests `mote bench`: the work that it counts, the intervals of its medians, what it refuses, and
// the command from outside. No test depends on how fast the machine is.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bench/caches.h"
#include "bench/machine.h"
#include "bench/samples.h"
#include "bench/work.h"
#include "mote/oracle/case.h"
#include "shell.h"
#include "temporary_folder.h"

namespace mote::tool {
namespace {

using nlohmann::json;

test::Ran bench(const std::string& arguments) {
  return test::run_in_shell(std::string(MOTE_TOOL) + " bench " + arguments);
}

/// The lines of `mote bench --json`.
std::vector<json> bench_lines(const std::string& arguments, int code) {
  const test::Ran ran = bench(arguments + " --json --budget 0s 2>/dev/null");
  EXPECT_EQ(ran.code, code) << ran.out;
  std::vector<json> lines;
  std::istringstream text(ran.out);
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

std::string mutant(const std::string& name) {
  return std::string("--plugin ") + MOTE_MUTANTS_FOLDER + "/" + name + ".so";
}

/// Multiply-adds of a 2-d convolution with padding, counted tap by tap.
double taps(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  double count = 0;
  for (std::int64_t at = -pad; at + kernel <= size + pad; at += stride)
    for (std::int64_t k = 0; k < kernel; ++k) count += at + k >= 0 && at + k < size ? 1 : 0;
  return count;
}

TEST(BenchWork, CountsTheTapsWithinAPaddedImage) {
  const OpWork w =
      work_of(parse_case("conv2d x=f32[2,3,9,9] w=f32[4,3,3,3] stride=2,2 pads=1,1,1,1"));
  const double along = taps(9, 3, 2, 1);
  EXPECT_EQ(w.operations, 2 * (2 * 4 * 3 * along * along));
  EXPECT_EQ(w.read_bytes, 4 * (2 * 3 * 81 + 4 * 3 * 9));
  EXPECT_EQ(w.written_bytes, 4 * (2 * 4 * 25));
}

TEST(BenchWork, TakesMatricesAndPrefixSumsOnce) {
  const OpWork product = work_of(parse_case("matmul a=f64[1,1,5,7] b=f64[1,1,7,3]"));
  EXPECT_EQ(product.operations, 2 * 5 * 7 * 3);
  EXPECT_EQ(product.read_bytes, 8 * (35 + 21));
  // A running sum needs one addition for each element, not one for each pair.
  EXPECT_EQ(work_of(parse_case("cumsum x=f32[2,50,3]")).operations, 2 * 50 * 3);
}

TEST(BenchWork, ReadsNoMoreOfATableThanItsRows) {
  const OpWork w =
      work_of(parse_case("embedding weight=f32[1000,8] index=i64[5] fill=index,valid"));
  EXPECT_EQ(w.read_bytes, 5 * 8 * 4 + 5 * 8);
  EXPECT_EQ(w.written_bytes, 5 * 8 * 4);
}

TEST(BenchWork, CountsOnlyWhatTheRequestedOutputsNeed) {
  const std::string inputs =
      "conv2d.grad gy=f32[1,2,4,4] x=f32[1,3,4,4] w=f32[2,3,1,1] b=f32[2] gx=none gw=none";
  const OpWork w = work_of(parse_case(inputs));
  EXPECT_EQ(w.operations, 2 * 16);  // gb alone: a sum of gy
  EXPECT_EQ(w.read_bytes, 4 * 2 * 16);
  EXPECT_EQ(w.written_bytes, 4 * 2);
}

TEST(BenchSamples, MedianHasTheRanksOfTheSignTest) {
  std::vector<double> samples;
  for (int k = 20; k >= 1; --k) samples.push_back(k);
  const Median m = median_of(samples);
  // P(at most 3 of 20 lie below) = 0.0013, at most 4: 0.0059, which is more than half a per cent.
  EXPECT_EQ(m.low, 4);
  EXPECT_EQ(m.value, 10.5);
  EXPECT_EQ(m.high, 17);
  samples.resize(kLeastRounds);  // 20 … 13
  EXPECT_EQ(median_of(samples).low, 13);
  EXPECT_EQ(median_of(samples).high, 20);
}

TEST(BenchSamples, TellsApartOnlyWhatTheRoundsTellApart) {
  const std::vector<double> base = {1.0, 1.1, 0.9, 1.0, 1.2, 1.0, 0.8, 1.0};
  std::vector<double> slower = base, mixed = base;
  for (double& t : slower) t *= 1.01;
  EXPECT_TRUE(ratio_of_times(slower, base).told_apart);  // slower in each round
  mixed[0] *= 1.5;
  mixed[1] *= 0.7;
  const TimeRatio ratio = ratio_of_times(mixed, base);
  EXPECT_FALSE(ratio.told_apart);
  EXPECT_EQ(ratio.ratio.value, 1);
}

TEST(BenchMachine, ReadsTheCachesThatTheSystemDescribes) {
  const test::TemporaryFolder folder;
  const auto add = [&](const std::string& index, const std::string& level, const char* type,
                       const std::string& size, const std::string& shared) {
    folder.write(index + "/level", level + "\n");
    folder.write(index + "/type", std::string(type) + "\n");
    folder.write(index + "/size", size + "\n");
    folder.write(index + "/shared_cpu_list", shared + "\n");
  };
  add("index3", "3", "Unified", "32M", "0-3,8,10-11");
  add("index0", "1", "Data", "48K", "0");
  add("index1", "1", "Instruction", "32K", "0");
  const std::vector<DataCache> caches = data_caches(folder.path());
  ASSERT_EQ(caches.size(), 2U);
  EXPECT_EQ(caches[0].bytes, 48U << 10U);
  EXPECT_EQ(caches[0].processors, 1);
  EXPECT_EQ(caches[1].level, 3);
  EXPECT_EQ(caches[1].bytes, 32U << 20U);
  EXPECT_EQ(caches[1].processors, 7);
  EXPECT_TRUE(data_caches(folder.path() / "none").empty());
}

TEST(BenchMachine, LimitIsTheSlowerOfArithmeticAndMemory) {
  MachineLimits machine;
  machine.f32 = 100;
  machine.f64 = 50;
  machine.memory = {{"L1", 10, 32, 32}, {"DRAM", 1e300, 16, 8}};
  // 8 bytes fit L1: 4 read, 4 written, each at 32 a second.
  const WorkLimit small = limit_of(machine, {1, 4, 4}, DType::f32);
  EXPECT_EQ(small.name, "L1");
  EXPECT_EQ(small.seconds, 8.0 / 32);
  // 30 bytes are read, of which L1 keeps 10.
  const WorkLimit large = limit_of(machine, {1, 30, 0}, DType::f32);
  EXPECT_EQ(large.name, "DRAM");
  EXPECT_EQ(large.seconds, 10.0 / 32 + 20.0 / 16);
  const WorkLimit busy = limit_of(machine, {500, 30, 0}, DType::f64);
  EXPECT_EQ(busy.name, "FMA");
  EXPECT_EQ(busy.seconds, 10);
  EXPECT_EQ(limit_of(machine, {500, 30, 0}, DType::i32).name, "DRAM");
}

TEST(Bench, MeasuresEachBackendInEachRound) {
  const auto lines = bench_lines(
      "gemm a=f32[31,32] b=f32[32,33] " + mutant("gemm_correct") + " --backend gen,gemm_correct",
      0);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["type"], "machine");
  EXPECT_GT(lines[0]["f32"], 0);
  EXPECT_EQ(lines[1]["results"], "equal bit for bit");
  EXPECT_EQ(lines[1]["operations"], 2 * 31 * 32 * 33 + 31 * 33);
  ASSERT_EQ(lines[1]["backends"].size(), 2U);
  for (const json& b : lines[1]["backends"]) {
    EXPECT_EQ(b["rounds"], kLeastRounds);
    EXPECT_LE(b["seconds"]["low"], b["seconds"]["median"]);
    EXPECT_LE(b["seconds"]["median"], b["seconds"]["high"]);
    EXPECT_GT(b["seconds"]["low"], 0);
  }
  EXPECT_EQ(lines[1]["backends"][0]["best"], true);
}

TEST(Bench, DoesNotCompareAKernelWhoseResultsAreWrong) {
  const auto lines = bench_lines(
      "gemm a=f32[31,33] b=f32[33,33] " + mutant("gemm_k_tail") + " --backend gen,gemm_k_tail", 1);
  ASSERT_EQ(lines.size(), 2U);
  ASSERT_EQ(lines[1]["wrong"].size(), 1U);
  EXPECT_EQ(lines[1]["wrong"][0]["backend"], "gemm_k_tail");
  for (const json& b : lines[1]["backends"]) {
    EXPECT_EQ(b["wrong"], b["backend"] == "gemm_k_tail");
    EXPECT_EQ(b.contains("ratio"), b["backend"] == "gen");
  }
}

TEST(Bench, TakesOpsCasesAndGroups) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("two.cases", "neg x=f32[1,1,3,4]\nabs x=f32[1,1,3,4]\n");
  EXPECT_EQ(bench_lines("--backend gen --cases " + file, 0).size(), 3U);
  const auto words = bench_lines(
      "--backend gen neg x=f32[1,1,2,4]:t 'softmax x=f32[2,3,4]' sign x=f32[1,1,1,9]", 0);
  ASSERT_EQ(words.size(), 4U);
  EXPECT_EQ(words[1]["case"], "neg x=f32[1,1,2,4]:t fill=integer:0");
  EXPECT_EQ(words[2]["case"], "softmax x=f32[2,3,4] fill=integer:0");
  const auto op = bench_lines("--backend gen transpose", 0);  // of the group speed
  ASSERT_EQ(op.size(), 2U);
  EXPECT_EQ(op[1]["case"], "transpose x=f32[32,64,3136] fill=integer:0");
}

TEST(Bench, EveryCaseOfTheGroupSpeedHasWork) {
  std::vector<Case> cases = read_cases(MOTE_CASES_FOLDER "/speed.cases");
  EXPECT_GE(cases.size(), 25U);
  for (const Case& c : cases) {
    const OpWork work = work_of(c);
    EXPECT_GT(work.read_bytes, 0) << to_string(c);
    EXPECT_GT(work.written_bytes, 0) << to_string(c);
  }
}

TEST(Bench, SaysWhatIsWrongInOneLine) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"--threads 0", "threads '0': expected a whole number from 1"},
      {"nothing", "unknown op 'nothing'"},
      {"matmul_integer", "no group of cases"},
      {"'neg x=f32[1,1,2,4] y=@x'", "in place"},
      {"--cases nothing", "known: bert_base, llama, mobilenetv2, resnet50, speed, unet"},
      {"--backend nothing", "unknown backend 'nothing'"}};
  for (const auto& [arguments, part] : mistakes) {
    const test::Ran ran = bench(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_NE(ran.out.find(part), std::string::npos) << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }
  const test::Ran none = bench("'neg x=f32[1,1,2,4]' --budget 0s " + mutant("gemm_correct"));
  EXPECT_EQ(none.code, 4) << none.out;  // no backend takes the case
}

}  // namespace
}  // namespace mote::tool
