// SPDX-License-Identifier: Apache-2.0
// Tests kernels that are compiled for the shim at run time: errors that a GPU traps are found in
// them too.
#include "cuda_host/host_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace mote::cuda_host {
namespace {

/// Returns the error that a block of 8 threads of `void k(const float *x, float *y)` finds with
/// that body.
std::string found_in(const std::string& body) {
  setenv("MOTE_CACHE", MOTE_CUDA_CACHE, 1);
  const std::string source = host_source(
      {"k"}, "extern \"C\" __global__ void k(const float *x, float *y) {\n" + body + "\n}\n");
  const HostLibrary library = compile_for_host(source, [&] { return source; });
  struct alignas(16) Elements {
    float of[64];
  };
  Elements from{}, to{};
  const float* x = from.of;
  float* y = to.of;
  std::vector<void*> arguments = {&x, &y};
  shim::Shape shape;
  shape.block = {8};
  shape.shared_begin = library.shared_begin;
  shape.shared_end = library.shared_end;
  return shim::launch(shape, {}, [&] { library.kernels.at("k")(arguments.data()); });
}

TEST(HostLibrary, FindsAVectorAtAnAddressThatNoVectorHas) {
  EXPECT_EQ(found_in("((mote_vector<float, 4> *)y)[threadIdx.x] =\n"
                     "    *(const mote_vector<float, 4> *)&x[4 * threadIdx.x];"),
            "");
  const std::string found = found_in(
      "((mote_vector<float, 4> *)y)[threadIdx.x] =\n"
      "    *(const mote_vector<float, 4> *)&x[5 * threadIdx.x];");
  EXPECT_NE(
      found.find("block 0,0,0, thread 1,0,0: reads or writes 'mote_vector' at an address that "
                 "16 doesn't divide in line "),
      std::string::npos)
      << found;
}

TEST(HostLibrary, FindsAnIndexOutsideOfAnArray) {
  const auto with = [](const std::string& index) {
    return found_in("__shared__ float tile[2][4];\ntile[threadIdx.x / 4][" + index +
                    "] = x[0];\n__syncthreads();\ny[threadIdx.x] = tile[0][0];");
  };
  EXPECT_EQ(with("threadIdx.x % 4"), "");
  const std::string found = with("threadIdx.x % 5");
  EXPECT_NE(found.find("thread 4,0,0: index 4 is outside of 'float"), std::string::npos) << found;
}

}  // namespace
}  // namespace mote::cuda_host
