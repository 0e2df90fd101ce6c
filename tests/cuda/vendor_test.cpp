// SPDX-License-Identifier: Apache-2.0
// Tests the backends over NVIDIA's libraries on fakes: any call of a library may fail and gives a
// status with the kernel's name, and no memory is left behind; tensors of the GPU are used in
// place.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cuda/vendor_libraries.h"
#include "mote/base/dlpack.h"

namespace mote {
namespace {

using namespace test::vendor;

constexpr int kOutOfMemory = 2;       // CUDA_ERROR_OUT_OF_MEMORY
constexpr int kIllegalAddress = 700;  // CUDA_ERROR_ILLEGAL_ADDRESS

/// Runs the subject once to count the calls.
template <typename Subject>
int calls_of_a_run() {
  return std::stoi(in_child([] {
    Subject subject;
    if (subject.call().run(kernel_of(subject)) != MOTE_OK) return "0" + subject.call().message();
    if (!subject.is_right() || Libraries::all().live() != 0) return std::string("0");
    return std::to_string(Libraries::all().calls());
  }));
}

/// Runs twice, and call number `failing` of the first run fails. Returns "well again", "lost", or
/// the description of an error.
template <typename Subject>
std::string after_failure(int failing, int status) {
  Subject subject;
  const mote_kernel& kernel = kernel_of(subject);
  const Libraries& of = Libraries::all();
  of.fail(failing, status);
  const mote_status first = subject.call().run(kernel);
  const std::string text = subject.call().message();
  const std::string name = fmt::format("{} {}: c", Subject::kBackend, subject.call().get().op);
  if (first != MOTE_FAILED && first != MOTE_OUT_OF_MEMORY) return fmt::format("status {}", first);
  if (!text.starts_with(name)) return "no kernel's and function's name: " + text;
  if (of.live() != 0) return fmt::format("{} left behind: {}", of.live(), text);
  of.fail(-1, 0);
  const mote_status second = subject.call().run(kernel);
  const std::string then = subject.call().message();
  if (text.find("context is lost") == std::string::npos)
    return second == MOTE_OK && subject.is_right() ? "well again" : "not well again: " + then;
  if (second != MOTE_FAILED || then.find("was lost before") == std::string::npos)
    return "goes on without a context: " + then;
  return subject.call().can_run(kernel) == MOTE_UNSUPPORTED ? "lost" : "can_run says yes";
}

template <typename Subject>
void expect_statuses() {
  const int calls = calls_of_a_run<Subject>();
  ASSERT_GT(calls, 25);
  for (const int status : {kOutOfMemory, kIllegalAddress})
    for (int k = 0; k < calls; ++k) {
      const std::string said = in_child([&] { return after_failure<Subject>(k, status); });
      EXPECT_TRUE(said == "well again" || (said == "lost" && status == kIllegalAddress))
          << "call " << k << " of " << calls << " with status " << status << ": " << said;
    }
}

TEST(CudaVendor, EveryCallThatFailsIsAStatusWithTheKernelsName) {
  expect_statuses<Gemm>();
  expect_statuses<Convolution>();
  expect_statuses<RectifiedConvolution>();
  expect_statuses<RmsNorm>();
  expect_statuses<Gru>();
  expect_statuses<LstmGradient>();
  expect_statuses<LstmSequence>();
  expect_statuses<RnnSequenceBackwards>();
  expect_statuses<RnnSequenceGradient>();
}

/// Copies of a call's tensors in the fake GPU's memory, `offset` bytes after a multiple of 256, and
/// workspace there with an alignment of exactly 64 bytes.
class OnGpu {
 public:
  OnGpu(const mote_call& call, const mote_kernel& kernel, std::size_t offset = 0)
      : call_(call), offset_(offset) {
    void* context = nullptr;
    of_.fake<int(unsigned)>("cuInit")(0);
    of_.fake<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0);
    of_.fake<int(void*)>("cuCtxPushCurrent_v2")(context);
    of_.fake<int(void**, unsigned)>("cuStreamCreate")(&stream_, 1);
    views_.reserve(static_cast<std::size_t>(call.input_count) +
                   static_cast<std::size_t>(call.output_count));
    for (int k = 0; k < call.input_count; ++k) inputs_.push_back(&copy(*call.inputs[k]));
    for (int k = 0; k < call.output_count; ++k) outputs_.push_back(&copy(*call.outputs[k]));
    call_.inputs = inputs_.data();
    call_.outputs = outputs_.data();
    call_.workspace_bytes = kernel.workspace_bytes(&call_);
    if (call_.workspace_bytes > 0)
      call_.workspace = static_cast<char*>(allocate(call_.workspace_bytes + 64)) + 64;
  }
  mote_status run(const mote_kernel& kernel) const { return kernel.run(&call_, stream_); }
  const mote_call& call() const { return call_; }
  void copy_back(const mote_call& to) const {
    for (int k = 0; k < to.output_count; ++k) {
      const auto memory = memory_of(*to.outputs[k]);
      of_.fake<int(void*, const void*, std::size_t, void*)>("cuMemcpyDtoHAsync_v2")(
          memory.data(), call_.outputs[k]->data, memory.size(), nullptr);
    }
  }

