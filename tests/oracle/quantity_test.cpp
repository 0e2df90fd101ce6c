// SPDX-License-Identifier: Apache-2.0
// Tests times and sizes as people write them.
#include "mote/oracle/quantity.h"

#include <gtest/gtest.h>

#include "mote/base/error.h"

namespace mote {
namespace {

std::string refusal(const auto& parse) {
  try {
    parse();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Quantity, BytesWithAnyUnit) {
  const std::int64_t kilo = 1024;
  for (const auto& [text, bytes] : std::initializer_list<std::pair<const char*, std::int64_t>>{
           {"1000", 1000},
           {"0", 0},
           {"100B", 100},
           {"100KB", 100'000},
           {"100kB", 100'000},
           {"100 KiB", 100 * kilo},
           {"100K", 100 * kilo},
           {" 512 M ", 512 * kilo * kilo},
           {"1.5GiB", 3 * kilo * kilo * kilo / 2},
           {"2gb", 2'000'000'000},
           {"1T", kilo * kilo * kilo * kilo},
           {"1e3", 1000}}) {
    EXPECT_EQ(parse_bytes("memory", text), bytes) << text;
  }
}

TEST(Quantity, WhatIsNoSizeIsToldTheUnits) {
  for (const char* text :
       {"", "x", "5Q", "-1", "1e30", "5 MM", "5M 3", "KB", "nan", "inf", "5KBB"}) {
    const std::string what = refusal([&] { parse_bytes("memory", text); });
    EXPECT_TRUE(what.starts_with(std::string("memory '") + text + "': expected bytes")) << what;
    EXPECT_NE(what.find("KiB"), std::string::npos) << what;
    EXPECT_NE(what.find("kB"), std::string::npos) << what;
  }
}

TEST(Quantity, TimesWithAnyUnit) {
  for (const auto& [text, seconds] :
       std::initializer_list<std::pair<const char*, double>>{{"60", 60},
                                                             {"60s", 60},
                                                             {"60 S", 60},
                                                             {"500ms", 0.5},
                                                             {"250 us", 250e-6},
                                                             {"2m", 120},
                                                             {"2min", 120},
                                                             {"1.5h", 5400},
                                                             {"1m30s", 90},
                                                             {"1h 5m", 3900},
                                                             {"1d", 86400},
                                                             {"0s", 0}}) {
    EXPECT_DOUBLE_EQ(parse_seconds("budget", text), seconds) << text;
  }
}

TEST(Quantity, WhatIsNoTimeIsToldTheUnits) {
  for (const char* text : {"", "soon", "-1s", "5 parsecs", "1m30", "1 2", "1e30", "nan", "s"}) {
    const std::string what = refusal([&] { parse_seconds("timeout", text); });
    EXPECT_TRUE(what.starts_with(std::string("timeout '") + text + "': expected a time")) << what;
    EXPECT_NE(what.find("units: us, ms, s, m or min, h, d"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace mote
