// NVRTC, NVIDIA's compiler as a library, loaded at run time where there is one. It needs no GPU and
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

/// What a kernel, or a function that kernels call, takes of a multiprocessor, as ptxas reports it;
/// bytes, but for registers.
struct KernelResources {
  int registers = 0;
  int shared = 0;
  int stack = 0;  ///< local memory of a thread, spills among it; a kernel's has its callees'
                  ///< where these are functions of their own
  int spill_stores = 0;
  int spill_loads = 0;
};

struct Compiled {
  std::string cubin;
  std::string log;
};
/// How hard the compiler tries. Quick is for the variant oracle: it fuses no product into a sum,
/// and leaves out the compiler's dearest optimisations (--Ofast-compile=min, NVRTC 12.9 and later):
/// a third of the time, since loops are not unrolled then.
enum class Effort : std::uint8_t { quick, full };
/// From the log, by function.
std::map<std::string, KernelResources> resources_in(const std::string& log);

class Nvrtc {
 public:
  /// Loads $MOTE_NVRTC, else libnvrtc.so.13 or .12 where the loader, $CUDA_HOME or /usr/local/cuda
  /// has it. nullptr, with the reason in `why`.
  static std::shared_ptr<const Nvrtc> find(std::string& why);
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  std::string version() const;  ///< "13.0"
  /// Version and options: "NVRTC 13.0 --gpu-architecture=sm_90 …".
  std::string description(int architecture, Effort effort) const;
  const std::string& path() const { return path_; }
  /// Whether it compiles for sm_<architecture>.
  bool knows(int architecture) const;
  /// The source may include mote_cuda.h. Throws Error with the compiler's log.
  Compiled compile(const std::string& source, int architecture, Effort effort) const;
  /// The same, from the cache where it was made before from the same key, compiler and options.
  template <typename Source>
  Compiled compile_cached(const FileCache& cache, const std::string& key, int architecture,
                          Effort effort, const Source& source) const {
    const std::string whole = cache_key(key, architecture, effort);
    if (auto known = from_cache(cache, whole)) return *std::move(known);
    Compiled made = compile(source(), architecture, effort);
    keep(cache, whole, made);
    return made;
  }

 private:
  struct Functions;
  Nvrtc();
  std::vector<std::string> options_for(int architecture, Effort effort) const;
  std::string cache_key(const std::string& key, int architecture, Effort effort) const;
  static std::optional<Compiled> from_cache(const FileCache& cache, const std::string& key);
  static void keep(const FileCache& cache, const std::string& key, const Compiled& made);

  std::string path_;
  std::unique_ptr<Functions> functions_;
};

}  // namespace mote::cuda