 private:
  void* allocate(std::size_t bytes) const {
    void* at = nullptr;
    of_.fake<int(void**, std::size_t)>("cuMemAlloc_v2")(&at, bytes);
    return at;
  }
  DLTensor& copy(const DLTensor& tensor) {
    const auto memory = memory_of(tensor);
    DLTensor& view = views_.emplace_back(tensor);
    view.data = static_cast<char*>(allocate(memory.size() + offset_)) + offset_;
    view.device = {kDLCUDA, 0};
    of_.fake<int(void*, const void*, std::size_t, void*)>("cuMemcpyHtoDAsync_v2")(
        view.data, memory.data(), memory.size(), nullptr);
    return view;
  }

  const Libraries& of_ = Libraries::all();
  mote_call call_;
  std::size_t offset_;
  void* stream_ = nullptr;
  std::vector<DLTensor> views_;
  std::vector<const DLTensor*> inputs_;
  std::vector<DLTensor*> outputs_;
};

template <typename Subject>
std::string on_the_gpu() {
  Subject subject;
  const mote_kernel& kernel = kernel_of(subject);
  if (subject.call().can_run(kernel) != MOTE_OK) return subject.call().message();
  const mote_call here = subject.call().get();
  const OnGpu there(here, kernel);
  if (there.call().workspace_bytes == 0) return "no workspace is asked for";
  if (there.run(kernel) != MOTE_OK) return subject.call().message();
  if (subject.is_right()) return "the host's memory was written";
  there.copy_back(here);
  return subject.is_right() ? "right" : "wrong";
}

TEST(CudaVendor, KeepsThePlanOfAGraphAndNotItsNumbers) {
  const std::string said = in_child([]() -> std::string {
    RmsNorm first, again, other(1000);
    const mote_kernel& kernel = kernel_of(first);
    const auto calls_of = [&](RmsNorm& subject) {
      const int before = Libraries::all().calls();
      return subject.call().run(kernel) == MOTE_OK ? Libraries::all().calls() - before : -1;
    };
    const int cold = calls_of(first), warm = calls_of(again), of_other = calls_of(other);
    if (!first.is_right() || !again.is_right()) return "wrong";
    if (other.is_right()) return "eps is that of the call before";
    return warm == of_other && 0 < warm && 2 * warm < cold ? "kept"
                                                           : fmt::format("{} {}", cold, warm);
  });
  EXPECT_EQ(said, "kept");
}

/// Returns the number that a function of the fakes reports after the subject was right on tensors
/// at that offset.
template <typename Subject, typename Number>
std::string said_after(std::size_t offset, const char* function) {
  return in_child([&]() -> std::string {
    Subject subject;
    const mote_kernel& kernel = kernel_of(subject);
    const mote_call here = subject.call().get();
    const OnGpu there(here, kernel, offset);
    if (there.run(kernel) != MOTE_OK) return subject.call().message();
    there.copy_back(here);
    if (!subject.is_right()) return "wrong";
    return std::to_string(Libraries::all().fake<Number()>(function)());
  });
}

/// In f32 an activation is part of the graph, except if a tensor's address is one that graphs
/// forbid.
TEST(CudaVendor, RectifiesInTheGraphOfTheConvolution) {
  const auto graphs_at = [](std::size_t offset) {
    return said_after<RectifiedConvolution, int>(offset, "fake_cudnn_graphs");
  };
  EXPECT_EQ(graphs_at(0), "1");
  EXPECT_EQ(graphs_at(sizeof(float)), "0");
}

TEST(CudaVendor, UsesTensorsAndWorkspaceOfTheGpuWhereTheyAre) {
  EXPECT_EQ(in_child(on_the_gpu<Gemm>), "right");
  EXPECT_EQ(in_child(on_the_gpu<Convolution>), "right");
  EXPECT_EQ(in_child(on_the_gpu<RmsNorm>), "right");
  EXPECT_EQ(in_child(on_the_gpu<Gru>), "right");
  EXPECT_EQ(in_child(on_the_gpu<LstmGradient>), "right");
  EXPECT_EQ(in_child(on_the_gpu<LstmSequence>), "right");
  EXPECT_EQ(in_child(on_the_gpu<RnnSequenceBackwards>), "right");
  EXPECT_EQ(in_child(on_the_gpu<RnnSequenceGradient>), "right");
}

/// Returns the workspace that a gemm's algorithm asks for with tensors at that offset.
std::string workspace_of_gemm(std::size_t offset) {
  return said_after<Gemm, std::size_t>(offset, "fake_cublas_last_workspace");
}

/// The addresses are not known when the workspace is requested.
TEST(CudaVendor, CublasTakesTheBestAlgorithmForTheTensorsAddresses) {
  EXPECT_EQ(workspace_of_gemm(0), "4096");
  EXPECT_EQ(workspace_of_gemm(sizeof(float)), "1024");
}

}  // namespace
}  // namespace mote
