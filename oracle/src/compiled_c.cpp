// SPDX-License-Identifier: Apache-2.0
// Writes the text beside the headers that it needs into a folder of its own, compiles it without a
// shell, loads the library and removes the folder.
#include "compiled_c.h"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

#include "build_c.h"
#include "mote/base/command.h"
#include "mote/base/error.h"
#include "mote/base/temporary_folder.h"
#include "mote/oracle/c_compiler.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

/// Compiles in the folder; the compiler's messages are thrown away.
bool compile_c(const fs::path& folder) {
  std::vector<std::string> words = c_compiler();
  for (const char* word : {"-std=c11", "-O2", "-ffp-contract=off", "-frounding-math", "-fwrapv",
                           "-fno-builtin", "-fPIC", "-shared"}) {
    words.emplace_back(word);
  }
  words.push_back("-I" + folder.string());
  words.push_back(folder / "kernel.c");
  words.insert(words.end(), {"-o", folder / "kernel.so", "-lm"});
  return run_command(words).ok;
}

}  // namespace

std::shared_ptr<void> load_c(const std::string& text) try {
  const TemporaryFolder folder;
  write_headers(folder.path());
  write_source(folder.path() / "kernel.c", text);
  if (!compile_c(folder.path())) return nullptr;
  const std::string path = (folder.path() / "kernel.so").string();
  return {dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* library) {
            if (library != nullptr) dlclose(library);
          }};
} catch (const Error&) {  // no folder, or it cannot be written to
  return nullptr;
}

}  // namespace mote
