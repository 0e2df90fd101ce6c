// SPDX-License-Identifier: Apache-2.0
// Reads and writes named tensors in a zip file.
#include "mote/npz/npz.h"

#include "mote/runtime/file.h"
#include "mote/runtime/npy.h"
#include "mote/runtime/status.h"
#include "zip.h"

namespace mote {
namespace {

constexpr std::string_view kSuffix = ".npy";

void check_name(const std::string& name) {
  if (name.empty() || name.size() > 255 || name.find('\0') != std::string::npos ||
      name.find('\\') != std::string::npos || name.front() == '/' ||
      name.find("..") != std::string::npos)
    zip::fail("'" + name + "' cannot be the name of an entry");
}

}  // namespace

NamedTensors parse_npz(std::span<const std::byte> bytes, const Allocator& allocator) {
  NamedTensors tensors;
  for (const zip::Entry& entry : zip::entries(bytes)) {
    std::string name = entry.name;
    if (name.ends_with(kSuffix)) name.erase(name.size() - kSuffix.size());
    if (tensors.contains(name)) zip::fail("two entries are named " + name);
    try {
      tensors.emplace(name, parse_npy(zip::unpack(entry), allocator));
    } catch (const StatusError& e) {
      const std::string text = e.what();
      throw StatusError(e.status(),
                        text.starts_with("npz: ") ? text : "npz: " + name + ": " + text);
    }
  }
  return tensors;
}

std::vector<std::byte> to_npz(const NamedTensors& tensors, Compression compression) {
  std::vector<zip::File> files;
  for (const auto& [name, tensor] : tensors) {
    check_name(name);
    files.push_back({name + std::string(kSuffix), to_npy(tensor)});
  }
  return zip::pack(files, compression == Compression::deflated ? zip::kDeflated : zip::kStored);
}

NamedTensors read_npz(const std::string& path, const Allocator& allocator) {
  try {
    return parse_npz(read_file(path), allocator);
  } catch (const StatusError& e) {
    throw StatusError(e.status(), path + ": " + e.what());
  }
}

void write_npz(const std::string& path, const NamedTensors& tensors, Compression compression) {
  write_file(path, to_npz(tensors, compression));
}

}  // namespace mote
