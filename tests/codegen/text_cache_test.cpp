// SPDX-License-Identifier: Apache-2.0
// Tests the cache of mote-gen between runs: texts are returned only to a generator that was built
// from the same files, and a damaged file holds none.
#include "text_cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "generate.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

class TextCacheTest : public testing::Test {
 protected:
  TextCacheTest() {
    std::string name = (fs::temp_directory_path() / "mote_cache_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error("cannot make a folder like " + name);
    folder_ = name;
    file_ = folder_ / "cache";
    library_ = folder_ / "library";
    write_if_changed(library_, "one");
  }
  ~TextCacheTest() override { fs::remove_all(folder_); }

  void keep(const std::string& key, const std::vector<std::string>& texts) const {
    TextCache cache(file_, {library_});
    cache.put(key, texts);
    cache.save();
  }
  std::optional<std::vector<std::string>> found(const std::string& key) const {
    return TextCache(file_, {library_}).find(key);
  }

  fs::path folder_;
  fs::path file_;
  fs::path library_;
};

TEST_F(TextCacheTest, GivesBackWhatWasKept) {
  EXPECT_EQ(found("f"), std::nullopt);
  keep("f", {"a", "b"});
  EXPECT_EQ(found("f"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(found("g"), std::nullopt);
}

TEST_F(TextCacheTest, ForgetsWhatARunDidNotUse) {
  keep("f", {"a"});
  {
    TextCache cache(file_, {library_});
    cache.put("g", {"b"});
    cache.save();
  }
  EXPECT_EQ(found("f"), std::nullopt);
  TextCache cache(file_, {library_});
  EXPECT_TRUE(cache.find("g"));
  cache.save();
  EXPECT_TRUE(found("g"));
}

TEST_F(TextCacheTest, IsEmptyForAGeneratorOfOtherFiles) {
  keep("f", {"a"});
  write_if_changed(library_, "two");
  EXPECT_EQ(found("f"), std::nullopt);
  write_if_changed(library_, "one");
  EXPECT_TRUE(found("f"));
}

TEST_F(TextCacheTest, ADamagedFileIsEmpty) {
  keep("f", {"a", "b"});
  const std::string whole = read_file(file_);
  ASSERT_GT(whole.size(), 20U);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(file_, std::ios::binary) << whole.substr(0, size);
    EXPECT_EQ(found("f"), std::nullopt) << size;
  }
}

TEST_F(TextCacheTest, AFileThatCannotBeWrittenIsNamed) {
  TextCache cache("/dev/null/cache", {});
  cache.put("f", {"a"});
  EXPECT_THROW(cache.save(), Error);
}

}  // namespace
}  // namespace mote
