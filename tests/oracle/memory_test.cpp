// SPDX-License-Identifier: Apache-2.0
// Tests the memory that a case takes, and its refusal.
#include "mote/oracle/memory.h"

#include <gtest/gtest.h>

#include "mote/base/error.h"

namespace mote {
namespace {

std::string refusal(const std::string& text, std::optional<std::int64_t> limit) {
  try {
    check_memory(parse_case(text), limit);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Memory, CountsEveryCopyOfEveryTensor) {
  const std::int64_t small = bytes_needed(parse_case("transpose x=f32[1,1,1]"));
  const std::int64_t large = bytes_needed(parse_case("transpose x=f32[1,1,1001]"));
  EXPECT_EQ(large - small,
            1000 * 4 * (2 + 4));  // x is dense and laid out; y is there three times and laid out
  const std::int64_t doubled = bytes_needed(parse_case("transpose x=f64[1,1,1001]"));
  EXPECT_EQ(doubled, 2 * large);
}

TEST(Memory, RefusesWithTheSizes) {
  EXPECT_EQ(refusal("transpose x=f32[1,1,1]", std::nullopt), "");
  EXPECT_EQ(refusal("transpose x=f32[1,1024,1024]", std::int64_t{10} << 20U),
            "transpose: case needs 24.0 MiB, 10.0 MiB are available");
  const std::string terabytes =
      refusal("gemm a=f32[1000000,1000000] b=f32[1000000,1000000]", std::nullopt);
  EXPECT_NE(terabytes.find("case needs 29.1 TiB"), std::string::npos) << terabytes;
}

TEST(Memory, OverflowIsARefusalToo) {
  const std::string text = "transpose x=f64[1,2000000000,1000000000]";
  EXPECT_NE(refusal(text, std::nullopt).find("2^63 bytes"), std::string::npos)
      << refusal(text, std::nullopt);
}

TEST(Memory, SomeIsAvailable) {
  EXPECT_GT(bytes_available(), std::int64_t{1} << 20U);
  EXPECT_LT(bytes_available(), std::int64_t{1} << 50U);
}

TEST(Memory, SizesAsText) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(std::int64_t{12} << 30U), "12.0 GiB");
}

}  // namespace
}  // namespace mote
