// SPDX-License-Identifier: Apache-2.0
// Tests that the table of dtypes agrees with the code that goes by it, for every dtype.
#include "mote/base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>
#include <string>

#include "mote/base/cast.h"
#include "mote/base/dlpack.h"
#include "mote/base/element_types.h"
#include "mote/base/error.h"

namespace mote {
namespace {

TEST(DType, EachHasANameACodeAndASizeOfItsOwn) {
  std::set<std::string_view> names, codes;
  for (const DType d : all_dtypes()) {
    EXPECT_EQ(parse_dtype(name(d)), d);
    EXPECT_EQ(from_dlpack(to_dlpack(d)), d) << name(d);
    EXPECT_EQ(with_dtype(d, []<DType D>() { return sizeof(typename Element<D>::Stored); }),
              size_of(d));
    names.insert(name(d));
    codes.insert(info(d).npy);
  }
  EXPECT_EQ(names.size(), all_dtypes().size());
  EXPECT_EQ(codes.size(), all_dtypes().size());
}

TEST(DType, TheGreatestAndTheLeastValueOfEachAreStoredAsTheyAre) {
  for (const DType d : all_dtypes()) {
    with_dtype(d, [&]<DType D>() {
      if constexpr (is_real(D)) {
        const RealFormat f = real_format(D);
        const double least = std::ldexp(1.0, f.least_exponent);
        EXPECT_EQ(Element<D>::load(Element<D>::store(f.greatest)), f.greatest) << name(D);
        EXPECT_EQ(Element<D>::load(Element<D>::store(least)), least) << name(D);
        EXPECT_EQ(Element<D>::load(Element<D>::store(least / 2)), 0) << name(D);
      } else {
        const IntegerRange r = integer_range(D);
        EXPECT_EQ(Element<D>::load(Element<D>::store(r.greatest)), r.greatest) << name(D);
        EXPECT_EQ(Element<D>::load(Element<D>::store(r.least)), r.least) << name(D);
      }
    });
  }
}

TEST(DType, IntegersWrapInTheirBits) {
  EXPECT_EQ(wrap_integer(128, DType::i8), -128);
  EXPECT_EQ(wrap_integer(-1, DType::u8), 255);
  EXPECT_EQ(wrap_integer(0x180000000, DType::i32), INT32_MIN);
  EXPECT_EQ(wrap_integer(INT64_MIN, DType::i64), INT64_MIN);
}

TEST(DType, AValueThatIsNoneIsAnError) {
  const auto none = static_cast<DType>(200);
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  const std::string expected = "dtype: 200 is none of mote's";
  EXPECT_EQ(message([&] { return name(none); }), expected);
  EXPECT_EQ(message([&] { return size_of(none); }), expected);
  EXPECT_EQ(message([&] { return to_dlpack(none); }), expected);
  EXPECT_THROW(is_real(none), std::out_of_range);
}

}  // namespace
}  // namespace mote
