// The backends over NVIDIA's libraries, on fakes of these: the oracle judges them; in a gemm and
// a conv2d every call of a library may fail and that is a status with the kernel's name, and
// nothing is left behind.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "cuda/in_child.h"
#include "mote/base/dlpack.h"
#include "mote/base/plugin.h"
#include "support/call.h"
#include "support/shell.h"

namespace mote {
namespace {

constexpr int kOutOfMemory = 2;       // CUDA_ERROR_OUT_OF_MEMORY
constexpr int kIllegalAddress = 700;  // CUDA_ERROR_ILLEGAL_ADDRESS

/// The plug-ins, and the fake that they find; loaded once, and before any fork.
class Libraries {
 public:
  static const Libraries& all() {
    static const Libraries only;
    return only;
  }
  void fail(int call, int status) const { fake<void(int, int)>("fake_cuda_fail")(call, status); }
  int calls() const { return fake<int()>("fake_cuda_calls")(); }
  int live() const { return fake<int()>("fake_cuda_live")(); }
  template <typename F>
  F* fake(const char* name) const {
    return reinterpret_cast<F*>(dlsym(fake_, name));
  }
  const mote_backend& backend(const std::string& name) const {
    for (const Plugin& p : plugins_)
      for (const mote_backend* b : p.backends)
        if (b->name == name) return *b;
    throw std::runtime_error("no backend " + name);
  }

 private:
  Libraries() {
    for (const char* variable : {"MOTE_CUDA_DRIVER", "MOTE_CUBLAS", "MOTE_CUDNN"})
      setenv(variable, MOTE_CUDA_FAKE, 1);
    fake_ = dlopen(MOTE_CUDA_FAKE, RTLD_NOW | RTLD_LOCAL);
    for (const char* plugin : {MOTE_CUBLAS_PLUGIN, MOTE_CUDNN_PLUGIN})
      plugins_.push_back(load_plugin(plugin));
  }
  void* fake_;
  std::vector<Plugin> plugins_;
};

std::string in_child(const std::function<std::string()>& body) {
  Libraries::all();
  return test::in_child(body);
}

/// y = 2 a b + c, with a transposed and y with gaps.
class Gemm {
 public:
  Gemm() : call_("gemm", {&a_, &b_, &c_}, {&y_}) {
    a_.fill_integers(1);
    b_.fill_integers(2);
    c_.fill_integers(3);
    call_.real("alpha", 2);
  }
  static constexpr const char* kBackend = "cublas";
  test::Call& call() { return call_; }
  bool is_right() {
    for (std::int64_t m = 0; m < 3; ++m)
      for (std::int64_t n = 0; n < 5; ++n) {
        double sum = c_.get({m, n});
        for (std::int64_t k = 0; k < 7; ++k) sum += 2 * a_.get({m, k}) * b_.get({k, n});
        if (y_.get({m, n}) != sum) return false;
      }
    return y_.changed_gaps(-1) == 0;
  }

 private:
  test::Tensor a_{DType::f32, {3, 7}, {1, 4}};
  test::Tensor b_{DType::f32, {7, 5}};
  test::Tensor c_{DType::f32, {3, 5}};
  test::Tensor y_{DType::f32, {3, 5}, {6, 1}, -1};
  test::Call call_;
};

/// y = x * w + b, of images with gaps between them.
class Convolution {
 public:
  Convolution() : call_("conv2d", {&x_, &w_, &b_}, {&y_}) {
    x_.fill_integers(1);
    w_.fill_integers(2);
    b_.fill_integers(3);
    call_.integer("groups", 2).integer("stride0", 2).integer("pads1", 1).integer("pads3", 1);
  }
  static constexpr const char* kBackend = "cudnn";
  test::Call& call() { return call_; }
  bool is_right() {
    bool right = true;
    test::Tensor::for_each_index(y_.shape(), [&](const test::Shape& at) {
      double sum = b_.get({at[1]});
      test::Tensor::for_each_index({2, 3, 3}, [&](const test::Shape& tap) {
        const std::int64_t column = at[3] + tap[2] - 1;
        if (column >= 0 && column < 4)
          sum += x_.get({at[0], at[1] / 2 * 2 + tap[0], 2 * at[2] + tap[1], column}) *
                 w_.get({at[1], tap[0], tap[1], tap[2]});
      });
      right = right && y_.get(at) == sum;
    });
    return right && y_.changed_gaps(-1) == 0;
  }

