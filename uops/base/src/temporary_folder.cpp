// SPDX-License-Identifier: Apache-2.0
#include "mote/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "mote/base/error.h"

namespace mote {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::error_code failed;
  fs::path base = fs::temp_directory_path(failed);
  if (failed) base = "/tmp";
  std::string name = (base / "mote-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw Error(name + ": a temporary folder cannot be made: " + std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace mote
