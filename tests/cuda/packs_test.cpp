// Kernels whose threads move 16 bytes at a time: they are launched where tensors have no gaps and
// lie at addresses that 16 divides, and compute what the others do.
#include <gtest/gtest.h>

#include <string>

#include "kernel_subject.h"

namespace mote {
namespace {

using test::KernelSubject;
using test::library_of;

std::string kernel_for(const std::string& line) { return KernelSubject(line).kernel().function; }

TEST(CudaPacks, AreTakenWhereTensorsHaveNoGaps) {
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,5,7] fill=uniform:1"), "mote_add_f32_packs");
  EXPECT_EQ(kernel_for("add a=f16[2,3,5,7] b=f16[2,3,5,7] fill=uniform:1"), "mote_add_f16_packs");
  // The axes' order in memory is not the loops'; gaps; the base is one element on; a row repeats.
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7]:t b=f32[1,3,5,7] fill=uniform:1"), "mote_add_f32");
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,5,7]:pad3 fill=uniform:1"), "mote_add_f32");
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,5,7]:off1 fill=uniform:1"), "mote_add_f32");
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,5,7] y=f32[1,3,5,7]:off2 fill=uniform:1"),
            "mote_add_f32");
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,1,7] fill=uniform:1"), "mote_add_f32");
  // Four elements are 16 bytes; the axis of one element may have any stride.
  EXPECT_EQ(kernel_for("add a=f32[1,3,5,7] b=f32[1,3,5,7]:off4 fill=uniform:1"),
            "mote_add_f32_packs");
}

shim::Run run_first(const std::string& line, bool by_packs) {
  KernelSubject subject(line);
  const CudaKernel& kernel = subject.kernel();
  EXPECT_NE(kernel.packed.empty(), by_packs) << kernel.function;
  shim::Run out = subject.run(library_of(kernel.function, kernel.text), {});
  EXPECT_EQ(out.error, "");
  return out;
}

/// As many elements as the widest tensor allows; what is left is taken one by one. @: the layout.
TEST(CudaPacks, ComputeWhatTheOtherKernelDoes) {
  for (const std::string line :
       {"gelu x=f32[1,3,5,7]@ fill=uniform:1", "gelu x=f16[1,1,2,3]@ fill=uniform:2",
        "where condition=bool[2,3,5,7] a=bf16[2,3,5,7]@ b=bf16[2,3,5,7] fill=special:3",
        "exp x=f64[1,3,5,7]@ fill=uniform:4", "add a=i32[1,3,5,7]@ b=i32[1,3,5,7] fill=extreme:5",
        "silu.grad gy=f32[1,3,5,7] x=f32[1,3,5,7]@ fill=uniform:6"}) {
    SCOPED_TRACE(line);
    const std::size_t at = line.find('@');
    std::string whole = line, apart = line;
    const auto packs = run_first(whole.erase(at, 1), true);
    const auto elements = run_first(apart.replace(at, 1, ":off1"), false);
    EXPECT_EQ(packs.output, elements.output);
  }
}

}  // namespace
}  // namespace mote
