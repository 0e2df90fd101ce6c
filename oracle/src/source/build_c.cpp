// SPDX-License-Identifier: Apache-2.0
#include "source/build_c.h"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

#include "mote/base/command.h"
#include "mote/base/error.h"
#include "mote/oracle/c_compiler.h"
#include "source/embedded_headers.h"

namespace mote {

void write_source(const std::filesystem::path& path, const std::string& text) {
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw Error(path.string() + ": cannot be written");
}

void write_headers(const std::filesystem::path& folder) {
  for (const EmbeddedHeader& header : kEmbeddedHeaders)
    write_source(folder / header.path, header.text);
}

void run_compiler(const std::string& what, const std::vector<std::string>& words) {
  const CommandResult result = run_command(words);
  if (!result.ok) throw Error(fmt::format("{}: {} failed:\n{}", what, words[0], result.messages));
}

std::filesystem::path object_of(const std::filesystem::path& folder, const std::string& name,
                                const std::string& text, const std::vector<std::string>& options) {
  const std::filesystem::path source = folder / (name + ".c");
  std::filesystem::path object = folder / (name + ".o");
  write_source(source, text);
  std::vector<std::string> words = c_compiler();
  words.insert(words.end(), {"-std=c11", "-fPIC", "-fvisibility=hidden", "-I" + folder.string()});
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"-c", source, "-o", object});
  run_compiler(source, words);
  return object;
}

}  // namespace mote
