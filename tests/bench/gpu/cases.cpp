// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mote/base/error.h"
#include "mote/oracle/exactness.h"

namespace mote::bench {
namespace {

// The goals are explained in docs/cuda.md.
constexpr double kOfCopy = 0.85;
constexpr double kOfF32Product = 0.6;
constexpr double kOfBf16Product = 0.4;

constexpr TimedCase moves(const char* text, double goal = kOfCopy) {
  return {text, Yardstick::copy, goal};
}
constexpr TimedCase multiplies(const char* text, double goal = 0) {
  return {text, Yardstick::vendor, goal};
}
constexpr TimedCase multiplies_in_tf32(const char* text) {
  return {text, Yardstick::vendor, 0, true};
}

constexpr std::array kCases = {
    moves("add a=f32[1,1,8192,4096] b=f32[1,1,8192,4096]"),
    moves("gelu x=f32[1,1,8192,4096]"),
    moves("softmax x=f32[32768,1024,1]"),
    moves("layer_norm x=f32[16384,2048] gamma=f32[2048] beta=f32[2048]"),
    moves("sum x=f32[32768,1024,1]"),
    multiplies("matmul a=f32[1,1,4096,4096] b=f32[1,1,4096,4096]", kOfF32Product),
    multiplies("matmul a=bf16[1,1,4096,4096] b=bf16[1,1,4096,4096]", kOfBf16Product),
    multiplies("conv2d x=f32[32,64,56,56] w=f32[64,64,3,3] pads=1,1,1,1"),

    moves("relu x=f32[1,1,8192,4096]"),
    moves("relu x=bf16[1,1,16384,4096]"),
    moves("gelu x=bf16[1,1,16384,4096]"),
    moves("silu x=f16[1,1,16384,4096]"),
    moves("mul a=f32[1,1,8192,4096] b=f32[1,1,1,4096]"),
    moves("silu.grad gy=f32[1,1,8192,4096] x=f32[1,1,8192,4096]"),

    moves("softmax x=bf16[32768,2048,1]"),
    moves("softmax x=f32[512,65536,1]"),
    moves("softmax x=f32[64,512,1024]"),
    moves("log_softmax x=f32[32768,1024,1]"),
    moves("softmax.grad gy=f32[32768,1024,1] y=f32[32768,1024,1]"),

    moves("layer_norm x=bf16[16384,4096] gamma=bf16[4096] beta=bf16[4096]"),
    moves("rms_norm x=f32[16384,2048] gamma=f32[2048]"),
    moves("rms_norm x=bf16[16384,4096] gamma=bf16[4096]"),
    moves("batch_norm_training x=f32[32,256,4096] gamma=f32[256] beta=f32[256] "
          "input_mean=f32[256] input_var=f32[256]"),
    moves("batch_norm x=f32[32,256,4096] gamma=f32[256] beta=f32[256] input_mean=f32[256] "
          "input_var=f32[256]"),
    moves("layer_norm.grad gy=f32[16384,2048] x=f32[16384,2048] gamma=f32[2048] beta=f32[2048]"),

    moves("sum x=f32[1,32768,1024]"),
    moves("sum x=f32[1,33554432,1]"),
    moves("mean x=bf16[32768,2048,1]"),
    moves("reduce_max x=f32[32768,1024,1]"),
    moves("cross_entropy x=f32[8192,32768,1] target=i64[8192,1]", 0),
    moves("embedding.grad gy=f32[16384,1024] weight=f32[32768,1024] index=i64[16384]", 0),

    multiplies("matmul a=f16[1,1,4096,4096] b=f16[1,1,4096,4096]", kOfBf16Product),
    multiplies("gemm a=f32[4096,4096] b=f32[4096,4096]:t", kOfF32Product),
    multiplies_in_tf32("matmul a=f32[1,1,4096,4096] b=f32[1,1,4096,4096]"),
    multiplies("matmul a=f32[8,16,1024,64] b=f32[8,16,64,1024]"),
    multiplies("attention q=f16[4,8,1024,64] k=f16[4,8,1024,64] v=f16[4,8,1024,64]"),
    multiplies("conv2d x=bf16[32,64,56,56]:nhwc w=bf16[64,64,3,3]:nhwc y=bf16[32,64,56,56]:nhwc "
               "pads=1,1,1,1"),
    multiplies_in_tf32("conv2d x=f32[32,64,56,56] w=f32[64,64,3,3] pads=1,1,1,1"),
    multiplies("conv2d x=f32[32,256,56,56] w=f32[64,256,1,1]"),
    multiplies("conv2d x=f32[32,128,56,56] w=f32[128,128,3,3] stride=2,2 pads=1,1,1,1"),
    multiplies("conv2d.grad gy=f32[32,64,56,56] x=f32[32,64,56,56] w=f32[64,64,3,3] "
               "pads=1,1,1,1"),
};

double work_of(const Case& c) {
  double elements = 0;
  for (const CaseTensor& t : c.inputs) elements += static_cast<double>(volume(t.shape));
  return std::max(elements, multiply_adds(*c.program, c.binding));
}

}  // namespace

std::span<const TimedCase> timed_cases() { return kCases; }

const char* limits_of(std::string_view backend) {
  if (backend == "cublas" || backend == "cublas_tf32")
    return "sums in parts are combined in the compute type; 32 MiB of workspace at most; the "
           "heuristic's best";
  if (backend == "cudnn" || backend == "cudnn_tf32")
    return "deterministic algorithms alone, none by FFT or Winograd's; 256 MiB of workspace at "
           "most; the heuristic's best";
  return nullptr;
}

Case made_small(const Case& c) {
  constexpr double kMaxWork = 1e5;
  for (const std::int64_t most : {64, 32, 16, 8, 4}) {
    Case small = c;
    for (CaseTensor& t : small.inputs)
      for (std::int64_t& extent : t.shape) extent = std::min(extent, most);
    complete(small);
    if (work_of(small) <= kMaxWork) return small;
  }
  throw Error(fmt::format("{}: no small case of it is known", to_string(c)));
}

}  // namespace mote::bench
