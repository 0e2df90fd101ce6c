// SPDX-License-Identifier: Apache-2.0
// Reads and writes whole files at once.
#include "mote/runtime/file.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "mote/runtime/status.h"

namespace mote {
namespace {

[[noreturn]] void fail_to(const std::string& verb, const std::string& path) {
  throw StatusError(MOTE_FAILED,
                    "cannot " + verb + " " + path + ": " + std::generic_category().message(errno));
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

}  // namespace

std::vector<std::byte> read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail_to("read", path);
  std::vector<std::byte> bytes;
  std::size_t used = 0;
  do {
    bytes.resize(used + (std::size_t{1} << 20));
    used += std::fread(bytes.data() + used, 1, bytes.size() - used, file.get());
  } while (used == bytes.size());
  if (std::ferror(file.get()) != 0) fail_to("read", path);
  bytes.resize(used);
  return bytes;
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) fail_to("write", path);
  const std::size_t written = std::fwrite(bytes.data(), 1, bytes.size(), file.get());
  if (written != bytes.size() || std::fflush(file.get()) != 0) fail_to("write", path);
}

}  // namespace mote
