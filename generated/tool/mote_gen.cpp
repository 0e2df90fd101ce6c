// SPDX-License-Identifier: Apache-2.0
// mote-gen: writes kernels as C. In: the catalogue, or with --library the ops that were added to
// it; out: a folder with helpers, K shards of kernels, shards of their gen variants, the same for
// gradients, and the tables that mote/base/registry.h and ops.h declare. A file is written only if
// its text changed, so that a build compiles nothing that it has compiled before.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "functions_text.h"
#include "generate.h"
#include "kernel_text.h"
#include "library_text.h"
#include "mote/base/error.h"
#include "mote/generator/generator.h"
#include "ops_text.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

struct Options {
  fs::path folder;
  int shards = 8;
  int gen_shards = 4;
  int gradient_shards = 4;
  std::optional<fs::path> cache;     ///< texts of earlier runs
  std::vector<fs::path> built_from;  ///< files that the generator was built from
  std::string library = {};          ///< the name of the library of added ops; empty: the catalogue
  bool list = false;
  bool timing = false;
};

/// Returns the kernels, sorted by op, dtype, mask.
std::vector<Kernel> all_kernels(const std::string& library) {
  std::vector<Kernel> kernels;
  const std::string prefix = library.empty() ? "mote_" : library + "_";
  const auto add = [&](const OpRecord* record) {
    for (const Instance& instance : instances(*record))
      kernels.push_back({record, instance, prefix + instance_name(*record, instance)});
  };
  if (library.empty())
    std::ranges::for_each(generated_ops(), add);
  else
    std::ranges::for_each(added_ops(), add);
  std::ranges::sort(kernels, {}, [](const Kernel& k) {
    return std::tuple(k.record->name, name(k.instance.dtype), k.instance.input_mask);
  });
  return kernels;
}

std::string describe(const Kernel& k) {
  return fmt::format("{} {} inputs {:#x}", k.record->name, name(k.instance.dtype),
                     k.instance.input_mask);
}

/// Returns the ops that have rows in the table of ops: those with kernels.
std::vector<const OpRecord*> described_ops(const std::string& library) {
  if (!library.empty()) return added_ops();
  std::vector<const OpRecord*> ops;
  std::ranges::remove_copy_if(generated_ops(), std::back_inserter(ops),
                              [](const OpRecord* op) { return is_added(*op); });
  return ops;
}

/// Writes all files and returns how many changed.
int write_all(const std::vector<Kernel>& kernels, const Options& options) {
  int written = 0;
  const auto put = [&](const std::string& file, const std::string& text) {
    written += write_if_changed(options.folder / file, text) ? 1 : 0;
  };
  put("mote_helpers.h", helpers_text());
  put("mote_gen_helpers.h", gen_helpers_text());
  for (int shard = 0; shard < options.shards; ++shard)
    put(fmt::format("mote_kernels_{}.c", shard),
        shard_text(kernels, Part::ops, shard, options.shards));
  for (int shard = 0; shard < options.gen_shards; ++shard)
    put(fmt::format("mote_gen_{}.c", shard),
        gen_shard_text(kernels, Part::ops, shard, options.gen_shards));
  for (int shard = 0; shard < options.gradient_shards; ++shard) {
    put(fmt::format("mote_gradients_{}.c", shard),
        shard_text(kernels, Part::gradients, shard, options.gradient_shards));
    put(fmt::format("mote_gen_gradients_{}.c", shard),
        gen_shard_text(kernels, Part::gradients, shard, options.gradient_shards));
  }
  put("dispatch.c", dispatch_text(kernels));
  const std::string prefix = options.library.empty() ? "mote" : options.library;
  put("registry.c", registry_text(kernels, prefix + "_generated_kernel"));
  const std::vector<const OpRecord*> ops = described_ops(options.library);
  put("ops.c", ops_text(ops, prefix + "_op"));
  if (options.library.empty()) {
    fs::create_directories(options.folder / "include/mote/dynamic");
    put("include/mote/dynamic/ops.h", functions_text(ops));
  } else {
    put(options.library + ".h", library_header_text(options.library));
    const std::size_t rows = 2 * kernels.size();  // two variants of each
    const auto gradients = std::ranges::count_if(ops, [](const OpRecord* op) {
      return gradient_order(*op) > 0;  // each is the gradient of one op
    });
    put("library.c",
        library_text(options.library, rows, ops.size(), static_cast<std::size_t>(gradients)));
    put("plugin.c", plugin_text(options.library, rows));
  }
  return written;
}

constexpr const char* kUsage =
    "usage: mote-gen [--shards K] [--gen-shards K] [--gradient-shards K] [--timing]\n"
    "                [--cache FILE [--built-from FILE]...] [--library NAME] FOLDER\n"
    "           write the kernels' C to FOLDER; FILE keeps it for the next run of a generator "
    "that\n"
    "           is built from the same files; --library: of the ops that were added to the\n"
    "           catalogue, with tables and functions of that name\n"
    "       mote-gen --list\n"
    "           print the kernels\n";

/// Returns the text if it is a name in C: names of functions and tables begin with it. Throws Error
/// otherwise.
std::string library_name(const std::string& text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool is_name =
      !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, [&](char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
      });
  if (!is_name || text == "mote")
    throw Error(
        fmt::format("--library takes a name of letters, digits and _, not 'mote'; got '{}'", text));
  return text;
}

int shard_count(const std::string& option, const std::string& text) {
  int count = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failed != std::errc() || end != text.data() + text.size() || count < 1 || count > 1000)
    throw Error(fmt::format("{} takes a number in 1..1000, got '{}'", option, text));
  return count;
}

int* count_named(Options& options, const std::string& argument) {
  if (argument == "--shards") return &options.shards;
  if (argument == "--gen-shards" || argument == "--fast-shards")  // the old name, until 0.4
    return &options.gen_shards;
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
    } else if (args[k] == "--library" && k + 1 < args.size()) {
      options.library = library_name(args[++k]);
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
  std::vector<Kernel> kernels = all_kernels(options.library);
  if (kernels.empty()) throw Error("there are no ops to make kernels of");
  if (options.list) {
    for (const Kernel& k : kernels) fmt::print("{} {}\n", k.function, describe(k));
    return;
  }
  fs::create_directories(options.folder);  // fails before the work that would be lost
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

int generator_main(int argc, char** argv) {
  Options options;
  try {
    options = parse({argv + 1, argv + argc});
  } catch (const Error& e) {
    fmt::print(stderr, "mote-gen: {}\n{}", e.what(), kUsage);
    return 2;
  }
  try {
    run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "mote-gen: {}\n", e.what());
    return 1;
  }
  return 0;
}

}  // namespace mote
