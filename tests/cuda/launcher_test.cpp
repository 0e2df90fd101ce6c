// SPDX-License-Identifier: Apache-2.0
// Tests a user's functions that launch kernels on a GPU (that of the fake driver): a .cu file that
// a stand-in for nvcc compiles, and a library with pointers of the GPU and a stream. They get
// copies of the host's tensors, and each mistake is found and named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "oracle/temporary_folder.h"
#include "support/shell.h"

namespace mote {
namespace {

constexpr const char* kCase = "softmax x=f32[2,70,3]:pad2 y=f32[2,70,3]:off1 fill=index:0";

using Result = test::Ran;

/// Runs mote on the fake driver; `set` adds environment variables.
Result mote_run(const std::string& arguments, const std::string& set = "") {
  return test::run_in_shell(
      fmt::format("MOTE_CUDA_DRIVER='{}' NVCC='{}' FAKE_NVCC_SHIM='{}' {} '{}' {}", MOTE_CUDA_FAKE,
                  MOTE_FAKE_NVCC, MOTE_CUDA_SHIM, set, MOTE_TOOL, arguments));
}

std::string example() {
  std::ifstream stream(MOTE_EXAMPLE, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string replaced(std::string text, const std::string& right, const std::string& wrong) {
  const std::size_t at = text.find(right);
  EXPECT_NE(at, std::string::npos) << right;
  return at == std::string::npos ? text : text.replace(at, right.size(), wrong);
}

Result run(const std::string& text, const std::string& set = "") {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("mine.cu", text);
  return mote_run(fmt::format("replay '{} backend=mine plugin={}'", kCase, file), set);
}

void expect(const Result& r, int code, const std::string& part) {
  EXPECT_EQ(r.code, code) << r.out;
  EXPECT_NE(r.out.find(part), std::string::npos) << r.out;
}

/// The beginning of the launcher, where tests insert statements.
constexpr const char* kBegin = "const int64_t rows = R * C;";

TEST(CudaLauncher, ASourceIsCompiledForTheGpuThatIsThere) {
  expect(run(example()), 0, "passed");
  // On the GPU there is a stream, on the shim there is none.
  const std::string needs_stream =
      replaced(example(), kBegin, std::string("if (stream == nullptr) return 7; ") + kBegin);
  expect(run(needs_stream), 0, "passed");
  expect(run(needs_stream, "MOTE_CUDA_SOURCE=host"), 1, "the function returned 7");
  expect(run(needs_stream, "MOTE_CUDA_DRIVER=/nowhere"), 1, "the function returned 7");
}

/// The choice of the machine asks the driver, which does not work in forked children afterwards, so
/// a separate process asks whether there is one.
TEST(CudaLauncher, ASourceIsCheckedByWorkersOnTheGpu) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("mine.cu", example());
  const Result r = mote_run(
      fmt::format("check softmax --dtype f32 --plugin '{}' --count 6 --seed 1 --workers 2", file));
  expect(r, 0, "mine on a GPU");
  EXPECT_EQ(r.out.find("not judged"), std::string::npos) << r.out;
}

TEST(CudaLauncher, TheChoiceOfMachineIsChecked) {
  expect(run(example(), "MOTE_CUDA_SOURCE=cpu"), 2,
         "MOTE_CUDA_SOURCE: expected gpu or host, got 'cpu'");
  expect(run(example(), "MOTE_CUDA_SOURCE=gpu NVCC=/nowhere/nvcc"), 2, "/nowhere/nvcc");
  const Result absent = run(example(), "MOTE_CUDA_SOURCE=gpu MOTE_CUDA_DRIVER=/nowhere/libcuda.so");
  expect(absent, 4, "no driver: /nowhere/libcuda.so");
}

TEST(CudaLauncher, MistakesAreNamed) {
  expect(run(replaced(example(), "/ sum;", "/ (sum + 1);")), 1, "expected 0.");
  expect(run(replaced(example(), "for (int64_t n = threadIdx.x; n < N; n += kThreads) y",
                      "for (int64_t n = threadIdx.x; n < N - 1; n += kThreads) y")),
         1, "unwritten");
  expect(run(replaced(example(), kBegin, std::string("return 9; ") + kBegin)), 1,
         "my_softmax: it returned 9");
  expect(run(replaced(example(), "int64_t N, int64_t C, cudaStream_t stream) {",
                      "int N, int64_t C, cudaStream_t stream) {")),
         2, "my_softmax");
}

/// The fake driver's calls fail from the 14th on, as after an illegal address.
TEST(CudaLauncher, ALostContextIsAStatusWithTheFunctionsName) {
  expect(run(example(), "FAKE_CUDA_FAIL=14:700"), 1, "my_softmax: ");
}

/// A user builds this with nvcc; here the host does the launcher's work.
TEST(CudaLauncher, ALibraryTakesPointersOfTheGpuAndAStream) {
  const test::TemporaryFolder folder;
  const auto build = [&](const std::string& name, const std::string& body) {
    const std::string source = folder.write(
        name + ".c",
        "#include <stdint.h>\n#include <stddef.h>\n"
        "int double_it(const float* x, const int64_t sx[4], float* y, const int64_t sy[4],\n"
        "              int64_t I, int64_t J, int64_t K, int64_t L, void* stream) {\n" +
            body + "}\n");
    const std::string library = folder.path().string() + "/" + name + ".so";
    const Result r = mote_run(
        fmt::format("emit neg --plugin double_it --gpu -o '{0}' && cc -shared -fPIC -o '{1}' '{2}' "
                    "'{0}/double_it_plugin.c' -I'{3}' '{4}' -Wl,-rpath,\"$(dirname '{4}')\"",
                    folder.path().string(), library, source, MOTE_INCLUDE, MOTE_CUDA_LAUNCHER));
    EXPECT_EQ(r.code, 0) << r.out;
    return library;
  };
  const std::string loop =
      "  for (int64_t i = 0; i < I; i++) for (int64_t j = 0; j < J; j++)\n"
      "  for (int64_t k = 0; k < K; k++) for (int64_t l = 0; l < L; l++)\n"
      "    y[i * sy[0] + j * sy[1] + k * sy[2] + l * sy[3]] =\n"
      "        -x[i * sx[0] + j * sx[1] + k * sx[2] + l * sx[3]];\n";
  const auto check = [](const std::string& library) {
    return mote_run(fmt::format(
        "check neg --dtype f32 --plugin '{}' --backend double_it --count 30 --seed 1", library));
  };
  expect(check(build("right", "  if (stream == NULL) return 1;\n" + loop + "  return 0;\n")), 0,
         "cases judged");
  expect(check(build("wrong", loop + "  if (I * J * K > 0 && L > 2) y[0] = 1;\n  return 0;\n")), 1,
         "expected");
  expect(check(build("fails", "  return 3;\n")), 1, "double_it: it returned 3");
  const Result absent = mote_run(
      fmt::format("check neg --dtype f32 --plugin '{}' --backend double_it --count 30 --seed 1",
                  build("nowhere", loop + "  return 0;\n")),
      "MOTE_CUDA_DRIVER=/nowhere/libcuda.so.1");
  EXPECT_NE(absent.code, 0);
  EXPECT_NE(absent.out.find("no driver: /nowhere/libcuda.so.1"), std::string::npos) << absent.out;
}

}  // namespace
}  // namespace mote
