// SPDX-License-Identifier: Apache-2.0
// Parses shards of a campaign, numbered from 0 as in Bazel and GoogleTest.
#include <cstdlib>
#include <limits>

#include "mote/base/error.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/quantity.h"

namespace mote {
namespace {

constexpr std::uint64_t kMaxShards = std::numeric_limits<std::uint32_t>::max();

Shard shard_of(const std::string& index, const std::string& count) {
  Shard shard;
  shard.count = parse_whole("number of shards", count, 1, kMaxShards);
  shard.index = parse_whole("shard", index, 0, shard.count - 1);
  return shard;
}

}  // namespace

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw Error("shard '" + text + "': expected one of several, such as 0/4");
  }
  return shard_of(text.substr(0, slash), text.substr(slash + 1));
}

Shard shard_of_environment() {
  const char* count = std::getenv("GTEST_TOTAL_SHARDS");
  const char* index = std::getenv("GTEST_SHARD_INDEX");
  return count != nullptr && index != nullptr ? shard_of(index, count) : Shard{};
}

}  // namespace mote
