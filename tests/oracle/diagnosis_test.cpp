// SPDX-License-Identifier: Apache-2.0
// Tests diagnoses of planted bugs: the hypothesis fits the kernel's defect, the condition is the
// one that the mutant's text states, and a result that fits no hypothesis is reported as such.
#include "mote/oracle/diagnosis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include "diagnosis/observed.h"
#include "mote/oracle/backends.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/standalone.h"
#include "mutant.h"
#include "temporary_folder.h"

namespace mote {
namespace {

using test::mutant;

Diagnosis diagnosed(const std::string& name, const mote_backend& backend, const std::string& text,
                    const CaseRunOptions& options) {
  const auto judge = [&](const Case& c) { return Prepared(c, options).run(backend); };
  const Case c = parse_case(text);
  const Outcome outcome = judge(c);
  EXPECT_TRUE(is_failure(outcome.verdict)) << name << ": " << text;
  return diagnose(c, outcome, judge);
}

Diagnosis diagnosed(const std::string& name, const std::string& text) {
  const Backends backends = find_backends({mutant(name)});
  return diagnosed(name, *select_backends(backends, {name}).chosen.at(0).backend, text, {});
}

/// Runs in a worker, since the mutant may touch invalid memory.
Diagnosis diagnosed_in_worker(const std::string& name, const std::string& text) {
  CaseRunOptions options;
  options.isolation = std::make_shared<Isolation>();
  const Plugin plugin = options.isolation->describe(mutant(name));
  return diagnosed(name, *plugin.backends.at(0), text, options);
}

TEST(Diagnosis, EndsWhenItsTimeIsOver) {
  const Backends backends = find_backends({mutant("softmax_max_from_0")});
  const mote_backend& backend =
      *select_backends(backends, {"softmax_max_from_0"}).chosen.at(0).backend;
  int runs = 0;
  const auto judge = [&](const Case& c) {
    ++runs;
    return Prepared(c, {}).run(backend);
  };
  const Case c = parse_case("softmax x=f32[1,2,1] fill=negative:6993");
  const Outcome outcome = judge(c);
  ASSERT_TRUE(is_failure(outcome.verdict));
  const Diagnosis d = diagnose(c, outcome, judge, 0);
  EXPECT_EQ(d.runs, 0);
  EXPECT_EQ(d.condition, "");
  EXPECT_LT(runs, 10);
}

/// There is one row of each kind; all rows with MOTE_EXHAUSTIVE, which the preset nightly sets.
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
      {"gemm_ignores_ld", "gemm a=f64[2,1]:pad1 b=f64[1,1] fill=index:0", "strides ignored"},
      {"gemm_unwritten", "gemm a=f32[1,1] b=f32[1,1] fill=index:0", "surviving poison"},
      {"cheat_dirty_workspace", "gemm a=f32[1,1] b=f32[1,1] fill=index:0", "surviving poison"},
      {"cheat_writes_gap", "gemm a=f32[1,1] b=f32[1,1] fill=index:0", "out of range"},
      {"max_nan_dropped", "max a=f32[1,1,1,1] b=f32[1,1,1,1] fill=special:19b4", "NaN dropped"},
      {"gelu_tanh_formula", "gelu x=f32[1,1,1,4] fill=uniform:1", "another op"},
      {"mod_sign_of_a", "mod a=f32[1,1,1,8] b=f32[1,1,1,8] fill=integer:0", "another op"},
      {"conv2d_strides_swapped", "conv2d x=f32[1,1,1,2] w=f32[1,1,1,1] stride=2,1 fill=index:0",
       "transposed or swapped axis"},
      {"rope_other_pairs", "rope x=f32[1,1,2,2,2] fill=index:0", "transposed or swapped axis"},
      {"gru_gates_of_cudnn",
       "gru_cell x=f64[1,1] h=f64[1,1] w=f64[3,1,1] r=f64[3,1,1] b=f64[4,1] fill=index:0",
       "transposed or swapped axis"},
      {"matmul_batch_stale", "matmul a=f32[1,2,1,1] b=f32[1,2,1,1] fill=index:0",
       "neighbour's value"},
      {"conv2d_bias_per_group",
       "conv2d x=f32[1,2,1,1] w=f32[2,1,1,1] b=f32[2] groups=2 fill=index:0", "another index"},
      {"attention_heads_by_mod",
       "attention q=f32[1,4,1,1] k=f32[1,2,1,1] v=f32[1,2,1,1] fill=index:0", "another index"},
      {"scatter_first_stays",
       "scatter_elements x=f32[1,2,2] index=i64[1,4,2] updates=f32[1,4,2] fill=integer:0",
       "another order"},
      {"scatter_negative_dropped",
       "scatter_elements x=f32[2,3,2] index=i64[2,2,2] updates=f32[2,2,2] fill=integer:0",
       "index left out"},
      {"gather_range_unchecked", "gather x=f32[1,2,1] index=i64[8] fill=integer:1",
       "index clamped"},
      {"max_pool2d_with_indices_last_tie",
       "max_pool2d_with_indices x=f64[1,1,1,3] kernel=1,2 fill=onehot:0", "another tie"},
      {"round_half_away", "round x=f32[1,2,2,2] fill=extreme:1", "another tie"},
      {"attention_scale_missing",
       "attention q=f32[1,1,1,2] k=f32[1,1,2,2] v=f32[1,1,2,1] "
       "fill=uniform:1",
       "another parameter value"},
      {"qmatmul_zeros_exchanged",
       "qmatmul a=u8[1,1,1] b=i8[1,1,1] scale=f32[1] b_zero=1 fill=onehot:0",
       "another parameter value"},
      {"dropout_scale_missing", "dropout x=f32[1,1,1,1] offset=1 fill=index:0", "constant factor"},
      {"rms_norm_gamma_plus_1", "rms_norm x=f32[1,1] gamma=f32[1] fill=index:0", "off by one"},
      {"softmax_no_max", "softmax x=f32[1,1,2] fill=extreme:7f61", "overflow"},
      {"add_saturates", "add a=i8[1,1,1,1] b=i8[1,1,1,1] fill=uniform:3", "saturates"},
      {"mul_tail_twice", "mul a=f32[1,1,1,9] b=f32[1,1,1,9] y=@a fill=index:1", "done twice"},
      {"attention_kv_tail_scored_0",
       "attention q=f32[1,1,1,1] k=f32[1,1,1,1] v=f32[1,1,1,1] fill=index:0", "padding counts"},
      {"rms_norm_eps_outside", "rms_norm x=f32[1,1] fill=index:0", "another formula"},
      {"layer_norm_n_minus_1", "layer_norm x=f64[1,2] fill=index:0", "another formula"},
      {"softmax_tail_exp_0", "softmax x=f32[1,1,1] fill=index:0", "another formula"},
      {"log1p_cancels", "log1p x=f32[1,1,1,8] fill=tiny:1", "another formula"},
      {"lrn_other_side", "lrn x=f32[1,2,1] size=2 fill=index:0", "another formula"},
      {"qconv2d_pads_with_0",
       "qconv2d x=u8[1,1,1,1] w=i8[1,1,1,2] scale=f32[1] pads=0,1,0,0 x_zero=2 y_zero=9 "
       "fill=index:0",
       "another formula"},
      {"conv2d_halo_reads_next_row",
       "conv2d x=f32[1,1,2,1] w=f32[1,1,2,1] pads=0,0,0,1 fill=index:0", "another formula"},
      {"quantize_saturates_early", "quantize x=f32[1,2,1] scale=f32[2] zero=i8[2] fill=integer:0",
       "another formula"},
      {"resize_linear_asymmetric",
       "resize_linear2d x=f32[1,1,1,2] output0=1 output1=4 fill=index:0", "another formula"},
      {"gru_bias_outside",
       "gru_cell x=f64[1,1] h=f64[1,1] w=f64[3,1,1] r=f64[3,1,1] b=f64[4,1] fill=index:0",
       "another formula"},
      {"softmax_along_c", "softmax x=f32[1,1,2] fill=index:0", "another axis"},
      {"softmax_sum_8_bits", "softmax x=f32[1,2,1] fill=index:0", "narrow accumulator"},
      {"adam_eps_corrected", "adam w=f64[1] g=f64[1] m=f64[1] v=f64[1] step=1 fill=index:0",
       "another formula"},
      {"index_add_last_stays",
       "index_add x=f32[1,1,1] index=i64[2] updates=f32[1,2,1] fill=zeros:0 set=updates[0,0,0]=1",
       "duplicate index"},
      {"index_add_duplicates_race",
       "index_add x=f32[1,1,1] index=i64[2] updates=f32[1,2,1] fill=zeros:0 set=updates[0,0,0]=1",
       "duplicate index"},
      {"gather_negative_clamped",
       "gather x=f32[1,2,1] index=i64[1] fill=zeros:0 set=x[0,1,0]=1;index[0]=-1", "index clamped"},
      {"gather_negative_taken",
       "gather x=f32[2,2,1] index=i64[1] fill=zeros:0 set=x[0,0,0]=1;index[0]=-2",
       "index unchecked"},
      {"quantize_symmetric",
       "quantize x=f32[1,1,1] scale=f32[1] zero=i8[1] fill=zeros:0 set=x[0,0,0]=-1", "saturates"},
      {"sum_float_sums", "sum x=i32[1,2,1] fill=zeros:0 set=x[0,0,0]=16777216;x[0,1,0]=1",
       "narrow accumulator"},
      {"conv_transpose_output_pad_0",
       "conv_transpose2d x=f32[1,1,1,1] w=f32[1,1,1,1] b=f32[1] output_pad=1,0 fill=index:0",
       "ignored parameter"},
      {"cross_entropy_empty_0",
       "cross_entropy x=f32[1,1,1] target=i64[1,1] ignore_index=0 fill=zeros:0", "empty row"},
      {"softmax_max_from_0", "softmax x=f32[1,2,1] fill=negative:6993", ""},
  };
  const bool all = std::getenv("MOTE_EXHAUSTIVE") != nullptr;
  std::set<std::string> kinds;
  for (const Row& row : rows) {
    if (!kinds.insert(row.kind).second && !all) continue;
    const Diagnosis d = diagnosed(row.name, row.text);
    EXPECT_EQ(d.kind, row.kind) << row.name << "\n" << diagnosis_text(d);
    EXPECT_GT(d.runs, 20) << row.name;
  }
}

