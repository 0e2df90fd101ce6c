// SPDX-License-Identifier: Apache-2.0
// Names a file by its op, verdict and case, so that a failure found again, here or by another
// worker, gives the same file. A comment in the file names the backend: other backends run it too.
#include "campaign/corpus.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "mote/base/error.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".case";

/// The name without characters that a file name must not have.
std::string plain(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '/' || c == ' '; }, '_');
  return text;
}

}  // namespace

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0;
  for (const char c : text) hash = mix(hash + static_cast<unsigned char>(c));
  return hash;
}

void add_to_corpus(const std::string& folder, const Failure& failure) {
  Case c = failure.smallest;
  c.backend.clear();
  c.plugin.clear();
  const std::string line = to_string(c);
  const fs::path path =
      fs::path(folder) / plain(fmt::format("{}-{}-{:016x}{}", c.target->op(),
                                           name(failure.outcome.verdict), hash_of(line), kSuffix));
  std::error_code failed;
  if (fs::exists(path, failed)) return;
  fs::create_directories(folder, failed);
  const fs::path draft = path.string() + fmt::format(".{}", getpid());
  std::ofstream stream(draft);
  stream << fmt::format("# {} on {}: {}\n{}\n", name(failure.outcome.verdict),
                        failure.smallest.backend, failure.outcome.reason, line);
  stream.close();
  if (stream) fs::rename(draft, path, failed);
  if (!stream || failed) throw Error("corpus: " + path.string() + " cannot be written");
}

std::vector<Case> read_corpus(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    if (entry.path().extension() == kSuffix) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<Case> cases;
  for (const fs::path& file : files)
    for (Case& c : read_cases(file)) cases.push_back(std::move(c));
  return cases;
}

}  // namespace mote
