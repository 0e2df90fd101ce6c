// SPDX-License-Identifier: Apache-2.0
#include "generate.h"

#include <fstream>
#include <iterator>

namespace mote {

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

int shard_of(const OpRecord& record, int shards) {
  return static_cast<int>(hash_of(record.name) % static_cast<std::uint64_t>(shards));
}

std::string made_from(const std::string& function, const OpRecord& record, const Program& program) {
  std::string text = function;
  for (const InputDecl& input : record.inputs) text += " " + input.name;
  for (const ParamDecl& param : record.params) text += " $" + param.name;
  for (const std::string& output : record.optional_outputs) text += " ?" + output;
  return text + "\n" + to_string(program);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool write_if_changed(const std::filesystem::path& path, const std::string& text) {
  if (std::filesystem::exists(path) && read_file(path) == text) return false;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  if (!out) throw Error(fmt::format("cannot write {}", path.string()));
  return true;
}

}  // namespace mote
