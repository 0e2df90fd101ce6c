// SPDX-License-Identifier: Apache-2.0
// Each array is a symbol in the section that mote_cuda_host.h puts it into; the name of a local
// variable is qualified by its function.
#include "source/shared_memory.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

namespace mote {
namespace {

using ElfHeader = ElfW(Ehdr);
using ElfSection = ElfW(Shdr);
using ElfSymbol = ElfW(Sym);

/// An object file, whose offsets are not trusted.
class ElfObject {
 public:
  explicit ElfObject(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(stream), {});
    const auto header = at<ElfHeader>(0);
    if (header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0) header_ = *header;
  }
  std::uint64_t sections() const { return header_.e_shnum; }
  std::optional<ElfSection> section(std::uint64_t k) const {
    return at<ElfSection>(header_.e_shoff + k * sizeof(ElfSection));
  }
  std::string text(std::uint64_t table, std::uint64_t offset) const {
    const auto strings = section(table);
    if (!strings || strings->sh_offset + offset >= bytes_.size()) return "";
    return bytes_.c_str() + strings->sh_offset + offset;
  }
  std::string name(const ElfSection& s) const { return text(header_.e_shstrndx, s.sh_name); }
  template <typename T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

 private:
  std::string bytes_;
  ElfHeader header_{};
};

/// The function of a symbol: tile_of for "tile_of(float*, int)::tile".
std::string function_of(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0) return "";
  const std::string_view whole = text.get();
  const std::size_t end = whole.rfind("::");
  if (end == std::string_view::npos) return "";
  return std::string(whole.substr(0, std::min(end, whole.find('('))));
}

}  // namespace

std::map<std::string, std::uint64_t> static_shared_memory(const std::string& object) {
  std::map<std::string, std::uint64_t> bytes;
  const ElfObject file(object);
  for (std::uint64_t k = 0; k < file.sections(); ++k) {
    const auto table = file.section(k);
    if (!table || table->sh_type != SHT_SYMTAB) continue;
    for (std::uint64_t at = 0; at < table->sh_size; at += sizeof(ElfSymbol)) {
      const auto symbol = file.at<ElfSymbol>(table->sh_offset + at);
      if (!symbol || symbol->st_shndx == SHN_UNDEF || symbol->st_size == 0) continue;
      const auto of = file.section(symbol->st_shndx);
      if (of && file.name(*of) == "mote_shared")
        bytes[function_of(file.text(table->sh_link, symbol->st_name))] += symbol->st_size;
    }
  }
  return bytes;
}

}  // namespace mote
