#include "generate.h"

#include <fstream>
#include <iterator>

namespace mote {

int shard_of(const OpRecord& record, int shards) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : record.name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<int>(hash % static_cast<std::uint32_t>(shards));
}

bool write_if_changed(const std::filesystem::path& path, const std::string& text) {
  if (std::ifstream in(path, std::ios::binary);
      in && std::string(std::istreambuf_iterator<char>(in), {}) == text)
    return false;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  if (!out) throw Error(fmt::format("cannot write {}", path.string()));
  return true;
}

}  // namespace mote