 private:
  test::Tensor x_{DType::f32, {2, 4, 5, 4}, {100, 20, 4, 1}};
  test::Tensor w_{DType::f32, {4, 2, 3, 3}};
  test::Tensor b_{DType::f32, {4}};
  test::Tensor y_{DType::f32, {2, 4, 2, 4}, {40, 9, 4, 1}, -1};
  test::Call call_;
};

template <typename Subject>
const mote_kernel& kernel_of(Subject& subject) {
  return *test::kernel_of(Libraries::all().backend(Subject::kBackend), subject.call().get().op);
}

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

/// A run whose call number `failing` fails, and the one after it: "well again", "lost", or what is
/// wrong with them.
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
}

/// Copies of a call's tensors in the fake GPU's memory, and workspace there that is aligned to 64
/// bytes and not to more.
class OnGpu {
 public:
  OnGpu(const mote_call& call, const mote_kernel& kernel) : call_(call) {
    void* context = nullptr;
    of_.fake<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0);
    of_.fake<int(void*)>("cuCtxPushCurrent_v2")(context);
    of_.fake<int(void**, unsigned)>("cuStreamCreate")(&stream_, 1);
    views_.reserve(static_cast<std::size_t>(call.input_count + call.output_count));
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
    view.data = allocate(memory.size());
    view.device = {kDLCUDA, 0};
    of_.fake<int(void*, const void*, std::size_t, void*)>("cuMemcpyHtoDAsync_v2")(
        view.data, memory.data(), memory.size(), nullptr);
    return view;
  }