// The number of bits lies between a gap that passes and one that fails; of rows that are gigabytes
// apart only some pages are touched.
TEST(Diagnosis, SaysInHowManyBitsOffsetsAreCounted) {
  for (const auto& [name, text, counted] :
       {std::tuple{"transpose_float_offset", "transpose x=f32[2,1,1]:gap0x16777216 fill=index:0",
                   "elements, in a float or 24 bits"},
        std::tuple{"softmax_bytes_31_bits", "softmax x=f32[1,2,1]:gap1x1073741824 fill=index:0",
                   "bytes, in 31 bits"},
        std::tuple{"add_bytes_32_bits",
                   "add a=f64[2,1,1,2] b=f64[2,1,1,2]:gap3x1073741824 fill=index:0",
                   "bytes, in 32 bits"},
        std::tuple{"sum_output_32_bits", "sum x=i32[3,1,2] y=i32[3,2]:gap1x1610612736 fill=index:0",
                   "elements, in 31 bits"}}) {
    const Diagnosis d = diagnosed_in_worker(name, text);
    EXPECT_EQ(d.kind, "offset wraps") << name << "\n" << diagnosis_text(d);
    EXPECT_NE(d.text.find(counted), std::string::npos) << name << "\n" << d.text;
  }
}

// A kind has several hypotheses; the diagnosis states the true one.
TEST(Diagnosis, SaysWhichOfAKind) {
  for (const auto& [name, text, said] :
       {std::tuple{"argmax_orders_zeros", "argmax x=f64[1,2,1] last=1 fill=zeros:0 set=x[0,1,0]=-0",
                   "another tie: with -0 less than 0 in x"},
        std::tuple{"argmax_last_nan",
                   "argmax x=f32[1,2,1] fill=zeros:0 set=x[0,0,0]=nan;x[0,1,0]=nan",
                   "another tie: with the last NaN of x taken"},
        std::tuple{"argmax_nan_dropped", "argmax x=f32[1,2,1] fill=zeros:0 set=x[0,0,0]=nan",
                   "NaN dropped: with -inf in place of NaN"},
        std::tuple{"argmax_block_base", "argmax x=f32[1,1025,1] fill=index:0",
                   "index wraps: with positions counted within blocks of 1024"},
        std::tuple{"add_wrong_side", "add a=f32[1,1,2,2] b=f32[1,1,2,1] fill=index:0",
                   "another axis: with b repeated along the other of its axes 2 and 3"},
        std::tuple{"matmul_rank_3_left", "matmul a=f64[2,1,1,1] b=f64[2,1,1] fill=index:0",
                   "another index: with Q of b read at the index of axis 0"},
        std::tuple{"qmatmul_wraps",
                   "qmatmul a=u8[1,1,1] b=i8[1,1,1] scale=f32[1] y_zero=-2 fill=index:0",
                   "integer wraps: with values that wrap in u8"},
        std::tuple{"norm2_f16_squares",
                   "norm2 x=f16[1,2,1] fill=zeros:0 set=x[0,0,0]=-100.5625;x[0,1,0]=-100.875",
                   "narrow value: with f16(x[r, n, c]^2) in place of x[r, n, c]^2"},
        std::tuple{"conv2d_grad_bias_one_image",
                   "conv2d.grad gy=f32[2,1,1,1] x=f32[2,1,1,1] w=f32[1,1,1,1] b=f32[1] "
                   "fill=index:0",
                   "missing term: without all but the first of N in gy"}}) {
    const Diagnosis d = diagnosed(name, text);
    EXPECT_EQ((d.kind + ": " + d.text).rfind(said, 0), 0U) << name << "\n" << diagnosis_text(d);
  }
}

