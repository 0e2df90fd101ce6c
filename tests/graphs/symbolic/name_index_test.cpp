// SPDX-License-Identifier: Apache-2.0
#include "mote/symbolic/name_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace mote {
namespace {

using detail::NameIndex;

// Names come and go at random; a map says which of them are there.
TEST(NameIndex, FindsWhatIsThere) {
  std::mt19937 random(1);
  std::vector<std::string> names;
  for (int k = 0; k < 300; ++k) names.push_back("v" + std::to_string(k % 150));
  const auto name_of = [&](std::uint32_t k) -> const std::string& { return names[k]; };
  NameIndex index;
  std::map<std::string, std::uint32_t> there;
  int refused = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    // More are added than removed, and then more are removed than added.
    const bool adds = random() % 4 < (turn / 2000 % 2 == 0 ? 3U : 1U);
    const auto k = static_cast<std::uint32_t>(random() % names.size());
    const auto known = there.find(names[k]);
    if (adds) {
      EXPECT_EQ(index.add(names[k], k, name_of), known == there.end()) << turn;
      refused += known != there.end() ? 1 : 0;
      there.emplace(names[k], k);
    } else if (known != there.end()) {
      index.remove(known->first, known->second);
      there.erase(known);
    }
    for (const std::uint32_t other : {k, (k + 75) % 300}) {
      const auto found = there.find(names[other]);
      ASSERT_EQ(index.find(names[other], name_of), found == there.end() ? kNoIndex : found->second)
          << turn;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(NameIndex, FindsNothingWhereNothingIs) {
  const auto none = [](std::uint32_t) -> const std::string& {
    static const std::string name;
    return name;
  };
  EXPECT_EQ(NameIndex().find("x", none), kNoIndex);
}

}  // namespace
}  // namespace mote