  const Libraries& of_ = Libraries::all();
  mote_call call_;
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

TEST(CudaVendor, UsesTensorsAndWorkspaceOfTheGpuWhereTheyAre) {
  EXPECT_EQ(in_child(on_the_gpu<Gemm>), "right");
  EXPECT_EQ(in_child(on_the_gpu<Convolution>), "right");
}

/// Why the subject is declined where a variable names no library.
template <typename Subject>
std::string why_without(const char* variable) {
  return in_child([&]() -> std::string {
    setenv(variable, "/nowhere/library.so", 1);
    Subject subject;
    const mote_status status = subject.call().can_run(kernel_of(subject));
    return status == MOTE_UNSUPPORTED ? subject.call().message() : "not declined";
  });
}

TEST(CudaVendor, IsDeclinedWhereThereIsNoLibrary) {
  for (const std::string& why :
       {why_without<Gemm>("MOTE_CUDA_DRIVER"), why_without<Convolution>("MOTE_CUDA_DRIVER")})
    EXPECT_TRUE(why.starts_with("no driver: /nowhere/library.so")) << why;
  EXPECT_TRUE(why_without<Gemm>("MOTE_CUBLAS").starts_with("no cuBLASLt: /nowhere/library.so"));
  EXPECT_TRUE(why_without<Convolution>("MOTE_CUDNN").starts_with("no cuDNN: /nowhere/library.so"));
}

/// What is said of a call of one op that must be MOTE_INVALID.
std::string why_invalid(const char* backend, test::Call& call) {
  return in_child([&]() -> std::string {
    const mote_call given = call.get();
    const mote_kernel& kernel = *test::kernel_of(Libraries::all().backend(backend), given.op);
    const mote_status asked = kernel.can_run(&given);
    const std::string why = call.message();
    if (asked != MOTE_INVALID || kernel.run(&given, nullptr) != MOTE_INVALID)
      return fmt::format("status {}: {}", asked, why);
    return why;
  });
}

TEST(CudaVendor, RejectsTensorsOfTwoDtypes) {
  test::Tensor a(DType::f32, {3, 7}), b(DType::f64, {7, 5}), y(DType::f32, {3, 5});
  test::Call gemm("gemm", {&a, &b}, {&y});
  EXPECT_EQ(why_invalid("cublas", gemm),
            "b f64[7,5] with strides 5,1: element types differ, the first is f32");
  test::Tensor x(DType::f32, {1, 2, 4, 4}), w(DType::f64, {3, 2, 3, 3}),
      z(DType::f32, {1, 3, 2, 2});
  test::Call convolution("conv2d", {&x, &w}, {&z});
  EXPECT_EQ(why_invalid("cudnn", convolution),
            "w f64[3,2,3,3] with strides 18,9,3,1: element types differ, the first is f32");
}

TEST(CudaVendor, RejectsParametersThatTheOpDoesNotHave) {
  test::Tensor a(DType::f32, {3, 3}), y(DType::f32, {3, 3});
  EXPECT_EQ(why_invalid("cublas", test::Call("gemm", {&a, &a}, {&y}).real("gamma", 1)),
            "unknown parameter gamma, known: alpha, beta");
  EXPECT_EQ(why_invalid("cublas", test::Call("matmul", {&a, &a}, {&y}).real("alpha", 2)),
            "unknown parameter alpha, known: ");
  test::Tensor x(DType::f32, {1, 1, 4, 4}), z(DType::f32, {1, 1, 4, 4});
  EXPECT_EQ(why_invalid("cudnn", test::Call("relu", {&x}, {&z}).real("alpha", 2)),
            "unknown parameter alpha, known: ");
}

std::string why_unsupported(const char* backend, test::Call& call) {
  return in_child([&]() -> std::string {
    const mote_kernel& kernel = *test::kernel_of(Libraries::all().backend(backend), call.get().op);
    const mote_status status = call.can_run(kernel);
    return status == MOTE_UNSUPPORTED ? call.message() : fmt::format("status {}", status);
  });
}

TEST(CudaVendor, DeclinesFactorsThatAreNoneAsFloats) {
  test::Tensor a(DType::f32, {3, 3}), y(DType::f32, {3, 3});
  for (const double alpha : {1e-60, 1e60, 0.0}) {
    test::Call call("gemm", {&a, &a}, {&y});
    EXPECT_EQ(why_unsupported("cublas", call.real("alpha", alpha)), "alpha is 0 or not finite");
  }
  test::Call call("gemm", {&a, &a, &a}, {&y});
  EXPECT_EQ(why_unsupported("cublas", call.real("beta", 1e60)), "beta is not finite");
}

/// Extents that cuDNN would take, but which are not those that the parameters give.
TEST(CudaVendor, RejectsExtentsThatAreNotTheOps) {
  test::Tensor x(DType::f32, {1, 1, 3, 3}), w(DType::f32, {1, 1, 2, 2});
  test::Tensor wider(DType::f32, {1, 1, 7, 7});
  test::Call transposed("conv_transpose2d", {&x, &w}, {&wider});
  transposed.integer("stride0", 2).integer("stride1", 2);
  std::string why = why_invalid("cudnn", transposed);
  EXPECT_NE(why.find("expected the extents 1,1,6,6"), std::string::npos) << why;
  why = why_invalid("cudnn", transposed.integer("output_pad0", 1));
  EXPECT_NE(why.find("expected the extents 1,1,7,6"), std::string::npos) << why;
  test::Tensor image(DType::f32, {1, 1, 4, 4}), floor(DType::f32, {1, 1, 1, 1});
  why = why_invalid("cudnn", test::Call("max_pool2d", {&image}, {&floor})
                                 .integer("kernel0", 3)
                                 .integer("kernel1", 3)
                                 .integer("stride0", 2)
                                 .integer("stride1", 2)
                                 .integer("ceil_mode", 1));
  EXPECT_NE(why.find("expected the extents 1,1,2,2"), std::string::npos) << why;
}

/// Expects that the oracle passes `count` cases of each of the ops, and judged some of each of the
/// dtypes.
void expect_passes(const std::string& plugin, const std::string& backend,
                   const std::vector<std::string>& ops, const std::vector<std::string>& dtypes,
                   int count) {
  const std::string out =
      test::run_in_shell(
          fmt::format("MOTE_CUDA_DRIVER='{0}' MOTE_CUBLAS='{0}' MOTE_CUDNN='{0}' '{1}' check {2} "
                      "--in-process --plugin '{3}' --backend {4} --count {5} --seed 1",
                      MOTE_CUDA_FAKE, MOTE_TOOL, fmt::join(ops, " "), plugin, backend, count))
          .out;
  EXPECT_NE(out.find("\npassed: "), std::string::npos) << out;
  for (const std::string& op : ops)
    for (const std::string& dtype : dtypes)
      EXPECT_TRUE(std::regex_search(
          out, std::regex(fmt::format("\n{} +{} +{} +[1-9]", op, dtype, backend))))
          << op << ' ' << dtype << ": no case was judged\n"
          << out;
}

const std::vector<std::string> kReals = {"f32", "f64", "f16", "bf16"};
const std::vector<std::string> kWide = {"f32", "f64"};

TEST(CudaVendor, CublasPassesTheOracle) {
  expect_passes(MOTE_CUBLAS_PLUGIN, "cublas", {"gemm", "matmul"}, kReals, 200);
  expect_passes(MOTE_CUBLAS_PLUGIN, "cublas_tf32", {"gemm", "matmul"}, {"f32"}, 100);
}

TEST(CudaVendor, ConvolutionsOfCudnnPassTheOracle) {
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn", {"conv1d", "conv2d", "conv3d", "conv_transpose2d"},
                kReals, 250);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn", {"conv1d.grad", "conv2d.grad", "conv3d.grad"}, kWide,
                50);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn_tf32", {"conv2d", "conv2d.grad"}, {"f32"}, 100);
}

TEST(CudaVendor, PoolingAndNormsOfCudnnPassTheOracle) {
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn",
                {"max_pool2d", "max_pool3d", "avg_pool2d", "avg_pool3d"}, kReals, 250);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn",
                {"softmax", "log_softmax", "lrn", "global_avg_pool", "global_max_pool"}, kReals,
                50);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn",
                {"avg_pool2d.grad", "avg_pool3d.grad", "softmax.grad", "batch_norm"}, kWide, 50);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn", {"batch_norm_training"}, kWide, 1000);
}

TEST(CudaVendor, ElementsAndReductionsOfCudnnPassTheOracle) {
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn",
                {"relu", "elu", "sigmoid", "silu", "tanh", "add", "sub", "mul", "min", "max",
                 "sqrt", "sum", "mean", "prod", "reduce_min", "reduce_max", "norm1", "norm2"},
                kReals, 50);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn", {"sigmoid.grad", "tanh.grad"}, kWide, 50);
}

}  // namespace
}  // namespace mote
