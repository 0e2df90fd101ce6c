// SPDX-License-Identifier: Apache-2.0
#include "text_cache.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "generate.h"

namespace mote {
namespace {

/// Returns the names, sizes and hashes of the files, which identify the generator.
std::string identity(const std::vector<std::filesystem::path>& files) {
  std::string all;
  for (const std::filesystem::path& file : files) {
    const std::string bytes = read_file(file);
    all += fmt::format("{} {} {:016x}\n", file.filename().string(), bytes.size(), hash_of(bytes));
  }
  return all;
}

}  // namespace

TextCache::TextCache(std::filesystem::path file,
                     const std::vector<std::filesystem::path>& built_from)
    : file_(std::move(file)), generator_(identity(built_from)) {
  const std::string bytes = read_file(file_);
  const auto json = nlohmann::json::from_cbor(bytes, true, false);
  if (!json.is_object() || json.value("generator", nlohmann::json()) != generator_) return;
  try {
    earlier_ = json.at("texts").get<Entries>();
  } catch (const nlohmann::json::exception&) {
    earlier_.clear();
  }
}

std::optional<std::vector<std::string>> TextCache::find(const std::string& key) {
  const auto found = earlier_.find(key);
  if (found == earlier_.end()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  used_.insert(*found);
  return found->second;
}

void TextCache::put(const std::string& key, const std::vector<std::string>& texts) {
  const std::lock_guard lock(mutex_);
  used_[key] = texts;
}

void TextCache::save() const {
  const std::vector<std::uint8_t> bytes =
      nlohmann::json::to_cbor({{"generator", generator_}, {"texts", used_}});
  write_if_changed(file_, std::string(bytes.begin(), bytes.end()));
}

}  // namespace mote
