// SPDX-License-Identifier: Apache-2.0
/* Detects the processor's level once. */
#include "mote/generated/level.h"

#ifdef MOTE_X86_LEVELS
#include <cpuid.h>
#endif
#include <stdatomic.h>
#include <stdlib.h>

#ifdef MOTE_X86_LEVELS
/* Tests the features of level 3 that older clangs cannot test by name; supported() tests the
 * others. */
static int supports_the_rest_of_v3(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  if ((c & bit_MOVBE) == 0 || (c & bit_F16C) == 0) return 0;
  return __get_cpuid(0x80000001u, &a, &b, &c, &d) && (c & bit_LZCNT) != 0;
}
#endif

static int supported(void) {
#ifdef MOTE_X86_LEVELS
  __builtin_cpu_init();
  const int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                 __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                 __builtin_cpu_supports("popcnt") && supports_the_rest_of_v3();
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
