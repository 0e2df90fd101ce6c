// SPDX-License-Identifier: Apache-2.0
// Tests the calls that the backends over NVIDIA's libraries decline or reject, and their messages.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "cuda/vendor_libraries.h"

namespace mote {
namespace {

using namespace test::vendor;

/// Returns the reason why the subject is declined if a variable names no library.
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

/// Returns the message for a call of one op that must be MOTE_INVALID.
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

/// cuDNN would take these extents, but they are not those that the parameters give.
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

TEST(CudaVendor, DeclinesProductsOf8BitsThatCublasDoesNotHave) {
  const auto why = [](test::Shape a_strides, test::Shape b_strides, const char* zero) {
    test::Tensor a(DType::i8, {1, 3, 8}, std::move(a_strides));
    test::Tensor b(DType::i8, {1, 8, 4}, std::move(b_strides));
    test::Tensor y(DType::i32, {1, 3, 4});
    test::Call call("matmul_integer", {&a, &b}, {&y});
    if (zero != nullptr) call.integer(zero, 1);
    return why_unsupported("cublas", call);
  };
  EXPECT_EQ(why({24, 8, 1}, {32, 1, 8}, nullptr), "status 0");
  EXPECT_EQ(why({24, 8, 1}, {32, 1, 8}, "b_zero"),
            "b_zero is not 0, and cuBLASLt has no zero points");
  for (const std::string& text : {why({24, 8, 1}, {32, 4, 1}, nullptr),  // k is not contiguous in b
                                  why({27, 9, 1}, {32, 1, 8}, nullptr),  // 9 is no multiple of 4
                                  why({24, 1, 3}, {32, 1, 8}, nullptr)})
    EXPECT_EQ(text.find("cuBLASLt multiplies 8 bits where"), 0U) << text;
}

TEST(CudaVendor, RejectsAnIntegerProductOfAnotherDtype) {
  test::Tensor a(DType::i8, {1, 4, 4}), y(DType::f32, {1, 4, 4});
  test::Call call("matmul_integer", {&a, &a}, {&y});
  EXPECT_EQ(why_invalid("cublas", call), "y f32[1,4,4] with strides 16,4,1: expected i32");
}

TEST(CudaVendor, DeclinesSequencesThatCudnnDoesNotTake) {
  const auto why = [](test::Tensor x, test::Tensor lengths, test::Tensor y) {
    test::Tensor h(DType::f32, {3, 4}), w(DType::f32, {4, 2}), r(DType::f32, {4, 4}),
        b(DType::f32, {4}), h_next(DType::f32, {3, 4});
    test::Call call("rnn_sequence", {&x, &h, &w, &r, &b, &lengths}, {&y, &h_next});
    return why_unsupported("cudnn", call);
  };
  const test::Tensor x(DType::f32, {2, 3, 2}), y(DType::f32, {2, 3, 4}), lengths = three_lengths();
  EXPECT_EQ(why(x, lengths, y), "status 0");
  EXPECT_EQ(why({DType::f32, {2, 3, 2}, {2, 4, 1}}, lengths, y),
            "x f32[2,3,2] with strides 2,4,1 has gaps");
  EXPECT_EQ(why(x, lengths, {DType::f32, {2, 3, 4}, {16, 4, 1}}),
            "y f32[2,3,4] with strides 16,4,1 has gaps");
  EXPECT_EQ(why(x, {DType::i64, {3}, {2}}, y), "lengths i64[3] with strides 2 has gaps");
}

}  // namespace
}  // namespace mote
