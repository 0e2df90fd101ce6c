/* Asks the processor once. */
#include "mote/generated/level.h"

#include <stdatomic.h>
#include <stdlib.h>

static int supported(void) {
#ifdef MOTE_X86_LEVELS
  __builtin_cpu_init();
  const int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                 __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl");
  return v4 ? 4 : v3 ? 3 : 0;
#else
  return 0;
#endif
}

int mote_level(void) {
  static atomic_int known = -1;
  int level = atomic_load_explicit(&known, memory_order_relaxed);
  if (level >= 0) return level;
  level = supported();
  const char *wanted = getenv("MOTE_LEVEL");
  if (wanted != NULL && *wanted != '\0') {
    const int most = atoi(wanted);
    if (most < level) level = most >= 3 ? 3 : 0;
  }
  atomic_store_explicit(&known, level, memory_order_relaxed);
  return level;
}
