// SPDX-License-Identifier: Apache-2.0
// Tests ops over the narrow dtypes: they compute in a wider dtype and round the result.
#include <gtest/gtest.h>

#include <set>

#include "run.h"

namespace mote {
namespace {

Array i8(Dims shape, const std::vector<double>& values) {
  return tensor(DType::i8, std::move(shape), values);
}
Array u8(Dims shape, const std::vector<double>& values) {
  return tensor(DType::u8, std::move(shape), values);
}

TEST(Dtypes, RealOpsHaveAllFourAndMovesAllNine) {
  for (const OpRecord& record : catalogue()) {
    const std::set<DType> offered(record.dtypes.begin(), record.dtypes.end());
    EXPECT_EQ(offered.size(), record.dtypes.size()) << record.name;
    for (const DType t : {DType::f64, DType::f16, DType::bf16})
      EXPECT_EQ(offered.contains(t), offered.contains(DType::f32)) << record.name;
    // Quantised ops have 8-bit dtypes, and the 32 bits that their products are summed in.
    if (record.family == "quantised") {
      std::set<DType> expected = {DType::u8, DType::i8};
      if (record.name == "dequantize") expected.insert(DType::i32);
      EXPECT_EQ(offered, expected) << record.name;
    } else {
      EXPECT_EQ(offered.contains(DType::i64), offered.contains(DType::i32)) << record.name;
    }
    if (offered.contains(DType::boolean) && offered.contains(DType::f32)) {
      EXPECT_EQ(offered.size(), all_dtypes().size()) << record.name;
    }
  }
}

TEST(Dtypes, EveryDtypeCastsToEvery) {
  for (const DType from : all_dtypes()) {
    const Array x = tensor(from, {1, 1, 1, 2}, {0, 1});
    for (const DType to : all_dtypes())
      EXPECT_EQ(run("cast_" + std::string(name(to)), {x}), tensor(to, {1, 1, 1, 2}, {0, 1}))
          << name(from) << " to " << name(to);
  }
}

TEST(Dtypes, CastsToNarrowOnesSaturateFromRealsAndWrapFromIntegers) {
  const Array x = f64({1, 1, 1, 5}, {300, -300, 1.9, -1.9, kNan});
  EXPECT_EQ(run("cast_i8", {x}), i8({1, 1, 1, 5}, {127, -128, 1, -1, 0}));
  EXPECT_EQ(run("cast_u8", {x}), u8({1, 1, 1, 5}, {255, 0, 1, 0, 0}));
  const Array n = i32({1, 1, 1, 3}, {300, -1, 128});
  EXPECT_EQ(run("cast_i8", {n}), i8({1, 1, 1, 3}, {44, -1, -128}));
  EXPECT_EQ(run("cast_u8", {n}), u8({1, 1, 1, 3}, {44, 255, 128}));
  // 65519 is nearer to 65504 than to 65536, 65520 is half way; 257 is half way between 256 and 258.
  EXPECT_EQ(run("cast_f16", {f64({1, 1, 1, 2}, {65519, 65520})}),
            tensor(DType::f16, {1, 1, 1, 2}, {65504, kInf}));
  EXPECT_EQ(run("cast_bf16", {f64({1, 1, 1, 2}, {257, 259})}),
            tensor(DType::bf16, {1, 1, 1, 2}, {256, 260}));
}

TEST(Dtypes, EightBitsWrapWhenStored) {
  const Array a = i8({1, 1, 1, 3}, {127, -128, 100}), b = i8({1, 1, 1, 3}, {1, -1, 3});
  EXPECT_EQ(run("add", {a, b}), i8({1, 1, 1, 3}, {-128, 127, 103}));
  EXPECT_EQ(run("mul", {a, b}), i8({1, 1, 1, 3}, {127, -128, 300 - 256}));
  EXPECT_EQ(run("div", {a, b}), i8({1, 1, 1, 3}, {127, -128, 33}));
  EXPECT_EQ(run("neg", {a}), i8({1, 1, 1, 3}, {-127, -128, -100}));
  EXPECT_EQ(run("abs", {a}), i8({1, 1, 1, 3}, {127, -128, 100}));
  const Array u = u8({1, 1, 1, 2}, {3, 200}), v = u8({1, 1, 1, 2}, {5, 100});
  EXPECT_EQ(run("sub", {u, v}), u8({1, 1, 1, 2}, {254, 100}));
  EXPECT_EQ(run("add", {u, v}), u8({1, 1, 1, 2}, {8, 44}));
  EXPECT_EQ(run("less", {u, v}), boolean({1, 1, 1, 2}, {1, 0}));
}

TEST(Dtypes, ReductionsOfEightBitsAccumulateWide) {
  const Array x = u8({1, 4, 1}, {200, 100, 200, 13});
  EXPECT_EQ(run("sum", {x}), u8({1, 1}, {513 - 512}));
  EXPECT_EQ(run("reduce_max", {x}), u8({1, 1}, {200}));
  EXPECT_EQ(run("reduce_max", {u8({1, 0, 1}, {})}), u8({1, 1}, {0}));
  EXPECT_EQ(run("reduce_min", {i8({1, 0, 1}, {})}), i8({1, 1}, {127}));
  EXPECT_EQ(run("argmax", {x}), i64({1, 1}, {0}));
}

TEST(Dtypes, HalfPrecisionRoundsOnceAtTheEnd) {
  // 2048 + 1 + 1 is 2050, although 2048 + 1 is 2048 in f16; likewise with 256 in bf16.
  EXPECT_EQ(run("sum", {tensor(DType::f16, {1, 3, 1}, {2048, 1, 1})}),
            tensor(DType::f16, {1, 1}, {2050}));
  EXPECT_EQ(run("sum", {tensor(DType::bf16, {1, 3, 1}, {256, 1, 1})}),
            tensor(DType::bf16, {1, 1}, {258}));
  // 300^2 is beyond f16, but the root of the sum of the two squares is not.
  EXPECT_EQ(run("norm2", {tensor(DType::f16, {1, 2, 1}, {300, 400})}),
            tensor(DType::f16, {1, 1}, {500}));
}

TEST(Dtypes, ParametersAreNotRoundedToHalfPrecision) {
  // Rounded to f16, eps would be 0, and 0/0 NaN.
  EXPECT_EQ(run("rms_norm", {tensor(DType::f16, {1, 2}, {0, 0}), absent()}, {{"eps", 1e-12}}),
            tensor(DType::f16, {1, 2}, {0, 0}));
}

TEST(Dtypes, MovesTakeEveryDtype) {
  for (const DType t : all_dtypes()) {
    const auto of = [t](const Dims& shape, const std::vector<double>& v) {
      return tensor(t, shape, v);
    };
    EXPECT_EQ(run("pad_constant", {of({1, 1, 1, 2}, {0, 1})}, {{"pads3", 1}, {"value", 1}}),
              of({1, 1, 1, 3}, {1, 0, 1}))
        << name(t);
    EXPECT_EQ(run("concat", {of({1, 1, 1}, {1}), of({1, 2, 1}, {0, 1})}), of({1, 3, 1}, {1, 0, 1}))
        << name(t);
    EXPECT_EQ(run("gather", {of({1, 2, 1}, {0, 1}), i64({3}, {1, 0, -1})}),
              of({1, 3, 1}, {1, 0, 1}))
        << name(t);
    EXPECT_EQ(
        run("scatter_elements", {of({1, 2, 1}, {0, 0}), i64({1, 1, 1}, {-1}), of({1, 1, 1}, {1})}),
        of({1, 2, 1}, {0, 1}))
        << name(t);
  }
}

TEST(Bitwise, ActOnTwosComplement) {
  const Array a = i8({1, 1, 1, 4}, {12, -1, -128, 85}), b = i8({1, 1, 1, 4}, {10, 15, 127, -86});
  EXPECT_EQ(run("bitwise_and", {a, b}), i8({1, 1, 1, 4}, {8, 15, 0, 0}));
  EXPECT_EQ(run("bitwise_or", {a, b}), i8({1, 1, 1, 4}, {14, -1, -1, -1}));
  EXPECT_EQ(run("bitwise_xor", {a, b}), i8({1, 1, 1, 4}, {6, -16, -1, -1}));
  EXPECT_EQ(run("bitwise_not", {a}), i8({1, 1, 1, 4}, {-13, 0, 127, -86}));
  EXPECT_EQ(run("bitwise_not", {u8({1, 1, 1, 3}, {0, 1, 255})}), u8({1, 1, 1, 3}, {255, 254, 0}));
  const Array big = i64({1, 1, 1, 1}, {std::numeric_limits<std::int64_t>::min()});
  EXPECT_EQ(run("bitwise_xor", {big, i64({1, 1, 1, 1}, {-1})}),
            i64({1, 1, 1, 1}, {std::numeric_limits<std::int64_t>::max()}));
}

TEST(Shift, LosesBitsBeyondTheDtypeAndKeepsTheSign) {
  const Array u = u8({1, 1, 1, 4}, {1, 129, 255, 7}), by = u8({1, 1, 1, 4}, {7, 1, 8, 64});
  EXPECT_EQ(run("shift_left", {u, by}), u8({1, 1, 1, 4}, {128, 2, 0, 0}));
  EXPECT_EQ(run("shift_right", {u, by}), u8({1, 1, 1, 4}, {0, 64, 0, 0}));
  const Array s = i8({1, 1, 1, 4}, {-128, -1, 64, 64}), t = i8({1, 1, 1, 4}, {3, 7, 1, -1});
  EXPECT_EQ(run("shift_right", {s, t}), i8({1, 1, 1, 4}, {-16, -1, 32, 0}));
  EXPECT_EQ(run("shift_left", {s, t}), i8({1, 1, 1, 4}, {0, -128, -128, 0}));
}

}  // namespace
}  // namespace mote
