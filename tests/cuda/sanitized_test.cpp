// SPDX-License-Identifier: Apache-2.0
// Runs kernels on the shim under a sanitizer: the thread sanitizer sees the threads of a block as
// threads, so that one run, in any order, shows a race; the address sanitizer sees the fibres'
// stacks and the memory of kernels. The kernels are handwritten ones, and generated ones of each
// kind.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kernel_subject.h"
#include "mote/base/temporary_folder.h"
#include "trials.h"

MOTE_HOST_DEFINE

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>

namespace {
int reports = 0;
}

#define MOTE_FOR_TSAN extern "C" __attribute__((visibility("default")))
/// Reports every race again, even if it was reported before.
MOTE_FOR_TSAN const char* __tsan_default_options() {
  return "exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0";
}
/// Is called with the lock of reports held, so that it must not cause a report itself.
MOTE_FOR_TSAN __attribute__((no_sanitize("thread"))) void __tsan_on_report(void* /*report*/) {
  ++reports;
}
#endif

namespace mote::shim {
namespace {

constexpr Order kOrders[] = {Order::forward, Order::random};

/// Expects no error and no report of the sanitizer, in each order.
template <typename Once>
void expect_clean(const Once& once, Engine engine = best_engine()) {
  for (const Order order : kOrders) EXPECT_EQ(once(Options{order, 7, engine}).error, "");
#if defined(__SANITIZE_THREAD__)
  EXPECT_EQ(std::exchange(reports, 0), 0);
#endif
}

class Sanitized : public testing::TestWithParam<Trial> {};

TEST_P(Sanitized, FindsNothingInTheCorrectKernel) {
  const auto once = [&](const Options& options) { return run(GetParam(), true, options); };
  expect_clean(once);
  expect_clean(once, Engine::ucontext);
}

#if defined(__SANITIZE_THREAD__)
/// Sends expected reports to a file that is discarded.
class Unreported {
 public:
  Unreported() { __sanitizer_set_report_path((folder_.path() / "reports").c_str()); }
  ~Unreported() { __sanitizer_set_report_path("stderr"); }
  Unreported(const Unreported&) = delete;
  Unreported& operator=(const Unreported&) = delete;

 private:
  TemporaryFolder folder_;
};

TEST_P(Sanitized, FindsARaceInAnyOneRun) {
  const Unreported wanted;
  for (const Engine engine : {best_engine(), Engine::ucontext})
    for (const Order order : kOrders) {
      run(GetParam(), false, {order, 7, engine});
      const bool found = std::exchange(reports, 0) > 0;
      EXPECT_EQ(found, GetParam().races) << static_cast<int>(order);
    }
}
#else
void beyond_the_end(float* y) { y[64] = 1; }

void beyond_its_stack(float* y) {
  volatile float own[4] = {};
  volatile unsigned at = threadIdx.x;
  y[0] = own[at];
}

void launch_on_64(void (*kernel)(float*)) {
  mote_host = calls();
  std::vector<float> y(64);
  launch(shape_of(1, 64), {}, [&] { kernel(y.data()); });
}

TEST(SanitizedDeathTest, AnAccessBeyondTheMemoryIsFound) {
  EXPECT_DEATH(launch_on_64(beyond_the_end), "heap-buffer-overflow");
  EXPECT_DEATH(launch_on_64(beyond_its_stack), "stack-buffer-overflow");
}
#endif

INSTANTIATE_TEST_SUITE_P(Kernels, Sanitized, testing::ValuesIn(kTrials),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SanitizedAtomics, AreNoRaces) {
  const Trial counts = {"count", 3, 64, 64, [](auto, auto y, bool c) { ::count(y, c); }, ""};
  expect_clean([&](const Options& options) { return run(counts, true, options); });
}

#if defined(__SANITIZE_THREAD__)
TEST(SanitizedKernels, WithoutABarrierRace) {
  test::KernelSubject subject("sum x=f32[1,300,1] fill=uniform:6");
  const CudaKernel& kernel = subject.kernel();
  const std::string barrier = "__syncthreads();";
  std::string text = cuda_helpers(kernel.helpers) + kernel.text;
  const std::size_t last = text.rfind(barrier);
  ASSERT_NE(last, std::string::npos) << kernel.function;
  text.erase(last, barrier.size());
  const std::string source = cuda_host::host_source({kernel.function}, text);
  const auto library = cuda_host::compile_for_host(source, [&] { return source; });
  const Unreported wanted;
  EXPECT_EQ(subject.run(library, {}).error, "");
  EXPECT_GT(std::exchange(reports, 0), 0);
}
#endif

/// The kinds are: loops of one thread, vector accesses, reductions by warps and blocks, scans,
/// tiles of both kinds, scatters in order.
TEST(SanitizedKernels, OfTheCatalogueAreClean) {
  for (const char* line :
       {"gelu x=f32[1,3,5,7] fill=uniform:1", "softmax x=f32[3,300,1] fill=uniform:2",
        "layer_norm x=f32[2,700] gamma=f32[700] beta=f32[700] fill=uniform:3",
        "sum x=f32[5,4,130] fill=uniform:4", "cumsum x=f32[3,70,1] fill=uniform:5",
        "matmul a=f64[1,1,40,33] b=f64[1,1,33,36] fill=uniform:6",
        "conv2d x=f32[1,3,9,9] w=f32[40,3,3,3] pads=1,1,1,1 fill=uniform:7",
        "conv2d.grad gy=f32[1,40,9,9] x=f32[1,4,9,9] w=f32[40,4,3,3] pads=1,1,1,1 fill=uniform:8",
        "attention q=f32[1,2,18,20] k=f32[1,2,35,20] v=f32[1,2,35,34] fill=uniform:9",
        "embedding.grad gy=f32[5,3] weight=f32[7,3] index=i64[5] fill=index:10",
        "matmul a=f32[1,1,12,35] b=f32[1,1,35,12] fill=uniform:11",
        "matmul a=f16[1,1,16,104] b=f16[1,1,104,16] fill=uniform:12"}) {
    SCOPED_TRACE(line);
    const test::KernelSubject subject(line, test::KernelSubject::kWide);
    for (cuda::Launch& launch : subject.launches()) {
      const CudaKernel& kernel = *launch.kernel;
      const cuda_host::HostLibrary library = test::library_of(kernel);
      expect_clean([&](const Options& options) {
        return shim::Run{cuda_host::run_launch(library, launch, options), {}};
      });
    }
  }
}

}  // namespace
}  // namespace mote::shim
