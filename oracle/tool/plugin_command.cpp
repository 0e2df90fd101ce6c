// SPDX-License-Identifier: Apache-2.0
// Looks for headers next to the running program: in its build, or in its installation prefix.
#include "plugin_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "mote/base/for_shell.h"
#include "mote/base/plugin_search.h"
#include "mote/oracle/backends.h"
#include "mote/oracle/c_compiler.h"

namespace mote::tool {
namespace {

namespace fs = std::filesystem;

bool has_headers(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "mote" / "base" / "thunk.h", ignored);
}

bool is_in_build() {
  std::error_code ignored;
  const std::string here = fs::weakly_canonical(executable_folder(), ignored);
  const std::string build = fs::weakly_canonical(fs::path(MOTE_BUILD_FOLDER) / "bin", ignored);
  return here == build;
}

/// The folder of mote's headers; empty if there is none.
std::string headers_of_mote() {
  if (is_in_build() && has_headers(MOTE_SOURCE_HEADERS)) return MOTE_SOURCE_HEADERS;
  for (const PluginLocation& location : plugin_locations()) {
    if (location.is_given) continue;
    const fs::path folder = (fs::path(location.path) / "../../../include").lexically_normal();
    if (has_headers(folder)) return folder;
  }
  return "";
}

std::string include_options() {
  const std::string mote = headers_of_mote();
  if (mote.empty()) return " $(pkg-config --cflags mote)";
  std::string text = " -I" + for_shell(mote);
  const std::string_view dlpack = MOTE_DLPACK_FOLDER;
  std::error_code ignored;
  const bool is_searched = dlpack == "/usr/include" || dlpack == "/usr/local/include";
  if (!is_searched && fs::exists(fs::path(dlpack) / "dlpack", ignored))
    text += " -I" + for_shell(std::string(dlpack));
  return text;
}

/// The options that link the launcher, which lies next to the folder of plug-ins.
std::string launcher_options() {
  for (const PluginLocation& location : plugin_locations()) {
    const fs::path file = (fs::path(location.path) / "../cuda_launcher.so").lexically_normal();
    std::error_code ignored;
    if (!fs::exists(file, ignored)) continue;
    return fmt::format(" {} -Wl,-rpath,{}", for_shell(file), for_shell(file.parent_path()));
  }
  return " cuda_launcher.so";
}

}  // namespace

std::string compile_command(const PluginFiles& files) {
  std::string text;
  for (const std::string& word : c_compiler()) text += (text.empty() ? "" : " ") + for_shell(word);
  text += " -std=c11 -O2 -fPIC -shared" + include_options() + " " + for_shell(files.plugin);
  for (const std::string& source : files.sources) text += " " + for_shell(source);
  if (files.gpu) text += launcher_options();
  return text + " -o " + for_shell(files.library) + " -lm";
}

}  // namespace mote::tool
