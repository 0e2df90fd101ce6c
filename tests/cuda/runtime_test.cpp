// SPDX-License-Identifier: Apache-2.0
// Tests the runtime on the fake driver's GPU: tensors, streams, events, generated kernels and those
// of cuBLAS. Any call of the driver may fail, which gives a StatusError.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "cuda/fake_driver.h"
#include "cuda/in_child.h"
#include "mote/runtime/context.h"
#include "mote/runtime/plugins.h"
#include "mote/runtime/status.h"
#include "mote/runtime/stream.h"

namespace mote {
namespace {

constexpr int kOutOfMemory = 2;
constexpr int kIllegalAddress = 700;  // no call works after this error

/// The plug-ins, and the fake that they find; they are loaded once, before any fork.
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
  bool failed_to_enter() const { return fake<int()>("fake_cuda_failed_to_enter")() != 0; }
  int live() const { return fake<int()>("fake_cuda_live")(); }
  std::vector<const mote_backend*> backends;

 private:
  Libraries() {
    for (const char* variable : {"MOTE_CUDA_DRIVER", "MOTE_NVRTC", "MOTE_CUBLAS"})
      setenv(variable, MOTE_CUDA_FAKE, 1);
    setenv("MOTE_CACHE", MOTE_CUDA_CACHE, 1);
    fake_ = dlopen(MOTE_CUDA_FAKE, RTLD_NOW | RTLD_LOCAL);
    for (const char* path : {MOTE_CUBLAS_PLUGIN, MOTE_CUDA_PLUGIN})
      for (const mote_backend* backend : load_backends(path, Probe::none))
        backends.push_back(backend);
  }
  void* fake_;
};

std::string in_child(const std::function<std::string()>& body) {
  Libraries::all();
  return test::in_child(body);
}

Tensor counted(const AxisList& shape) {
  Tensor x(DType::f32, shape);
  const Tensor flat = x.reshape({x.element_count()});
  for (std::int64_t k = 0; k < flat.element_count(); ++k)
    flat.set({k}, static_cast<double>(k % 7) - 3);
  return x;
}

bool equal(const Tensor& a, const Tensor& b) {
  const Tensor x = a.reshape({a.element_count()}), y = b.reshape({b.element_count()});
  for (std::int64_t k = 0; k < x.element_count(); ++k)
    if (x.real_at({k}) != y.real_at({k})) return false;
  return true;
}

/// Computes y = -sum(a b) by two streams of the GPU, which an event orders; returns "right",
/// "wrong" or an error.
std::string by_two_streams() {
  const Tensor a = counted({40, 5}), b = counted({5, 40});
  Tensor product(DType::f32, {40, 40}), sums(DType::f32, {40}), expected(DType::f32, {40});
  run(Command("matmul"), {&a, &b}, {&product});
  run(Command("sum", {}, 1), {&product}, {&sums});
  run(Command("neg"), {&sums}, {&expected});
  Tensor result(DType::f32, {40});
  try {
    Context context({.backends = Libraries::all().backends, .workers = 1});
    const Device gpu = Device::find("cuda");
    Stream first(context, gpu), second(context, gpu);
    const Event event;
    {
      Tensor on_a(DType::f32, {40, 5}, gpu), on_b(DType::f32, {5, 40}, gpu);
      Tensor on_product(DType::f32, {40, 40}, gpu), on_sums(DType::f32, {40}, gpu);
      Tensor on_y(DType::f32, {40}, gpu);
      copy(a, on_a, first);
      copy(b, on_b, first);
      run(Command("matmul"), {&on_a, &on_b}, {&on_product}, first);
      run(Command("sum", {}, 1), {&on_product}, {&on_sums}, first);
      first.record(event);
      second.wait(event);
      run(Command("neg"), {&on_sums}, {&on_y}, second);
      copy(on_y, result, second);
    }
    second.synchronize();
    first.synchronize();
  } catch (const StatusError& e) {
    return fmt::format("error: {}", e.what());
  }
  return equal(result, expected) ? "right" : "wrong";
}

TEST(CudaRuntime, KernelsOfBothPluginsOnTwoStreams) {
  EXPECT_EQ(in_child([]() -> std::string {
              const std::string said = by_two_streams();
              const int live = Libraries::all().live();
              return said == "right" && live > 0 ? fmt::format("{} left behind", live) : said;
            }),
            "right");
}

TEST(CudaRuntime, WithoutAStreamACommandIsDoneWhenItReturns) {
  EXPECT_EQ(in_child([]() -> std::string {
              const Device gpu = Device::find("cuda");
              const Tensor x = counted({3, 70});
              Tensor expected(DType::f32, {3, 70}), result(DType::f32, {3, 70});
              run(Command("softmax"), {&x}, {&expected});
              Tensor on(DType::f32, {3, 70}, gpu), y(DType::f32, {3, 70}, gpu);
              copy(x, on);
              run(Command("softmax"), {&on}, {&y}, {.backends = Libraries::all().backends});
              copy(y, result);
              for (std::int64_t r = 0; r < 3; ++r)
                for (std::int64_t c = 0; c < 70; ++c)
                  if (std::abs(result.real_at({r, c}) - expected.real_at({r, c})) > 1e-5)
                    return "wrong";
              return "right";
            }),
            "right");
}

TEST(CudaRuntime, EveryCallThatFailsIsAnErrorAndNothingIsLeft) {
  const std::string counted_calls = in_child([] {
    const std::string said = by_two_streams();
    return said == "right" ? std::to_string(Libraries::all().calls()) : said;
  });
  const int calls = std::atoi(counted_calls.c_str());
  ASSERT_GT(calls, 60) << counted_calls;
  std::map<std::string, int> outcomes;
  for (const int status : {kOutOfMemory, kIllegalAddress})
    for (int k = 0; k < calls; ++k) {
      const std::string said = in_child([&]() -> std::string {
        const Libraries& of = Libraries::all();
        of.fail(k, status);
        const std::string first = by_two_streams();
        // One object may not have been released by then; a lost context has lost all its objects.
        const int kept = of.failed_to_enter() ? 1 : 0;
        if (of.live() > kept && status != kIllegalAddress)
          return fmt::format("{} left behind: {}", of.live(), first);
        if (first == "right") return "of no effect";  // the failed call only released an object
        if (!first.starts_with("error: ")) return first;
        of.fail(-1, 0);
        const std::string then = by_two_streams();
        if (then == "right") return "well again";
        return then.find("was lost") != std::string::npos ? "lost" : then + " after " + first;
      });
      EXPECT_TRUE(said == "of no effect" || said == "well again" ||
                  (said == "lost" && status == kIllegalAddress))
          << "call " << k << " of " << calls << " with status " << status << ": " << said;
      ++outcomes[said];
    }
  EXPECT_GT(outcomes["well again"], 30);
  EXPECT_GT(outcomes["lost"], 30);
  EXPECT_LT(outcomes["of no effect"], calls);
}

TEST(CudaRuntime, WithoutADriverTheDeviceSaysWhy) {
  const std::string said = in_child([]() -> std::string {
    setenv("MOTE_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
    try {
      Device::find("cuda");
    } catch (const StatusError& e) {
      return fmt::format("{} {}", static_cast<int>(e.status()), e.what());
    }
    return "found";
  });
  EXPECT_NE(said.find("2 cuda: no driver: /nowhere/libcuda.so.1"), std::string::npos) << said;
}

}  // namespace
}  // namespace mote
