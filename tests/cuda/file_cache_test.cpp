// SPDX-License-Identifier: Apache-2.0
// Tests that the cache on disk returns exactly the stored bytes, and stores damaged entries again.
#include "cuda/file_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "mote/base/temporary_folder.h"

namespace mote::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKey = "a compiler\nits options";
const std::string kBytes = std::string("code\0of a kernel", 16) + std::string(4096, 'x');

TEST(FileCache, FindsWhatWasPutUnderTheKey) {
  const TemporaryFolder folder;
  const FileCache cache(folder.path() / "kept");
  EXPECT_FALSE(cache.find(kKey));
  const auto made = cache.put(kKey, kBytes);
  ASSERT_TRUE(made);
  EXPECT_EQ(read_bytes(*made), kBytes);
  EXPECT_EQ(cache.find(kKey), made);
  EXPECT_FALSE(cache.find(std::string(kKey) + " and more"));
  EXPECT_FALSE(cache.find("a compiler"));
  cache.put(kKey, "");
  ASSERT_TRUE(cache.find(kKey));
  EXPECT_EQ(read_bytes(*cache.find(kKey)), "");
}

TEST(FileCache, DoesNotFindWhatIsDamagedAndKeepsItAnew) {
  const TemporaryFolder folder;
  const FileCache cache(folder.path() / "kept");
  const fs::path bytes = *cache.put(kKey, kBytes);
  const fs::path key = fs::path(bytes).replace_extension(".key");
  std::string flipped = kBytes;
  flipped[1000] = 'y';
  const std::function<void()> damages[] = {
      [&] { fs::resize_file(bytes, kBytes.size() / 2); },
      [&] { fs::resize_file(bytes, 0); },
      [&] { write_bytes(bytes, kBytes + "x"); },
      [&] { write_bytes(bytes, flipped); },
      [&] { fs::remove(bytes); },
      [&] { fs::resize_file(key, fs::file_size(key) - 1); },
      [&] { write_bytes(key, kKey); },
  };
  for (const auto& damage : damages) {
    damage();
    EXPECT_FALSE(cache.find(kKey));
    cache.put(kKey, kBytes);
    EXPECT_EQ(cache.find(kKey), bytes);
  }
}

}  // namespace
}  // namespace mote::cuda
