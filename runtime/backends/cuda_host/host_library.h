// SPDX-License-Identifier: Apache-2.0
// Kernels compiled for the host, at run time, by the C++ compiler of the machine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda/catalogue_kernels.h"
#include "cuda/plan.h"
#include "shim/launch.h"

namespace mote::cuda_host {

/// The limits are small, so that small cases have threads with several iterations and blocks with
/// idle threads, and use tiles.
inline constexpr cuda::Grid kGrid = {.threads = 32,
                                     .least_side = 3,
                                     .least_pipelined_tiles = 1,
                                     .least_row = 3,
                                     .least_map_row = 5,
                                     .least_terms = 4,
                                     .most_blocks = 3,
                                     .most_bytes = std::int64_t{64} << 20};

/// The loaded kernels of one library.
struct HostLibrary {
  std::shared_ptr<void> handle;
  std::map<std::string, void (*)(void**)> kernels;
  char* shared_begin = nullptr;
  char* shared_end = nullptr;
};

/// Returns a library that holds the kernels, as C++; `text` is theirs, with helpers.
std::string host_source(const std::vector<std::string>& kernels, const std::string& text);

/// Compiles host_source() with $CXX or `c++`, or takes the result of an earlier run with the same
/// key, and loads it. Throws Error with the compiler's first messages.
HostLibrary compile_for_host(const std::string& key, const std::function<std::string()>& source);

/// Returns the library with the variant of all instances of the op, and of some other ops, compiled
/// at the first call. Throws Error.
const HostLibrary& library_of(const cuda::OpInstance& instance, cuda::Variant variant);

/// Runs a kernel of the library. Returns the error, or an empty string.
std::string run_launch(const HostLibrary& library, cuda::Launch& launch,
                       const shim::Options& options);

}  // namespace mote::cuda_host
