// What the generators share: texts made on all cores, files that are written only where they
// changed, and the choice of a shard.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "mote/base/error.h"
#include "mote/macroops/catalogue.h"

namespace mote {

/// All kernels of an op share a shard, so that an edit of the op compiles one file again; which one
/// depends on the op's name alone, so that a new op moves no other.
int shard_of(const OpRecord& record, int shards);

/// True if the file had another text, or was not there. Throws Error where it cannot be written.
bool write_if_changed(const std::filesystem::path& path, const std::string& text);

/// emit(k) for every kernel, on as many threads as there are cores. Throws Error with the kernel's
/// function for the first that fails.
template <typename Kernel>
void emit_all(std::vector<Kernel>& kernels) {
  std::vector<std::exception_ptr> failures(kernels.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t k = next++; k < kernels.size(); k = next++) {
      try {
        emit(kernels[k]);
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
