// SPDX-License-Identifier: Apache-2.0
// mote-gen-bounds: writes the error bounds of the catalogue as C. In: the catalogue; out: a folder
// with helpers, shards and the registry that mote/generated/bounds.h reads. A file is written only
// if its text changed.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "bound_text.h"
#include "generate.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

void run(const fs::path& folder, int shards, const std::vector<fs::path>& built_from) {
  std::vector<BoundKernel> kernels = bound_kernels();
  TextCache cache(folder / "cache", built_from);
  emit_all(kernels, &cache);
  fs::create_directories(folder);
  write_if_changed(folder / "mote_bound_helpers.h", bound_helpers_text());
  for (int shard = 0; shard < shards; ++shard)
    write_if_changed(folder / fmt::format("mote_bounds_{}.c", shard),
                     bound_shard_text(kernels, shard, shards));
  write_if_changed(folder / "bound_registry.c", bound_registry_text(kernels));
  cache.save();
}

}  // namespace
}  // namespace mote

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  int shards = 0;
  const bool complete = args.size() >= 3 && args[0] == "--shards";
  if (complete) std::from_chars(args[1].data(), args[1].data() + args[1].size(), shards);
  if (shards < 1) {
    fmt::print(stderr,
               "usage: mote-gen-bounds --shards K FOLDER [FILE...]\n"
               "         FOLDER keeps texts for the next run of a generator built from the same "
               "FILEs\n");
    return 2;
  }
  try {
    mote::run(args[2], shards, {args.begin() + 3, args.end()});
  } catch (const std::exception& e) {
    fmt::print(stderr, "mote-gen-bounds: {}\n", e.what());
    return 1;
  }
  return 0;
}
