// Diagnoses of planted bugs: what was computed fits what the kernel did, the condition is the one
// that the mutant's text states, and what fits nothing is said to.
#include "mote/oracle/diagnosis.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "mote/oracle/backends.h"
#include "mote/oracle/standalone.h"
#include "mutant.h"
#include "temporary_folder.h"

namespace mote {
namespace {

using test::mutant;

Diagnosis diagnosed(const std::string& name, const std::string& text) {
  const Backends backends = find_backends({mutant(name)});
  const mote_backend& backend = *select_backends(backends, {name}).chosen.at(0).backend;
  const auto judge = [&](const Case& c) { return Prepared(c).run(backend); };
  const Case c = parse_case(text);
  const Outcome outcome = judge(c);
  EXPECT_TRUE(is_failure(outcome.verdict)) << name << ": " << text;
  return diagnose(c, outcome, judge);
}

TEST(Diagnosis, SaysWhatAMutantDoes) {
  struct Row {
    const char* name;
    const char* text;
    const char* kind;
  };
  const std::vector<Row> rows = {
      {"gemm_k_tail_late", "gemm a=f32[1,9] b=f32[9,1] fill=index:0", "missing term"},
      {"gemm_k_tail", "gemm a=f32[1,1] b=f32[1,1] fill=index:0", "missing term"},
      {"matmul_last_k", "matmul a=f32[1,1,1,1] b=f32[1,1,1,1] fill=index:0", "missing term"},
      {"cheat_zeros", "gemm a=f32[1,1] b=f32[1,1] fill=index:0", "zeros"},
      {"sum_last_block", "sum x=f32[1,17,1] fill=index:0", "missing term"},
      {"gemm_last_column", "gemm a=f32[1,1] b=f32[1,2] fill=index:0", "neighbour's value"},
      {"transpose_tile_tail", "transpose x=f32[1,9,9] fill=index:0", "neighbour's value"},
      {"conv2d_kernel_flipped", "conv2d x=f32[1,1,3,1] w=f32[1,1,3,1] fill=index:0",
       "transposed or swapped axis"},
      {"conv2d_right_pad_is_left", "conv2d x=f32[1,1,1,3] w=f32[1,1,1,2] pads=0,0,0,1 fill=index:0",
       "transposed or swapped axis"},
      {"conv2d_dilation_h_for_w", "conv2d x=f32[1,1,1,3] w=f32[1,1,1,2] dilation=1,2 fill=index:0",
       "transposed or swapped axis"},
      {"cumsum_reverse_includes", "cumsum x=f64[1,1,1] exclusive=1 reverse=1 fill=index:0",
       "ignored parameter"},
      {"gemm_bias_axis", "gemm a=f32[2,1] b=f32[1,2] c=f32[2,2]:bcast1 fill=index:0",
       "transposed or swapped axis"},
      {"gemm_tf32", "gemm a=f32[1,1] b=f32[1,1] fill=uniform:1", "demoted inputs"},
      {"gemm_bf16", "gemm a=f32[1,1] b=f32[1,1] fill=uniform:1", "demoted inputs"},
      {"gemm_fp16_sums", "gemm a=f64[1,1] b=f64[1,1] fill=onehot:0", "narrow accumulator"},
      {"sum_stagnates", "sum x=bf16[1,40,1] fill=index:0", "narrow accumulator"},
      {"layer_norm_one_pass", "layer_norm x=f32[1,10] fill=mean:1", "one-pass variance"},
      {"gemm_unwritten", "gemm a=f32[1,1] b=f32[1,1] fill=index:0", "surviving poison"},
      {"cheat_dirty_workspace", "gemm a=f32[1,1] b=f32[1,1] fill=index:0", "surviving poison"},
      {"cheat_writes_gap", "gemm a=f32[1,1] b=f32[1,1] fill=index:0", "out of range"},
      {"max_nan_dropped", "max a=f32[1,1,1,1] b=f32[1,1,1,1] fill=special:19b4", "NaN dropped"},
      {"gelu_tanh_formula", "gelu x=f32[1,1,1,4] fill=uniform:1", ""},
  };
  for (const Row& row : rows) {
    const Diagnosis d = diagnosed(row.name, row.text);
    EXPECT_EQ(d.kind, row.kind) << row.name << "\n" << diagnosis_text(d);
    EXPECT_GT(d.runs, 20) << row.name;
  }
}

TEST(Diagnosis, FindsTheCondition) {
  for (const auto& [name, text, condition] :
       {std::tuple{"gemm_k_tail_late", "gemm a=f32[1,9] b=f32[9,1] fill=index:0",
                   "K >= 9 and K % 8 != 0"},
        std::tuple{"gemm_ignores_ld", "gemm a=f32[2,1]:pad1 b=f32[1,1] fill=index:0",
                   "gaps between the rows of a"},
        std::tuple{"gemm_bias_axis", "gemm a=f32[2,1] b=f32[1,2] c=f32[2,2]:bcast1 fill=index:0",
                   "M == N and an axis of c repeats"}}) {
    EXPECT_EQ(diagnosed(name, text).condition, condition) << name;
  }
}

/// The exit code of the case's C file, compiled alone.
int run_standalone(const std::string& name, const std::string& text) {
  const Backends backends = find_backends({mutant(name)});
  const test::TemporaryFolder folder;
  const std::string source = folder.path().string() + "/bug.c";
  Case c = parse_case(text);
  c.plugin = mutant(name);
  std::ofstream(source) << standalone_c(c, *select_backends(backends, {name}).chosen.at(0).backend);
  const std::string program = folder.path().string() + "/bug";
  const std::string compile =
      "cc -std=gnu11 -Wall -Wextra -Werror -o " + program + " " + source + " -ldl -lm";
  EXPECT_EQ(std::system(compile.c_str()), 0) << text;
  const int status = std::system((program + " > /dev/null").c_str());
  return WEXITSTATUS(status);
}

TEST(Standalone, ShowsTheBugAndClearsTheTwin) {
  const char* k_tail = "gemm a=f64[2,9]:pad1 b=f64[9,3]:t c=f64[2,3] beta=0.5 fill=uniform:3";
  EXPECT_EQ(run_standalone("gemm_correct", k_tail), 0);
  EXPECT_EQ(run_standalone("gemm_k_tail", k_tail), 1);
  const char* in_place = "mul a=f32[1,1,2,11] b=f32[1,1,2,11] y=@a fill=integer:5";
  EXPECT_EQ(run_standalone("mul_correct", in_place), 0);
  EXPECT_EQ(run_standalone("mul_tail_twice", in_place), 1);
  const char* gap = "gemm a=f32[1,1] b=f32[1,1] fill=index:0";
  EXPECT_EQ(run_standalone("gemm_correct", gap), 0);
  EXPECT_EQ(run_standalone("cheat_writes_gap", gap), 1);
  EXPECT_EQ(run_standalone("cast_bf16_correct", "cast_bf16 x=f32[1,1,1,9] fill=uniform:2"), 0);
  EXPECT_EQ(run_standalone("cast_bf16_truncates", "cast_bf16 x=f32[1,1,1,9] fill=uniform:2"), 1);
}

}  // namespace
}  // namespace mote
