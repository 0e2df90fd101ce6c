// SPDX-License-Identifier: Apache-2.0
#include "bench/threads.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "mote/generated/level.h"

namespace mote::tool {

void set_kernel_threads(int threads) {
  const std::string number = std::to_string(threads);
  setenv("OMP_NUM_THREADS", number.c_str(), 1);
  setenv("OPENBLAS_NUM_THREADS", number.c_str(), 1);
  if (mote_level() == 4) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  // The process holds OpenMP's library if a kernel needs it; the tool itself does not.
  using SetThreads = void (*)(int);
  const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set != nullptr) set(threads);
}

int most_threads() { return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U)); }

}  // namespace mote::tool
