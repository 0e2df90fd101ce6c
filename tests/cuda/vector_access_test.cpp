// SPDX-License-Identifier: Apache-2.0
// Tests kernels whose threads move 16 bytes at a time: they are launched if tensors have no gaps
// and lie at addresses divisible by 16, and give the same results as the other kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "kernel_subject.h"

namespace mote {
namespace {

using test::KernelSubject;
using test::library_of;

std::string kernel_for(const std::string& line) { return KernelSubject(line).kernel().function; }

TEST(CudaVectors, AreTakenWhereTensorsHaveNoGaps) {
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,5,7] fill=uniform:1"), "mote_add_f32_vectors");
  EXPECT_EQ(kernel_for("add a=f16[2,3,5,7] b=f16[2,3,5,7] fill=uniform:1"), "mote_add_f16_vectors");
  // Reasons for the plain kernel: the axes' order in memory is not the loops'; there are gaps; the
  // base is one element off; a row repeats.
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7]:t b=f32[1,3,5,7] fill=uniform:1"), "mote_add_f32");
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,5,7]:pad3 fill=uniform:1"), "mote_add_f32");
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,5,7]:off1 fill=uniform:1"), "mote_add_f32");
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,5,7] y=f32[1,3,5,7]:off2 fill=uniform:1"),
            "mote_add_f32");
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,1,7] fill=uniform:1"), "mote_add_f32");
  // Four elements are 16 bytes; the axis of one element may have any stride.
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,5,7]:off4 fill=uniform:1"),
            "mote_add_f32_vectors");
}

shim::Run run_first(const std::string& line, bool by_vectors) {
  KernelSubject subject(line);
  const CudaKernel& kernel = subject.kernel();
  EXPECT_EQ(kernel.per_vector() != nullptr, by_vectors) << kernel.function;
  shim::Run out = subject.run(library_of(kernel), {});
  EXPECT_EQ(out.error, "");
  return out;
}

/// An access has the number of elements that the widest dtype allows; the rest are single. @ marks
/// the layout.
TEST(CudaVectors, ComputeWhatTheOtherKernelDoes) {
  for (const std::string line :
       {"gelu x=f32[1,3,5,7]@ fill=uniform:1", "gelu x=f16[1,1,2,3]@ fill=uniform:2",
        "where condition=bool[2,3,5,7] a=bf16[2,3,5,7]@ b=bf16[2,3,5,7] fill=special:3",
        "exp x=f64[1,3,5,7]@ fill=uniform:4", "add a=i32[1,3,5,7]@ b=i32[1,3,5,7] fill=extreme:5",
        "silu.grad gy=f32[1,3,5,7] x=f32[1,3,5,7]@ fill=uniform:6"}) {
    SCOPED_TRACE(line);
    const std::size_t at = line.find('@');
    std::string whole = line, apart = line;
    const auto vectors = run_first(whole.erase(at, 1), true);
    const auto elements = run_first(apart.replace(at, 1, ":off1"), false);
    EXPECT_EQ(vectors.output, elements.output);
  }
}

TEST(CudaRowVectors, AreTakenWhereRowsBeginAtMultiplesOf16Bytes) {
  EXPECT_EQ(kernel_for("softmax x=f32[3,64,1] fill=uniform:1"), "mote_softmax_f32_row_vectors");
  EXPECT_EQ(kernel_for("softmax x=f32[3,66,1] fill=uniform:1"), "mote_softmax_f32_rows");
  EXPECT_EQ(kernel_for("layer_norm x=f32[3,61]:pad3 y=f32[3,61]:pad3 fill=uniform:1"),
            "mote_layer_norm_x_f32_row_vectors");
  EXPECT_EQ(kernel_for("layer_norm x=f32[3,61]:pad2 y=f32[3,61]:pad3 fill=uniform:1"),
            "mote_layer_norm_x_f32_rows");
  EXPECT_EQ(kernel_for("layer_norm x=f32[1,61] fill=uniform:1"),
            "mote_layer_norm_x_f32_row_vectors");
  EXPECT_EQ(kernel_for("softmax x=f32[3,64,1]:off1 fill=uniform:1"), "mote_softmax_f32_rows");
  EXPECT_EQ(kernel_for("softmax x=f32[3,64,1] y=f32[3,64,1]:off2 fill=uniform:1"),
            "mote_softmax_f32_rows");
  EXPECT_EQ(kernel_for("softmax x=f32[3,64,1]:off4 fill=uniform:1"),
            "mote_softmax_f32_row_vectors");
  EXPECT_EQ(kernel_for("softmax x=f32[3,64,2] fill=uniform:1"), "mote_softmax_f32");
  EXPECT_EQ(kernel_for("softmax x=bf16[3,68,1] fill=uniform:1"), "mote_softmax_bf16_rows");
  EXPECT_EQ(kernel_for("softmax x=bf16[3,72,1] fill=uniform:1"), "mote_softmax_bf16_row_vectors");
}

bool moves_rows_by_vectors(const CudaKernel& kernel) {
  return kernel.per_block() != nullptr && !kernel.per_block()->vectors.empty();
}

/// The cases have exact sums, so that their order does not matter.
TEST(CudaRowVectors, ComputeWhatRowsDo) {
  for (const std::string line :
       {"sum x=f32[3,64,1]@ fill=integer:1", "sum x=f16[2,1032,1]@ fill=integer:2",
        "reduce_max x=f32[3,260,1]@ fill=special:3", "sum x=f64[3,62,1]@ fill=integer:4",
        "layer_norm x=f32[2,64]@ fill=zeros:5"}) {
    SCOPED_TRACE(line);
    const std::size_t at = line.find('@');
    std::string whole = line, apart = line;
    const auto first = [](const std::string& of) {
      KernelSubject subject(of);
      const CudaKernel& kernel = subject.kernel();
      return std::pair(moves_rows_by_vectors(kernel), subject.run(library_of(kernel), {}));
    };
    const auto [packed, vectors] = first(whole.erase(at, 1));
    const auto [unpacked, rows] = first(apart.replace(at, 1, ":off1"));
    EXPECT_TRUE(packed && !unpacked);
    EXPECT_EQ(vectors.error + rows.error, "");
    EXPECT_EQ(vectors.output, rows.output);
  }
}

TEST(CudaRowVectors, ComputeEveryCaseOfTheirList) {
  std::ifstream file(MOTE_TILES_CASES "/rows.cases");
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto launches = KernelSubject(line).launches();
    EXPECT_TRUE(std::ranges::any_of(
        launches, [](const cuda::Launch& l) { return moves_rows_by_vectors(*l.kernel); }))
        << line << ": " << launches.at(0).kernel->function;
    ++cases;
  }
  EXPECT_GT(cases, 10);
}

}  // namespace
}  // namespace mote