// A diagnosis that only repeats the verdict is not printed.
TEST(Diagnosis, DoesNotRepeatTheVerdict) {
  const Diagnosis d = diagnosed_in_worker("gemm_crash", "gemm a=f64[5,1] b=f64[1,1] fill=index:0");
  EXPECT_EQ(d.kind, "crashed");
  EXPECT_EQ(diagnosis_text(d).find("diagnosis"), std::string::npos) << diagnosis_text(d);
}

// Each part is necessary: alpha = 0 hides the missing terms of a sum, and if M != N there is no
// wrong axis.
TEST(Diagnosis, FindsTheCondition) {
  for (const auto& [name, text, condition] :
       {std::tuple{"gemm_k_tail_late", "gemm a=f32[1,9] b=f32[9,1] fill=index:0",
                   "K >= 9 and K % 8 != 0 and alpha != 0"},
        std::tuple{"gemm_ignores_ld", "gemm a=f32[2,1]:pad1 b=f32[1,1] fill=index:0",
                   "gaps between the rows of a"},
        std::tuple{"gemm_bias_axis", "gemm a=f32[2,1] b=f32[1,2] c=f32[2,2]:bcast1 fill=index:0",
                   "M == N and an axis of c repeats"}}) {
    const Diagnosis d = diagnosed(name, text);
    EXPECT_EQ(d.condition, condition) << name << "\n" << diagnosis_text(d);
  }
}

