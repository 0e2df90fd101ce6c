// SPDX-License-Identifier: Apache-2.0
// Helpers that the generators share: texts made on all cores, files that are written only if they
// changed, and the choice of a shard.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mote/base/error.h"
#include "mote/macroops/catalogue.h"
#include "text_cache.h"

namespace mote {

/// Returns the shard of all kernels of the op, so that an edit of the op recompiles one file; it
/// depends on the op's name alone, so that a new op moves no other.
int shard_of(const OpRecord& record, int shards);

/// Returns the kernel's function, the names of its record's inputs, parameters and optional
/// outputs, and its program, as text.
std::string made_from(const std::string& function, const OpRecord& record, const Program& program);

/// Returns the bytes of a file; none if it cannot be read.
std::string read_file(const std::filesystem::path& path);
std::uint64_t hash_of(std::string_view bytes);  ///< FNV-1a

/// Returns true if the file had another text, or did not exist. Throws Error if it cannot be
/// written.
bool write_if_changed(const std::filesystem::path& path, const std::string& text);

/// Fills in the kernel's texts; takes them from the cache if an earlier run made them from the same
/// inputs.
template <typename Kernel>
void emit_cached(Kernel& kernel, TextCache* cache) {
  const std::string key = made_from(kernel);
  const std::vector<std::string*> into = texts(kernel);
  if (const auto known = cache != nullptr ? cache->find(key) : std::nullopt;
      known && known->size() == into.size()) {
    for (std::size_t k = 0; k < into.size(); ++k) *into[k] = (*known)[k];
    return;
  }
  emit_kernel(kernel);
  if (cache == nullptr) return;
  std::vector<std::string> made;
  for (const std::string* text : into) made.push_back(*text);
  cache->put(key, made);
}

/// Calls emit_cached() for every kernel, on as many threads as there are cores. Throws Error with
/// the kernel's function for the first that fails.
template <typename Kernel>
void emit_all(std::vector<Kernel>& kernels, TextCache* cache = nullptr) {
  std::vector<std::exception_ptr> failures(kernels.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t k = next++; k < kernels.size(); k = next++) {
      try {
        emit_cached(kernels[k], cache);
      } catch (...) {
        failures[k] = std::current_exception();
      }
    }
  };
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
  std::vector<std::thread> workers;
  for (unsigned k = 1; k < count; ++k) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (!failures[k]) continue;
    try {
      std::rethrow_exception(failures[k]);
    } catch (const std::exception& e) {
      throw Error(fmt::format("{}: {}", kernels[k].function, e.what()));
    }
  }
}

}  // namespace mote
