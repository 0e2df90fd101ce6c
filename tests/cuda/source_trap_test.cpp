// SPDX-License-Identifier: Apache-2.0
// Tests errors that a GPU traps and a CPU would let pass, in a .cu file on the shim: with each
// available compiler, each mistake is found in its thread and line, and the kernel without it
// passes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "oracle/temporary_folder.h"
#include "support/shell.h"

namespace mote {
namespace {

constexpr const char* kAligned = "neg x=f32[1,1,1,64] fill=index:0";
constexpr const char* kMisaligned = "neg x=f32[1,1,1,65] y=f32[1,1,1,65] fill=index:0";

/// In the bodies x, y and count are the tensors' elements, and t is the number of one of 16
/// threads.
struct Trap {
  const char* name;
  const char* right;
  const char* wrong;
  int code;
  const char* finding;
  const char* wrong_case = kAligned;
  bool by_clang = true;  ///< false for copies of whole structs, which clang does not check
};

constexpr const char* kOneByOne = "for (int k = t; k < count; k += 16) y[k] = -x[k];";
constexpr const char* kPacks =
    "const float4 v = ((const float4*)x)[t]; ((float4*)y)[t] = {-v.x, -v.y, -v.z, -v.w};";

const Trap kTraps[] = {
    {"pack_between_packs", kPacks, kPacks, 1,
     "block 0,0,0, thread 0,0,0: reads or writes 'float4' at an address that 16 doesn't divide in "
     "line 4 of mine.cu",
     kMisaligned, false},
    {"member_between_packs", kPacks, "((float4*)&y[t < 9 ? 4 * t : 3])->y = x[t];", 1,
     "thread 9,0,0: reads or writes 'float4' at an address that 16 doesn't divide in line 4"},
    {"element_of_8_bytes", kOneByOne, "*(double*)&y[t < 9 ? 2 * t : 3] = x[t];", 1,
     "thread 9,0,0: reads or writes 'double' at an address that 8 doesn't divide in line 4"},
    {"stored_between_packs", kPacks,
     "const float4 v = ((const float4*)x)[t]; *(float4*)&y[t < 9 ? 4 * t : 3] = v;", 1,
     "thread 9,0,0: reads or writes 'float4' at an address that 16 doesn't divide in line 4",
     kAligned, false},
    {"atomic_between_elements", kOneByOne, "atomicAdd((int*)((char*)y + 2), t);", 1,
     "thread 0,0,0: reads or writes 'int' at an address that 4 doesn't divide in line "},
    {"beyond_shared_memory",
     "__shared__ float tile[16]; for (int k = t; k < count; k += 16) { tile[t] = x[k]; y[k] = "
     "-tile[t]; }",
     "__shared__ float tile[4]; __shared__ float more[16]; more[t] = 0; tile[t] = x[t]; y[t] = "
     "-tile[t];",
     1, "thread 4,0,0: index 4 is outside of 'float"},
    {"before_its_own_array",
     "float own[4]; for (int k = t; k < count; k += 16) { own[k / 16] = x[k]; y[k] = -own[k / 16]; "
     "}",
     "float own[4]; own[0] = 0; y[t] = own[2 - t];", 1,
     "thread 3,0,0: index -1 is outside of 'float"},
    {"in_the_launcher", kOneByOne,
     "} static int at(long k) { static int few[3]; return few[k]; }\n#define BEFORE at(I + 3);\n"
     "static void unused() {",
     3, "mote: outside of a kernel: index 4 is outside of 'int"},
};

void PrintTo(const Trap& t, std::ostream* out) { *out << t.name; }

std::string source_with(const std::string& body) {
  return fmt::format(R"(// mote: neg mine f32
#include "mote_launch.h"
__global__ void negate(const float* x, float* y, int count) {{ const int t = threadIdx.x;
  {}
}}
#ifndef BEFORE
#define BEFORE
#endif
extern "C" int mine(const float* x, const int64_t*, float* y, const int64_t*, int64_t I, int64_t J,
                    int64_t K, int64_t L, cudaStream_t stream) {{
  BEFORE
  return mote_launch(negate, 1, 16, 0, stream, x, y, I * J * K * L);
}}
)",
                     body);
}

using TrapBy = std::tuple<Trap, const char*>;

std::vector<TrapBy> traps_by_compilers() {
  std::vector<TrapBy> all;
  for (const Trap& t : kTraps) {
    all.emplace_back(t, "g++");
    if (t.by_clang) all.emplace_back(t, "clang++");
  }
  return all;
}

class CudaSourceTraps : public testing::TestWithParam<TrapBy> {};

TEST_P(CudaSourceTraps, AreFoundWhereTheyAre) {
  const auto& [trap, compiler] = GetParam();
  if (test::run_in_shell(fmt::format("{} --version", compiler)).code != 0)
    GTEST_SKIP() << compiler << " is not there";
  const test::TemporaryFolder folder;
  const auto run = [&](const char* body, const char* one_case) {
    const std::string file = folder.write("mine.cu", source_with(body));
    return test::run_in_shell(
        fmt::format("CXX={} MOTE_CUDA_SOURCE=host '{}' replay '{} "
                    "backend=mine plugin={}'",
                    compiler, MOTE_TOOL, one_case, file));
  };
  const test::Ran right = run(trap.right, kAligned);
  EXPECT_EQ(right.code, 0) << right.out;
  const test::Ran wrong = run(trap.wrong, trap.wrong_case);
  EXPECT_EQ(wrong.code, trap.code) << wrong.out;
  EXPECT_NE(wrong.out.find(trap.finding), std::string::npos) << wrong.out;
}

INSTANTIATE_TEST_SUITE_P(Traps, CudaSourceTraps, testing::ValuesIn(traps_by_compilers()),
                         [](const auto& info) {
                           const std::string compiler = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param).name) +
                                  (compiler == "g++" ? "" : "_clang");
                         });

}  // namespace
}  // namespace mote
