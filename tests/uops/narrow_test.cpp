// SPDX-License-Identifier: Apache-2.0
// Tests f16, bf16, i8, u8, and the operations on bits.
#include <gtest/gtest.h>

#include "caught.h"
#include "mote/base/philox.h"
#include "mote/uops/evaluate.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): arrays and constants

Array line(DType dtype, std::vector<Number> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {dtype, {count}, std::move(values)};
}

TEST(Narrow, RealsAreRoundedWhenStoredAndCastOnly) {
  const std::string head = "op n\ninput x f16[N]\noutput y = ";
  const Array x = line(DType::f16, {1.0, 2048.0, 65504.0});
  // 2049 is no f16, but intermediate results are exact.
  EXPECT_EQ(run(head + "x + 1 - 1", {x}), x);
  EXPECT_EQ(run(head + "f16(x + 1) - 1", {x}), line(DType::f16, {1.0, 2047.0, 65504.0}));
  EXPECT_EQ(run(head + "x*2", {x}), line(DType::f16, {2.0, 4096.0, kInf}));
  EXPECT_EQ(run(head + "bf16(x + 1)", {x}), line(DType::bf16, {2.0, 2048.0, 65536.0}));
}

TEST(Narrow, IntegersWrapAtTheStore) {
  const std::string head = "op n\ninput x u8[N]\ninput z i8[N]\noutput y = ";
  const std::vector<Array> in = {line(DType::u8, {0, 200, 255}), line(DType::i8, {-128, 100, 127})};
  EXPECT_EQ(run(head + "x + 100", in), line(DType::u8, {100, 44, 99}));
  EXPECT_EQ(run(head + "x - 1", in), line(DType::u8, {255, 199, 254}));
  EXPECT_EQ(run(head + "-z", in), line(DType::i8, {-128, -100, -127}));
  EXPECT_EQ(run(head + "i8(x)", in), line(DType::i8, {0, -56, -1}));
  EXPECT_EQ(run(head + "max[0](z)", in), (Array{DType::i8, {}, {127}}));
}

TEST(Narrow, CastsOfRealsSaturate) {
  const std::string head = "op n\ninput x f32[N]\noutput y = ";
  const Array x = line(DType::f32, {-1e9, -128.9, -0.5, 127.9, 255.9, kInf, kNan});
  EXPECT_EQ(run(head + "i8(x)", {x}), line(DType::i8, {-128, -128, 0, 127, 127, 127, 0}));
  EXPECT_EQ(run(head + "u8(x)", {x}), line(DType::u8, {0, 0, 0, 127, 255, 255, 0}));
}

TEST(Narrow, TheEmptyMaximumIsTheLeastValueOfTheDtype) {
  const std::string head = "op n\ninput x u8[N]\ninput z i8[N]\noutput y = ";
  const std::vector<Array> in = {line(DType::u8, {}), line(DType::i8, {})};
  EXPECT_EQ(run(head + "max[0](x)", in), (Array{DType::u8, {}, {0}}));
  EXPECT_EQ(run(head + "min[0](x)", in), (Array{DType::u8, {}, {255}}));
  EXPECT_EQ(run(head + "max[0](z)", in), (Array{DType::i8, {}, {-128}}));
}

TEST(Narrow, ConstantsMustFit) {
  EXPECT_EQ(error_of([] { scalar(-1, DType::u8); }), "Scalar: -1 is not a value of u8");
  EXPECT_EQ(error_of([] { scalar(128, DType::i8); }), "Scalar: 128 is not a value of i8");
}

TEST(Bits, AndOrXorNot) {
  const std::string head = "op b\ninput a i32[N]\ninput b i32[N]\noutput y = ";
  const std::vector<Array> in = {line(DType::i32, {12, -1, 5}), line(DType::i32, {10, 7, -8})};
  EXPECT_EQ(run(head + "bitwise_and(a, b)", in), line(DType::i32, {8, 7, 0}));
  EXPECT_EQ(run(head + "bitwise_or(a, b)", in), line(DType::i32, {14, -1, -3}));
  EXPECT_EQ(run(head + "bitwise_xor(a, b)", in), line(DType::i32, {6, -8, -3}));
  EXPECT_EQ(run(head + "bitwise_not(a)", in), line(DType::i32, {-13, 0, -6}));
}

TEST(Bits, Shifts) {
  const std::string head = "op b\ninput a i64[N]\ninput b i64[N]\noutput y = ";
  const std::vector<Array> in = {line(DType::i64, {3, -9, 1, 1, -5, 7}),
                                 line(DType::i64, {2, 1, 63, 64, 63, -1})};
  EXPECT_EQ(run(head + "shift_left(a, b)", in),
            line(DType::i64, {12, -18, std::numeric_limits<std::int64_t>::min(), 0,
                              std::numeric_limits<std::int64_t>::min(), 0}));
  EXPECT_EQ(run(head + "shift_right(a, b)", in), line(DType::i64, {0, -5, 0, 0, -1, 0}));
}

TEST(Bits, Philox) {
  const Array y =
      run("op p\ninput n i64[N]\noutput y = philox(i64(42), n)", {line(DType::i64, {0, 1, 7, -1})});
  for (std::size_t k = 0; k < 4; ++k) {
    const std::int64_t at[] = {0, 1, 7, -1};
    EXPECT_EQ(y.values[k].integer(), philox_word(42, at[k]));
  }
  EXPECT_EQ(error_of([] {
              map(MapOp::philox, std::vector{input("x", DType::i32, 1), input("n", DType::i32, 1)});
            }),
            "Map philox: dtype must be one of i64, got i32");
}

}  // namespace
}  // namespace mote
