// SPDX-License-Identifier: Apache-2.0
// NVRTC, NVIDIA's compiler as a library, loaded at run time if it is installed. It needs no GPU and
// no driver.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "file_cache.h"

namespace mote::cuda {

/// The resources of a multiprocessor that a kernel, or a function that kernels call, uses, as ptxas
/// reports them; in bytes, except for registers.
struct KernelResources {
  int registers = 0;
  int shared = 0;
  int stack = 0;  ///< local memory of a thread, including spills; a kernel's includes that of its
                  ///< callees if these are separate functions
  int spill_stores = 0;
  int spill_loads = 0;
};

/// The target of a compilation.
struct Target {
  int architecture = 0;  ///< 90: sm_90
  /// The code is PTX, which drivers compile for that architecture and later ones; else it is a
  /// cubin, which GPUs of that architecture run, and later ones of its generation.
  bool is_ptx = false;
};
struct Compiled {
  std::string code;  ///< the form that the driver loads
  std::string log;
};
/// The compiler's effort. Quick is for the variant reference: it fuses no product into a sum, and
/// leaves out the compiler's most expensive optimisations (--Ofast-compile=min, NVRTC 12.9 and
/// later), which takes a third of the time, since loops are not unrolled then.
enum class Effort : std::uint8_t { quick, full };
/// Reads the resources of each function from the log.
std::map<std::string, KernelResources> resources_in(const std::string& log);

class Nvrtc {
 public:
  /// Loads $MOTE_NVRTC, else libnvrtc.so.13 or .12 from the loader's path, $CUDA_HOME or
  /// /usr/local/cuda. With a driver's version (12080: CUDA 12.8) it takes a library whose code that
  /// driver takes: of no later major version. Returns nullptr, with the reason in `why`, if there
  /// is none.
  static std::shared_ptr<const Nvrtc> find(std::string& why, std::optional<int> driver = {});
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  std::string version() const;  ///< "13.0"
  /// Returns version and options: "NVRTC 13.0 --gpu-architecture=sm_90 …".
  std::string description(const Target& target, Effort effort) const;
  const std::string& path() const { return path_; }
  /// Returns the architectures that it compiles for.
  std::vector<int> architectures() const;
  /// Compiles; the source may include mote_cuda.h. Throws Error with the compiler's log.
  Compiled compile(const std::string& source, const Target& target, Effort effort) const;
  /// Compiles, or takes the result from the cache if it was made before with the same key, compiler
  /// and options.
  template <typename Source>
  Compiled compile_cached(const FileCache& cache, const std::string& key, const Target& target,
                          Effort effort, const Source& source) const {
    const std::string whole = cache_key(key, target, effort);
    if (auto known = from_cache(cache, whole)) return *std::move(known);
    Compiled made = compile(source(), target, effort);
    keep(cache, whole, made);
    return made;
  }

 private:
  struct Functions;
  Nvrtc();
  std::pair<int, int> numbers() const;  ///< the version's numbers
  std::vector<std::string> options_for(const Target& target, Effort effort) const;
  std::string cache_key(const std::string& key, const Target& target, Effort effort) const;
  static std::optional<Compiled> from_cache(const FileCache& cache, const std::string& key);
  static void keep(const FileCache& cache, const std::string& key, const Compiled& made);

  std::string path_;
  std::unique_ptr<Functions> functions_;
};

}  // namespace mote::cuda
