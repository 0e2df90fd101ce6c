// mote-gen: the catalogue's kernels as C. In: the catalogue; out: a folder with helpers, K shards
// of kernels, shards of their fast variants, the same for gradients, and the tables that
// mote/base/registry.h and ops.h declare. A file is written only if its text changed, so that a
// build compiles nothing it has compiled before.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "generate.h"
#include "kernel_text.h"
#include "mote/base/error.h"
#include "ops_text.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

struct Options {
  fs::path folder;
  int shards = 8;
  int fast_shards = 4;
  int gradient_shards = 4;
  std::optional<fs::path> cache;     ///< texts of earlier runs
  std::vector<fs::path> built_from;  ///< files that the generator was built from
  bool list = false;
  bool timing = false;
};

/// Sorted as the registry is: op, variant, dtype, mask.
std::vector<Kernel> all_kernels() {
  std::vector<Kernel> kernels;
  for (const OpRecord* record : generated_ops())
    for (const Instance& instance : instances(*record))
      kernels.push_back({record, instance, "mote_" + instance_name(*record, instance)});
  std::ranges::sort(kernels, {}, [](const Kernel& k) {
    return std::tuple(k.record->name, name(k.instance.dtype), k.instance.input_mask);
  });
  return kernels;
}

std::string describe(const Kernel& k) {
  return fmt::format("{} {} inputs {:#x}", k.record->name, name(k.instance.dtype),
                     k.instance.input_mask);
}

/// How many files changed.
int write_all(const std::vector<Kernel>& kernels, const Options& options) {
  fs::create_directories(options.folder);
  int written = 0;
  const auto put = [&](const std::string& file, const std::string& text) {
    written += write_if_changed(options.folder / file, text) ? 1 : 0;
  };
  put("mote_helpers.h", helpers_text());
  put("mote_fast_helpers.h", fast_helpers_text());
  for (int shard = 0; shard < options.shards; ++shard)
    put(fmt::format("mote_kernels_{}.c", shard),
        shard_text(kernels, Part::ops, shard, options.shards));
  for (int shard = 0; shard < options.fast_shards; ++shard)
    put(fmt::format("mote_fast_{}.c", shard),
        fast_shard_text(kernels, Part::ops, shard, options.fast_shards));
  for (int shard = 0; shard < options.gradient_shards; ++shard) {
    put(fmt::format("mote_gradients_{}.c", shard),
        shard_text(kernels, Part::gradients, shard, options.gradient_shards));
    put(fmt::format("mote_fast_gradients_{}.c", shard),
        fast_shard_text(kernels, Part::gradients, shard, options.gradient_shards));
  }
  put("dispatch.c", dispatch_text(kernels));
  put("registry.c", registry_text(kernels));
  put("ops.c", ops_text());
  return written;
}

constexpr const char* kUsage =
    "usage: mote-gen [--shards K] [--fast-shards K] [--gradient-shards K] [--timing]\n"
    "                [--cache FILE [--built-from FILE]...] FOLDER\n"
    "           write the kernels' C to FOLDER; FILE keeps it for the next run of a generator "
    "that\n"
    "           is built from the same files\n"
    "       mote-gen --list\n"
    "           print the kernels\n";

int shard_count(const std::string& option, const std::string& text) {
  int count = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failed != std::errc() || end != text.data() + text.size() || count < 1 || count > 1000)
    throw Error(fmt::format("{} takes a number in 1..1000, got '{}'", option, text));
  return count;
}

int* count_named(Options& options, const std::string& argument) {
  if (argument == "--shards") return &options.shards;
  if (argument == "--fast-shards") return &options.fast_shards;
  return argument == "--gradient-shards" ? &options.gradient_shards : nullptr;
}

Options parse(const std::vector<std::string>& args) {
  Options options;
  for (std::size_t k = 0; k < args.size(); ++k) {
    if (args[k] == "--list") {
      options.list = true;
    } else if (args[k] == "--timing") {
      options.timing = true;
    } else if (int* count = count_named(options, args[k]);
               count != nullptr && k + 1 < args.size()) {
      *count = shard_count(args[k], args[k + 1]);
      ++k;
    } else if (args[k] == "--cache" && k + 1 < args.size()) {
      options.cache = args[++k];
    } else if (args[k] == "--built-from" && k + 1 < args.size()) {
      options.built_from.emplace_back(args[++k]);
    } else if (args[k].starts_with("-") || !options.folder.empty()) {
      throw Error(fmt::format("unexpected argument '{}'", args[k]));
    } else {
      options.folder = args[k];
    }
  }
  if (!options.list && options.folder.empty()) throw Error("the output folder is missing");
  return options;
}

void run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Kernel> kernels = all_kernels();
  if (options.list) {
    for (const Kernel& k : kernels) fmt::print("{} {}\n", k.function, describe(k));
    return;
  }
  std::optional<TextCache> cache;
  if (options.cache) cache.emplace(*options.cache, options.built_from);
  emit_all(kernels, cache ? &*cache : nullptr);
  const int written = write_all(kernels, options);
  if (cache) cache->save();
  if (!options.timing) return;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  fmt::print("{} kernels, {} files written, {:.2f} s\n", kernels.size(), written, elapsed.count());
}

}  // namespace
}  // namespace mote

int main(int argc, char** argv) {
  mote::Options options;
  try {
    options = mote::parse({argv + 1, argv + argc});
  } catch (const mote::Error& e) {
    fmt::print(stderr, "mote-gen: {}\n{}", e.what(), mote::kUsage);
    return 2;
  }
  try {
    mote::run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "mote-gen: {}\n", e.what());
    return 1;
  }
  return 0;
}
