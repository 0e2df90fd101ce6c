// SPDX-License-Identifier: Apache-2.0
// Tests the backends cuda and cuda_reference on a fake driver: launches compute the right results,
// any call of the driver may fail and gives a status with the kernel's name, and no memory is left
// behind.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include "cuda/fake_driver.h"
#include "cuda/in_child.h"
#include "mote/base/plugin.h"
#include "oracle/temporary_folder.h"
#include "support/call.h"
#include "support/shell.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

constexpr int kOutOfMemory = 2;       // CUDA_ERROR_OUT_OF_MEMORY
constexpr int kIllegalAddress = 700;  // CUDA_ERROR_ILLEGAL_ADDRESS, after which no call works

/// The plug-in and the fake that it finds; they are loaded once, before any fork.
class Libraries {
 public:
  static const Libraries& all() {
    static const Libraries only;
    return only;
  }
  template <typename F>
  F* fake(const char* name) const {
    return reinterpret_cast<F*>(dlsym(fake_, name));
  }
  void fail(int call, int status) const { fake<void(int, int)>("fake_cuda_fail")(call, status); }
  int calls() const { return fake<int()>("fake_cuda_calls")(); }
  int live() const { return fake<int()>("fake_cuda_live")(); }
  const mote_backend& backend(const std::string& name) const {
    for (const mote_backend* b : plugin_.backends)
      if (b->name == name) return *b;
    throw std::runtime_error("no backend " + name);
  }

 private:
  Libraries() {
    setenv("MOTE_CUDA_DRIVER", MOTE_CUDA_FAKE, 1);
    setenv("MOTE_NVRTC", MOTE_CUDA_FAKE, 1);
    setenv("MOTE_CACHE", MOTE_CUDA_CACHE, 1);
    fake_ = dlopen(MOTE_CUDA_FAKE, RTLD_NOW | RTLD_LOCAL);
    plugin_ = load_plugin(MOTE_CUDA_PLUGIN);
  }
  void* fake_;
  Plugin plugin_;
};

/// Runs the body in a process of its own, where a GPU may be opened and lost.
std::string in_child(const std::function<std::string()>& body) {
  Libraries::all();
  return test::in_child(body);
}

/// A call with two kernels: the gradient of a layer norm, without gamma and beta.
class LayerNormGrad {
 public:
  LayerNormGrad() : call_("layer_norm.grad", {&gy_, &x_, nullptr, nullptr}, {&gx_}) {
    gy_.fill_integers(1);
    x_.fill_integers(2);
  }
  test::Call& call() { return call_; }
  test::Tensor& result() { return gx_; }

 private:
  test::Tensor gy_{DType::f32, {3, 70}};
  test::Tensor x_{DType::f32, {3, 70}};
  test::Tensor gx_{DType::f32, {3, 70}, {80, 1}, -1};
  test::Call call_;
};

/// A sum: y[r, c] = Σ x[r, n, c], strided.
class Sum {
 public:
  Sum() : call_("sum", {&x_}, {&y_}) { x_.fill_integers(3); }
  test::Call& call() { return call_; }
  test::Tensor& x() { return x_; }
  test::Tensor& y() { return y_; }
  bool is_right() {
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t c = 0; c < 5; ++c) {
        double sum = 0;
        for (std::int64_t n = 0; n < 7; ++n) sum += x_.get({r, n, c});
        if (y_.get({r, c}) != sum) return false;
      }
    return y_.changed_gaps(-1) == 0;
  }

 private:
  test::Tensor x_{DType::f32, {3, 7, 5}, {1, 20, 4}};
  test::Tensor y_{DType::f32, {3, 5}, {1, 4}, -1};
  test::Call call_;
};

struct Ran {
  mote_status status;
  std::string message;
};
Ran run(test::Call& call, const std::string& op, const std::string& backend) {
  const mote_backend& of = Libraries::all().backend(backend);
  const KernelChoice chosen = choose_kernel(of, call.get());
  if (chosen.kernel == nullptr) return {MOTE_UNSUPPORTED, chosen.reason};
  const mote_status status = call.run(*chosen.kernel);
  return {status, op + ": " + call.message()};
}

