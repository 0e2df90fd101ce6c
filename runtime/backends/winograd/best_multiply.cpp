// SPDX-License-Identifier: Apache-2.0
#include "multiply.h"

namespace mote::winograd {

Multiply* best_multiply() {
#ifdef MOTE_X86_LEVELS
  static Multiply* const best = [] {
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v4 ? multiply_v4 : v3 ? multiply_v3 : multiply_v0;
  }();
  return best;
#else
  return multiply_v0;
#endif
}

}  // namespace mote::winograd
