// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace mote::cuda {

Library::Library(const std::string& what, const std::vector<std::string>& candidates) {
  std::string why = "there is no name for it";
  for (const std::string& path : candidates) {
    // NVIDIA's libraries keep threads and state, so they are never unloaded.
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle_ != nullptr) {
      path_ = path;
      return;
    }
    const char* reason = dlerror();
    if (path == candidates.front() && reason != nullptr) why = reason;
  }
  throw Error(fmt::format("no {}: {}", what, why));
}

void* Library::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr) throw Error(fmt::format("{} has no function {}", path_, name));
  return found;
}

}  // namespace mote::cuda