/// Returns the exit code of the case's C file, compiled alone.
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

/// Returns the observation of a failure in which each element of the first output is 1% too great.
diagnosis::Observed seen_one_percent_greater(const std::string& text) {
  const Case c = parse_case(text);
  Outcome failed;
  failed.verdict = Verdict::failed;
  failed.elements = failed.differing = 1;
  const double y = diagnosis::observe(c, {})->expected.at(0).at(0).real();
  const double slack = 1e-6 * std::fabs(y);
  failed.differences.push_back({c.outputs[0].name,
                                std::vector<std::int64_t>(c.outputs[0].shape.size()), Number(y),
                                Number(y * 1.01), std::pair(Number(y - slack), Number(y + slack))});
  return *diagnosis::observe(c, failed);
}

// A share of a well-known number is a small allowance; a share of an infinity is none.
TEST(Diagnosis, AnInfinityExplainsNoNumber) {
  const diagnosis::Observed seen = seen_one_percent_greater("recip x=f32[1,1,1,1] fill=uniform:1");
  const Difference& d = seen.outcome.differences.at(0);
  std::vector<Dense> outputs = diagnosis::copies_of(seen.expected);
  EXPECT_FALSE(diagnosis::explains(seen, outputs));
  outputs.at(0).set(0, d.got);
  EXPECT_TRUE(diagnosis::explains(seen, outputs));
  for (const double sign : {1.0, -1.0}) {
    outputs.at(0).set(0, Number(sign * std::numeric_limits<double>::infinity()));
    EXPECT_FALSE(diagnosis::explains(seen, outputs));
  }
}

// Hypotheses use the axes of the op's inputs; a case may leave out leading ones.
TEST(Diagnosis, SeesAllAxesOfInputs) {
  const diagnosis::Observed seen =
      seen_one_percent_greater("add a=f32[1] b=f32[1,1,1,1] fill=uniform:1");
  for (const CaseTensor& t : seen.of.inputs) EXPECT_EQ(t.shape.size(), 4U) << t.name;
}

}  // namespace
}  // namespace mote
