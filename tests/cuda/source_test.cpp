// SPDX-License-Identifier: Apache-2.0
// Tests a user's .cu file as a subject, as a user runs it: the example passes, and each mistake
// that is planted in it is found and named, in the same case.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "oracle/temporary_folder.h"
#include "support/shell.h"

namespace mote {
namespace {

constexpr const char* kCase = "softmax x=f32[2,70,3] fill=index:0";

using Result = test::Ran;

Result mote_run(const std::string& arguments) {
  return test::run_in_shell(fmt::format("'{}' {}", MOTE_TOOL, arguments));
}

std::string example() {
  std::ifstream stream(MOTE_EXAMPLE, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Runs one case of a file with that text.
Result run(const std::string& text, const std::string& one_case = kCase) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("mine.cu", text);
  return mote_run(fmt::format("replay '{} backend=mine plugin={}'", one_case, file));
}

struct Planted {
  const char* name;
  const char* right;
  const char* wrong;
  int code;
  const char* finding;
  const char* one_case = kCase;
};

const Planted kPlanted[] = {
    {"no_barrier_before_reading", "__syncthreads();  // before parts are read", "", 1,
     "is not the same when threads run forward and when they run in "},
    {"no_barrier_before_writing", "__syncthreads();  // before the next call writes them", "", 1,
     "is not the same when threads run forward and when they run in "},
    {"barrier_for_some", "__syncthreads();  // before parts",
     "if (threadIdx.x < 64) __syncthreads();//", 1,
     "reaches the barrier in line 22 while others wait at the one in line 19"},
    {"mask_of_half", "0xffffffffu", "0x0000ffffu", 1, "which is not in the mask"},
    {"beyond_the_end", "n < N; n += kThreads) y", "n <= N; n += kThreads) y", 1, "out of bounds"},
    {"no_blocks", "if (rows == 0) return 0;", "", 1, "a grid of 0,1,1 blocks, expected 1 at least",
     "softmax x=f32[0,3,2] fill=index:0"},
    {"too_many_threads", "kThreads = 128", "kThreads = 2048", 1,
     "a block of 2048,1,1 threads, expected at most 1024,1024,64"},
    {"too_much_shared_memory", "kThreads, 0, stream", "kThreads, 49153, stream", 1,
     "49169 bytes of shared memory, 16 of them static, expected at most 49152"},
    {"too_much_with_what_is_static", "kThreads, 0, stream", "kThreads, 49137, stream", 1,
     "49153 bytes of shared memory, 16 of them static, expected at most 49152"},
    {"too_much_static_shared_memory", "float parts[kWarps];",
     "float parts[kWarps], more[12285]; more[threadIdx.x] = value; value = more[threadIdx.x];", 2,
     "of_block has 49156 bytes of static shared memory, expected at most 49152"},
    {"too_much_local_memory", "float greatest = ",
     "volatile float own[200000]; own[0] = 0; float greatest = own[0] ", 3, "SIGSEGV"},
    {"wrong_result", "/ sum;", "/ (sum + 1);", 1, "expected 0."},
    {"its_own_error", "return 0;", "return 7;", 1, "the function returned 7",
     "softmax x=f32[0,3,2] fill=index:0"},
    {"no_cpp", "float greatest =", "float greatest ==", 2, "mine.cu:31"},
    {"another_signature", "int64_t N, int64_t C, cudaStream_t stream) {",
     "int N, int64_t C, cudaStream_t stream) {", 2, "my_softmax"},
    {"another_name", "int my_softmax(", "int your_softmax(", 2,
     "undefined reference to `my_softmax'"},
    {"no_line_for_mote", "// mote:", "//", 2, "no line says what it computes"},
    {"unknown_op", "mote: softmax", "mote: softmin", 2, "mine.cu:5: unknown op"},
    {"no_name", "softmax my_softmax", "softmax my;softmax", 2,
     "mine.cu:5: expected the name of a C function, got 'my;softmax'"},
    {"unknown_word", "my_softmax f32", "my_softmax fast", 2, "mine.cu:5: unknown dtype 'fast'"},
};

void PrintTo(const Planted& p, std::ostream* out) { *out << p.name; }

class CudaSource : public testing::TestWithParam<Planted> {};

TEST_P(CudaSource, FindsAndNamesTheMistake) {
  const Planted& p = GetParam();
  std::string text = example();
  const std::size_t at = text.find(p.right);
  ASSERT_NE(at, std::string::npos);
  const Result r = run(text.replace(at, std::string(p.right).size(), p.wrong), p.one_case);
  EXPECT_EQ(r.code, p.code) << r.out;
  EXPECT_NE(r.out.find(p.finding), std::string::npos) << r.out;
}

INSTANTIATE_TEST_SUITE_P(Mistakes, CudaSource, testing::ValuesIn(kPlanted),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CudaSourceExample, IsRight) {
  const Result r = run(example());
  EXPECT_EQ(r.code, 0) << r.out;
}

TEST(CudaSourceExample, HasNoStandaloneC) {
  const Result r = mote_run(fmt::format(
      "replay '{} backend=softmax plugin={}' --standalone /dev/null", kCase, MOTE_EXAMPLE));
  EXPECT_EQ(r.code, 2) << r.out;
  EXPECT_NE(r.out.find("--standalone: expected a library"), std::string::npos) << r.out;
}

/// Atomic sums of floats round in the order of the threads: this is allowed if the line says so,
/// and judged.
TEST(CudaSourceFile, MayBeNondeterministicWhereItSaysSo) {
  const auto added = [](const char* words, const char* what) {
    return run(fmt::format(R"(
// mote: sum summed f32 row-major{}
#include "mote_launch.h"

__global__ void add_all(const float* x, float* y, int64_t N, int64_t C) {{
  const int64_t r = blockIdx.x;
  for (int64_t n = threadIdx.x; n < N; n += blockDim.x)
    for (int64_t c = 0; c < C; c++) atomicAdd(&y[r * C + c], {});
}}

extern "C" int summed(const float* x, const int64_t*, float* y, const int64_t*, int64_t R, int64_t N,
                      int64_t C, cudaStream_t stream) {{
  if (R == 0) return 0;
  cudaMemsetAsync(y, 0, static_cast<size_t>(R * C) * sizeof(float), stream);
  return mote_launch(add_all, R, 64, 0, stream, x, y, N, C);
}}
)",
                           words, what),
               "sum x=f32[2,300,3] fill=uniform:1");
  };
  const char* const right = "x[(r * N + n) * C + c]";
  const Result unsaid = added("", right);
  EXPECT_EQ(unsaid.code, 1) << unsaid.out;
  EXPECT_NE(unsaid.out.find("is not the same when threads run forward"), std::string::npos)
      << unsaid.out;
  const Result said = added(" nondeterministic", right);
  EXPECT_EQ(said.code, 0) << said.out;
  const Result wrong = added(" nondeterministic", "x[(r * N + n) * C + c] + 1");
  EXPECT_EQ(wrong.code, 1) << wrong.out;
  EXPECT_NE(wrong.out.find("expected"), std::string::npos) << wrong.out;
}

TEST(CudaSourceFile, IsNoFolder) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path().string() + "/folder.cu";
  std::filesystem::create_directory(path);
  const Result r = mote_run(fmt::format("check softmax --plugin '{}' --count 1", path));
  EXPECT_EQ(r.code, 2) << r.out;
  EXPECT_NE(r.out.find("folder.cu: is a folder, expected a file of CUDA C++"), std::string::npos)
      << r.out;
}

/// Each kernel has 40,000 bytes of shared memory, which a GPU has for each of them.
TEST(CudaSourceFile, HoldsSeveralKernelsAndTheirMemory) {
  const Result r = run(R"(
#include "mote_launch.h"
// mote: sum all_sums f64 row-major accumulator=f64
// mote: neg negated i32

__global__ void add_rows(const double* x, double* parts, int64_t N, int64_t C) {
  const int64_t r = blockIdx.x;
  for (int64_t c = threadIdx.x; c < C; c += blockDim.x) {
    __shared__ double sums[5000];
    sums[c] = 0;
    for (int64_t n = 0; n < N; n++) sums[c] += x[(r * N + n) * C + c];
    parts[r * C + c] += sums[c];
  }
}

extern "C" int all_sums(const double* x, const int64_t*, double* y, const int64_t*, int64_t R,
                        int64_t N, int64_t C, cudaStream_t stream) {
  if (R == 0) return 0;
  double* parts = nullptr;
  const size_t bytes = static_cast<size_t>(R * C) * sizeof(double);
  if (cudaMallocAsync(&parts, bytes, stream) != cudaSuccess) return cudaErrorMemoryAllocation;
  cudaMemsetAsync(parts, 0, bytes, stream);
  mote_launch(add_rows, R, 32, 0, stream, x, parts, N, C);
  cudaMemcpyAsync(y, parts, bytes, cudaMemcpyDefault, stream);
  cudaFreeAsync(parts, stream);
  return cudaGetLastError();
}

__global__ void negate(const int32_t* x, int32_t* y) {
  __shared__ int32_t held[10000];
  held[0] = *x;
  *y = -held[0];
}

extern "C" int negated(const int32_t* x, const int64_t*, int32_t* y, const int64_t*, int64_t, int64_t,
                       int64_t, int64_t, cudaStream_t stream) {
  return mote_launch(negate, 1, 1, 0, stream, x, y);
}
)",
                       "sum x=f64[3,5,40] fill=index:0");
  EXPECT_EQ(r.code, 0) << r.out;
}

}  // namespace
}  // namespace mote
