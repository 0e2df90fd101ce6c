// SPDX-License-Identifier: Apache-2.0
#include "c_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "mote/base/error.h"

namespace mote::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStrict = "-std=c11 -Wall -Wextra -Wconversion -Werror";

std::string new_folder() {
  std::string name = (fs::temp_directory_path() / "mote_c_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw Error("cannot make a folder like " + name);
  return name;
}

void remove_folder(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

/// Returns the output of the command; `ok` tells whether it exited with 0.
std::string output_of(const std::string& command, const std::string& folder, bool& ok) {
  const fs::path log = fs::path(folder) / "log.txt";
  ok = std::system(fmt::format("cd '{}' && {} > log.txt 2>&1", folder, command).c_str()) == 0;
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  return text.str();
}

}  // namespace

bool has_compiler(const std::string& compiler) {
  const std::string folder = new_folder();
  bool ok = false;
  output_of(compiler + " --version", folder, ok);
  remove_folder(folder);
  return ok;
}

std::string strict_complaints(const std::string& compiler, const std::vector<std::string>& texts) {
  const std::string folder = new_folder();
  std::string files;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const std::string file = fmt::format("k{}.c", k);
    std::ofstream(fs::path(folder) / file) << texts[k];
    files += " " + file;
  }
  bool ok = false;
  const std::string log =
      output_of(fmt::format("{} {} -c{}", compiler, kStrict, files), folder, ok);
  remove_folder(folder);
  return ok ? "" : "failed: " + log;
}

CLibrary::CLibrary(const std::string& text, const std::string& flags) : folder_(new_folder()) {
  std::ofstream(fs::path(folder_) / "k.c") << text;
  bool ok = false;
  const std::string log = output_of(
      fmt::format("cc {} {} -O2 -ffp-contract=off -frounding-math -fno-builtin -fPIC -shared -I{} "
                  "k.c -o k.so -lm",
                  kStrict, flags, MOTE_KERNEL_INCLUDE),
      folder_, ok);
  if (!ok) {
    remove_folder(folder_);
    throw Error("cc: " + log);
  }
  library_ = dlopen((folder_ + "/k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw Error(fmt::format("dlopen: {}", dlerror()));
}

CLibrary::~CLibrary() {
  if (library_ != nullptr) dlclose(library_);
  remove_folder(folder_);
}

void* CLibrary::symbol(const std::string& name) const {
  void* found = dlsym(library_, name.c_str());
  if (found == nullptr) throw Error("the library has no " + name);
  return found;
}

}  // namespace mote::test
