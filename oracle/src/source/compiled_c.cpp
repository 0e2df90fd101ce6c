// SPDX-License-Identifier: Apache-2.0
// Writes the text and the headers that it needs into a folder of its own and compiles it without a
// shell.
#include "source/compiled_c.h"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

#include "mote/base/command.h"
#include "mote/base/error.h"
#include "mote/oracle/c_compiler.h"
#include "source/build_c.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

/// Compiles in the folder; the compiler's messages are discarded.
bool compile_c(const fs::path& folder) {
  std::vector<std::string> words = c_compiler();
  for (const char* word : {"-std=c11", "-O2", "-ffp-contract=off", "-frounding-math", "-fwrapv",
                           "-fno-builtin", "-fPIC", "-shared"}) {
    words.emplace_back(word);
  }
  words.push_back("-I" + folder.string());
  words.push_back(folder / "kernel.c");
  words.insert(words.end(), {"-o", folder / "kernel.so", "-lm", "-ldl"});
  return run_command(words).ok;
}

}  // namespace

std::shared_ptr<const CLibrary> compile_library(const std::string& text) try {
  auto library = std::make_shared<CLibrary>();
  const fs::path& folder = library->folder.path();
  write_headers(folder);
  write_source(folder / "kernel.c", text);
  if (!compile_c(folder)) return nullptr;
  library->path = (folder / "kernel.so").string();
  return library;
} catch (const Error&) {  // the folder cannot be made or written to
  return nullptr;
}

std::shared_ptr<void> load_c(const std::string& text) {
  const std::shared_ptr<const CLibrary> library = compile_library(text);
  if (!library) return nullptr;
  return {dlopen(library->path.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* handle) {
            if (handle != nullptr) dlclose(handle);
          }};
}

}  // namespace mote
