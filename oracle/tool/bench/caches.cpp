// SPDX-License-Identifier: Apache-2.0
#include "bench/caches.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace mote::tool {
namespace {

std::string first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// The number at the text's beginning, and the text after it.
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return failed == std::errc() ? number : 0;
}

/// The bytes of "32K" or "16M".
std::size_t size_of_text(std::string_view text) {
  const std::size_t number = take_number(text);
  return number << (text.starts_with('K') ? 10U : text.starts_with('M') ? 20U : 0U);
}

/// The number of processors in a list such as "0-3,8".
int processors_in(std::string_view list) {
  std::size_t count = 0;
  while (!list.empty()) {
    const std::size_t first = take_number(list);
    std::size_t last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      last = take_number(list);
    }
    count += last >= first ? last - first + 1 : 1;
    if (!list.starts_with(',')) break;
    list.remove_prefix(1);
  }
  return static_cast<int>(std::max<std::size_t>(count, 1));
}

}  // namespace

std::vector<DataCache> data_caches(const std::string& folder) {
  std::vector<DataCache> caches;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string type = first_line(entry.path() / "type");
    if (type != "Data" && type != "Unified") continue;
    const std::string level = first_line(entry.path() / "level");
    std::string_view level_text = level;
    const DataCache cache{static_cast<int>(take_number(level_text)),
                          size_of_text(first_line(entry.path() / "size")),
                          processors_in(first_line(entry.path() / "shared_cpu_list"))};
    if (cache.level > 0 && cache.bytes > 0) caches.push_back(cache);
  }
  std::ranges::sort(caches, {}, &DataCache::level);
  return caches;
}

}  // namespace mote::tool