TEST(CudaGpu, ComputesOnCopiesOfTheHostsTensors) {
  for (const char* backend : {"cuda", "cuda_reference"}) {
    EXPECT_EQ(in_child([&]() -> std::string {
                Sum sum;
                const Ran ran = run(sum.call(), "sum", backend);
                if (ran.status != MOTE_OK) return ran.message;
                if (!sum.is_right()) return "wrong";
                return Libraries::all().live() == 0 ? "right" : "left behind";
              }),
              "right")
        << backend;
  }
}

/// Runs the call with tensors that lie on the fake GPU.
std::string sum_on_the_gpu(bool only_x) {
  const Libraries& of = Libraries::all();
  Sum sum;
  if (run(sum.call(), "sum", "cuda").status != MOTE_OK) return "not opened";
  void* context = nullptr;
  of.fake<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0);
  of.fake<int(void*)>("cuCtxPushCurrent_v2")(context);
  const auto moved = [&](test::Tensor& t, std::size_t bytes) {
    DLTensor view = t.view();
    std::uint64_t at = 0;
    of.fake<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2")(&at, bytes);
    of.fake<int(std::uint64_t, const void*, std::size_t, void*)>("cuMemcpyHtoDAsync_v2")(
        at, view.data, bytes, nullptr);
    view.data = reinterpret_cast<void*>(at);
    view.device = {kDLCUDA, 0};
    return view;
  };
  constexpr std::size_t kBytesOfX = 556, kBytesOfY = 76;  // of 139 and 19 elements
  const DLTensor x = moved(sum.x(), kBytesOfX);
  DLTensor y = moved(sum.y(), kBytesOfY);
  if (only_x) y = sum.y().view();
  const std::array<const DLTensor*, 1> inputs = {&x};
  const std::array<DLTensor*, 1> outputs = {&y};
  mote_call call = sum.call().get();
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  std::fill_n(static_cast<float*>(sum.y().data()), 19, -1.0F);
  const KernelChoice chosen = choose_kernel(of.backend("cuda"), call);
  if (chosen.kernel == nullptr) return chosen.reason;
  if (chosen.kernel->run(&call, nullptr) != MOTE_OK) return sum.call().message();
  if (sum.is_right()) return "the host's memory was written";
  of.fake<int(void*, std::uint64_t, std::size_t, void*)>("cuMemcpyDtoHAsync_v2")(
      sum.y().data(), reinterpret_cast<std::uint64_t>(y.data), kBytesOfY, nullptr);
  return sum.is_right() ? "right" : "wrong";
}

TEST(CudaGpu, UsesTensorsOfTheGpuWhereTheyAre) {
  EXPECT_EQ(in_child([] { return sum_on_the_gpu(false); }), "right");
  const std::string mixed = in_child([] { return sum_on_the_gpu(true); });
  EXPECT_NE(mixed.find("some tensors are in the host's memory, some in the GPU's"),
            std::string::npos)
      << mixed;
}

/// Runs once to count the calls, including those of the compiler.
int calls_of_a_run() {
  fs::remove_all(fs::path(MOTE_CUDA_CACHE) / "nvrtc");
  return std::stoi(in_child([] {
    LayerNormGrad grad;
    const mote_kernel& kernel =
        *test::kernel_of(Libraries::all().backend("cuda_reference"), "layer_norm.grad");
    const mote_status status = grad.call().run(kernel);
    return status == MOTE_OK ? std::to_string(Libraries::all().calls()) : grad.call().message();
  }));
}

