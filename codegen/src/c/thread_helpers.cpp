// SPDX-License-Identifier: Apache-2.0
// The helpers of gen kernels for threads of the host: the threads' numbers, and reductions that
// OpenMP lacks.
#include <array>

#include "c/helpers.h"

namespace mote::emit {
namespace {

constexpr std::array kThreadHelpers = std::to_array<Helper>({
    {.name = "mote_threads",
     .head = "/* How many threads there may be, and which one this is. */\n",
     .function = R"(int64_t mote_threads(void) {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}
)"},
    {.name = "mote_thread", .function = R"(int64_t mote_thread(void) {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}
)"},
    {.name = "mote_part",
     .storage = Storage::cold,
     .head = "/* The iterations of a thread's part, a multiple of the least, if each thread has one. */\n",
     .function = R"(int64_t mote_part(int64_t all, int64_t least) {
#ifdef _OPENMP
  const int64_t threads = omp_get_level() > 0 ? omp_get_num_threads() : omp_get_max_threads();
#else
  const int64_t threads = 1;
#endif
  const int64_t part = ((all + least - 1) / least + threads - 1) / threads * least;
  return part < least ? least : part;
}
)"},
    {.name = "MOTE_VECTOR_BYTES",
     .storage = Storage::none,
     .head = "/* The size of the vector registers that the compiler may use. */\n",
     .function = R"(#if defined(__AVX512F__)
#define MOTE_VECTOR_BYTES 64
#elif defined(__AVX__)
#define MOTE_VECTOR_BYTES 32
#else
#define MOTE_VECTOR_BYTES 16
#endif
)"},
    {.name = "MOTE_LANES",
     .storage = Storage::none,
     .calls = {"MOTE_VECTOR_BYTES"},
     .head = "/* The floats of a vector; the functions below combine those of the lanes, half of them at a\n"
             " * time. */\n",
     .function = R"(#define MOTE_LANES (MOTE_VECTOR_BYTES / 4)
)"},
    {.name = "mote_sum_of_lanes",
     .storage = Storage::always_inline,
     .calls = {"MOTE_LANES"},
     .function = R"(float mote_sum_of_lanes(float *lanes) {
#if MOTE_LANES > 8
  for (int k = 0; k < 8; k++) lanes[k] = lanes[k] + lanes[k + 8];
#endif
#if MOTE_LANES > 4
  for (int k = 0; k < 4; k++) lanes[k] = lanes[k] + lanes[k + 4];
#endif
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}
)"},
    {.name = "mote_max_of_lanes",
     .storage = Storage::always_inline,
     .calls = {"MOTE_LANES", "mote_maxf"},
     .function = R"(float mote_max_of_lanes(float *lanes) {
#if MOTE_LANES > 8
  for (int k = 0; k < 8; k++) lanes[k] = mote_maxf(lanes[k], lanes[k + 8]);
#endif
#if MOTE_LANES > 4
  for (int k = 0; k < 4; k++) lanes[k] = mote_maxf(lanes[k], lanes[k + 4]);
#endif
  return mote_maxf(mote_maxf(lanes[0], lanes[2]), mote_maxf(lanes[1], lanes[3]));
}
)"},
    {.name = "mote_min_of_lanes",
     .storage = Storage::always_inline,
     .calls = {"MOTE_LANES", "mote_minf"},
     .function = R"(float mote_min_of_lanes(float *lanes) {
#if MOTE_LANES > 8
  for (int k = 0; k < 8; k++) lanes[k] = mote_minf(lanes[k], lanes[k + 8]);
#endif
#if MOTE_LANES > 4
  for (int k = 0; k < 4; k++) lanes[k] = mote_minf(lanes[k], lanes[k + 4]);
#endif
  return mote_minf(mote_minf(lanes[0], lanes[2]), mote_minf(lanes[1], lanes[3]));
}
)"},
    {.name = "reduction mote_minf",
     .storage = Storage::none,
     .calls = {"mote_minf"},
     .function = R"(#ifdef _OPENMP
#pragma omp declare reduction(mote_minf : float : omp_out = mote_minf(omp_out, omp_in)) \
    initializer(omp_priv = INFINITY)
#endif
)"},
    {.name = "reduction mote_maxf",
     .storage = Storage::none,
     .calls = {"mote_maxf"},
     .function = R"(#ifdef _OPENMP
#pragma omp declare reduction(mote_maxf : float : omp_out = mote_maxf(omp_out, omp_in)) \
    initializer(omp_priv = -INFINITY)
#endif
)"},
    {.name = "reduction mote_min",
     .storage = Storage::none,
     .calls = {"mote_min"},
     .function = R"(#ifdef _OPENMP
#pragma omp declare reduction(mote_min : double : omp_out = mote_min(omp_out, omp_in)) \
    initializer(omp_priv = INFINITY)
#endif
)"},
    {.name = "reduction mote_max",
     .storage = Storage::none,
     .calls = {"mote_max"},
     .function = R"(#ifdef _OPENMP
#pragma omp declare reduction(mote_max : double : omp_out = mote_max(omp_out, omp_in)) \
    initializer(omp_priv = -INFINITY)
#endif
)"},
});

}  // namespace

std::span<const Helper> thread_helpers() { return kThreadHelpers; }

}  // namespace mote::emit
