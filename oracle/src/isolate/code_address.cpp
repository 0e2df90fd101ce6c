// SPDX-License-Identifier: Apache-2.0
// Uses the loader's list of modules, which says where each was loaded; the program's name there is
// empty.
#include "code_address.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <filesystem>

namespace mote::isolate {

const char* const kAddressInC = R"(#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

static char* mote_address(const char* module, uintptr_t offset) {
  struct link_map* map = NULL;
  void* handle = dlopen(*module == '\0' ? NULL : module, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return NULL;
  return (char*)map->l_addr + offset;
}
)";

std::optional<CodeAddress> locate(const void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      map == nullptr)
    return std::nullopt;
  CodeAddress found;
  found.offset = reinterpret_cast<std::uintptr_t>(address) - map->l_addr;
  if (*map->l_name == '\0') return found;
  std::error_code failed;
  found.module = std::filesystem::absolute(map->l_name, failed);
  if (failed || !std::filesystem::exists(found.module, failed)) return std::nullopt;
  return found;
}

std::string c_literal(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) literal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return literal + "\"";
}

}  // namespace mote::isolate