/// Runs twice, and call number `failing` of the first run fails. Returns "well again", "lost", or
/// the description of an error.
std::string after_failure(int failing, int status) {
  const Libraries& of = Libraries::all();
  const mote_kernel& kernel = *test::kernel_of(of.backend("cuda_reference"), "layer_norm.grad");
  LayerNormGrad grad;
  of.fail(failing, status);
  const mote_status first = grad.call().run(kernel);
  const std::string text = grad.call().message();
  if (first != MOTE_FAILED && first != MOTE_OUT_OF_MEMORY) return fmt::format("status {}", first);
  if (text.find("mote_layer_norm_grad_") == std::string::npos) return "no kernel's name: " + text;
  if (of.live() != 0) return fmt::format("{} left behind: {}", of.live(), text);
  const bool lost = text.find("context is lost") != std::string::npos;
  of.fail(-1, 0);
  const mote_status second = grad.call().run(kernel);
  const std::string then = grad.call().message();
  if (!lost) return second == MOTE_OK ? "well again" : "not well again: " + then;
  if (second != MOTE_FAILED || then.find("was lost before") == std::string::npos)
    return "goes on without a context: " + then;
  return grad.call().can_run(kernel) == MOTE_UNSUPPORTED ? "lost" : "can_run says yes";
}

TEST(CudaGpu, EveryCallThatFailsIsAStatusWithTheKernelsName) {
  const int calls = calls_of_a_run();
  ASSERT_GT(calls, 25);
  int lost = 0;
  for (const int status : {kOutOfMemory, kIllegalAddress})
    for (int k = 0; k < calls; ++k) {
      fs::remove_all(fs::path(MOTE_CUDA_CACHE) / "nvrtc");
      const std::string said = in_child([&] { return after_failure(k, status); });
      EXPECT_TRUE(said == "well again" || (said == "lost" && status == kIllegalAddress))
          << "call " << k << " of " << calls << " with status " << status << ": " << said;
      lost += said == "lost" ? 1 : 0;
    }
  EXPECT_GT(lost, 10);
}

TEST(CudaGpu, IsDeclinedWhereThereIsNoDriver) {
  const std::string said = in_child([]() -> std::string {
    setenv("MOTE_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
    Sum sum;
    return run(sum.call(), "sum", "cuda").message;
  });
  EXPECT_EQ(said,
            "no driver: /nowhere/libcuda.so.1: cannot open shared object file: No such file or "
            "directory");
}

/// Returns the result of a sum on a fake whose variable has that value.
std::string sum_where(const char* variable, const char* value) {
  return in_child([&]() -> std::string {
    setenv(variable, value, 1);
    Sum sum;
    const Ran ran = run(sum.call(), "sum", "cuda");
    return ran.status == MOTE_OK ? sum.is_right() ? "right" : "wrong" : ran.message;
  });
}

/// The fake NVRTC knows sm_80 and sm_90: machine code for sm_80 runs on sm_89, and for other
/// generations the driver compiles PTX.
TEST(CudaGpu, RunsOnGpusThatNvrtcDoesNotKnow) {
  for (const char* architecture : {"80", "89", "90", "100", "121"})
    EXPECT_EQ(sum_where("FAKE_CUDA_ARCHITECTURE", architecture), "right") << architecture;
  EXPECT_EQ(sum_where("FAKE_CUDA_ARCHITECTURE", "75"), "the GPU is sm_75, expected sm_80 or later");
}

/// The fake NVRTC has version 99.0.
TEST(CudaGpu, IsDeclinedWhereTheDriverIsOlderThanNvrtc) {
  EXPECT_EQ(sum_where("FAKE_CUDA_VERSION", "99010"), "right");
  EXPECT_EQ(sum_where("FAKE_CUDA_VERSION", "98020"),
            "no NVRTC: " MOTE_CUDA_FAKE
            " makes code for drivers of CUDA 99, this one is of CUDA 98.2");
}

/// Runs `mote ARGUMENTS` on the fake driver; returns both streams.
std::string mote_run(const std::string& arguments, const std::string& prefix = "") {
  return test::run_in_shell(
             fmt::format("MOTE_CUDA_DRIVER='{0}' MOTE_NVRTC='{0}' MOTE_CACHE='{1}' {2} '{3}' {4}",
                         MOTE_CUDA_FAKE, MOTE_CUDA_CACHE, prefix, MOTE_TOOL, arguments))
      .out;
}

TEST(CudaGpu, PassesTheOracle) {
  const std::string out = mote_run(fmt::format(
      "check softmax gemm neg layer_norm.grad embedding.grad --in-process --plugin '{}' "
      "--backend cuda,cuda_reference --count 2 --seed 1",
      MOTE_CUDA_PLUGIN));
  EXPECT_NE(out.find("\npassed: "), std::string::npos) << out;
}

/// The cases are one of f32 and one for tensor cores; for such sizes a GPU takes tiles of 128 x
/// 128.
TEST(CudaGpu, ComputesPipelinedTiles) {
  const test::TemporaryFolder folder;
  const std::string cases = folder.write("wide.cases",
                                         "matmul a=f32[97,96,8] b=f32[1,8,96] fill=uniform:1\n"
                                         "matmul a=bf16[97,96,8] b=bf16[1,8,96] fill=uniform:2\n");
  const std::string out = mote_run(
      fmt::format("replay {} --in-process --plugin '{}' --backend cuda", cases, MOTE_CUDA_PLUGIN),
      fmt::format("MOTE_CACHE='{}'", folder.path().string()));
  EXPECT_NE(out.find("passed: matmul a=f32"), std::string::npos) << out;
  EXPECT_NE(out.find("passed: matmul a=bf16"), std::string::npos) << out;
  const auto entries = fs::directory_iterator(folder.path() / "nvrtc");
  EXPECT_EQ(std::count_if(begin(entries), end(entries),
                          [](const auto& entry) {
                            std::ifstream file(entry.path());
                            const std::string key{std::istreambuf_iterator<char>(file), {}};
                            return entry.path().extension() == ".key" &&
                                   key.find("_pipelined_tiles, driver ") != std::string::npos;
                          }),
            2);
}

TEST(CudaGpu, PassesTheOracleWhereFewThreadsWouldHaveMuchToDo) {
  const test::TemporaryFolder folder;
  const std::string cases =
      folder.write("parts.cases",
                   "sum x=f32[1,40000,1] fill=uniform:1\n"
                   "cross_entropy x=f32[30,40,1] target=i64[30,1] fill=uniform:2\n"
                   "embedding.grad gy=f32[300,5] weight=f32[7,5] index=i64[300] fill=uniform:3\n");
  const std::string out = mote_run(
      fmt::format("replay {} --in-process --plugin '{}' --backend cuda", cases, MOTE_CUDA_PLUGIN));
  for (const char* op : {"sum", "cross_entropy", "embedding.grad"})
    EXPECT_NE(out.find(fmt::format("passed: {} ", op)), std::string::npos) << out;
}

TEST(CudaGpu, ALostContextEndsTheWorkerAndNotTheCampaign) {
  const test::TemporaryFolder folder;
  const std::string one =
      fmt::format("neg x=f32[1,1,2,3] fill=index:0 backend=cuda plugin={}\n", MOTE_CUDA_PLUGIN);
  const std::string cases = folder.write("three.cases", one + one + one);
  const std::string out =
      mote_run("replay " + cases, "FAKE_CUDA_FAIL=60:700");  // fails in the second case
  const auto count = [&](const std::string& text) {
    int found = 0;
    for (std::size_t at = out.find(text); at != std::string::npos; at = out.find(text, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("passed: neg"), 2) << out;
  EXPECT_EQ(count("mote_neg_f32"), 1) << out;  // or mote_neg_f32_vectors, depending on the address
  EXPECT_EQ(count("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), 1) << out;
}

/// Only the kernels that a call launches are compiled, once; those for other strides are not.
TEST(CudaGpu, CompilesTheKernelsThatAreLaunched) {
  const test::TemporaryFolder folder;
  const std::string cases = folder.write("neg.cases",
                                         "neg x=f32[1,1,2,3] fill=index:0\n"
                                         "neg x=f32[1,1,2,5] fill=index:0\n"
                                         "neg x=f32[1,1,2,3]:off1 fill=index:0\n"
                                         "softmax x=f32[2,3,2] fill=index:0\n");
  mote_run(
      fmt::format("replay {} --in-process --plugin '{}' --backend cuda", cases, MOTE_CUDA_PLUGIN),
      fmt::format("MOTE_CACHE='{}'", folder.path().string()));
  std::vector<std::string> compiled;
  for (const auto& entry : fs::directory_iterator(folder.path() / "nvrtc")) {
    if (entry.path().extension() != ".key") continue;
    std::ifstream file(entry.path());
    const std::string key{std::istreambuf_iterator<char>(file), {}};
    const std::size_t end = key.find(", driver "), begin = key.rfind(", ", end - 1) + 2;
    compiled.push_back(key.substr(begin, end - begin));
  }
  std::ranges::sort(compiled);
  const std::vector<std::string> expected = {"mote_neg_f32 mote_neg_f32",
                                             "mote_neg_f32 mote_neg_f32_vectors",
                                             "mote_softmax_f32 mote_softmax_f32"};
  EXPECT_EQ(compiled, expected);
}

/// A driver may be newer the next time: it does not get code that an earlier version loaded.
TEST(CudaGpu, CodeIsKeptByTheDriversVersion) {
  const test::TemporaryFolder folder;
  const auto entries = [&](const std::string& version) {
    const std::string out = mote_run(
        fmt::format("replay 'neg x=f32[1,1,2,3] fill=index:0 backend=cuda plugin={}'",
                    MOTE_CUDA_PLUGIN),
        fmt::format("MOTE_CACHE='{}' FAKE_CUDA_VERSION={}", folder.path().string(), version));
    EXPECT_NE(out.find("passed: neg"), std::string::npos) << out;
    int found = 0;
    for (const auto& entry : fs::directory_iterator(folder.path() / "nvrtc"))
      found += entry.path().extension() == ".key" ? 1 : 0;
    return found;
  };
  EXPECT_EQ(entries("99000"), 1);
  EXPECT_EQ(entries("99000"), 1);
  EXPECT_EQ(entries("99010"), 2);
}

TEST(CudaGpu, ThePluginMustBeNamed) {
  const std::string out = mote_run("check neg --backend cuda");
  EXPECT_NE(out.find("its plug-in must be named: --plugin "), std::string::npos) << out;
  EXPECT_NE(out.find("/lib/mote/cuda.so"), std::string::npos) << out;
}

/// Returns the finding of `mote doctor` that begins with this text, as one line.
std::string doctors_line(const std::string& begin, const std::string& prefix = "") {
  const std::string joined =
      "\n" + std::regex_replace(mote_run("doctor", prefix), std::regex("\n +"), " ");
  const std::size_t at = joined.find("\n" + begin);
  return at == std::string::npos ? "no such line:" + joined
                                 : joined.substr(at + 1, joined.find('\n', at + 1) - at - 1);
}

TEST(CudaGpu, TheDoctorSeesTheDriver) {
  EXPECT_NE(doctors_line("ok       gpu ").find("a fake GPU"), std::string::npos);
  EXPECT_NE(doctors_line("failed   gpu ", "FAKE_CUDA_FAIL=0:700").find("cuInit returned 700"),
            std::string::npos);
}

TEST(CudaGpu, TheDoctorSaysWhatKernelsCanDo) {
  EXPECT_EQ(doctors_line("ok       cuda "), "ok       cuda            a toolkit, a GPU");
  const auto has = [](const std::string& line, const std::string& text) {
    EXPECT_NE(line.find(text), std::string::npos) << line;
  };
  has(doctors_line("missing  cuda ", "FAKE_CUDA_GPUS=0"), "a toolkit, a driver, but no GPU; cost");
  has(doctors_line("failed   nvrtc ", "FAKE_CUDA_VERSION=98020"),
      " makes code for drivers of CUDA 99, this one is of CUDA 98.2; cost");
  has(doctors_line("failed   cuda ", "FAKE_CUDA_VERSION=98020"), "no toolkit, a GPU; cost");
  has(doctors_line("failed   cuda ", "FAKE_CUDA_FAIL=0:700"),
      ", a driver that does not start; cost");
}

/// The plug-in lies next to the folder of plug-ins, so that no part is missing.
TEST(CudaGpu, TheDoctorSaysThatThePluginMustBeNamed) {
  const std::string line = doctors_line("ok       backend         cuda, ");
  EXPECT_NE(line.find("/lib/mote/cuda.so"), std::string::npos) << line;
  EXPECT_NE(line.find("--plugin"), std::string::npos) << line;
}

}  // namespace
}  // namespace mote
