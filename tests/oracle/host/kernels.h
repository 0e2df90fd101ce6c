// SPDX-License-Identifier: Apache-2.0
// Functions of the op sum (f32) that share their rows among threads; each has a wrong twin, which
// leaves out the last term of a row. They lie in separate libraries, with two different OpenMP
// runtimes.
#pragma once

#include <cstdint>

extern "C" {
using HostStrides = const std::int64_t*;

int openmp_sum(const float* x, HostStrides sx, float* y, HostStrides sy, std::int64_t R,
               std::int64_t N, std::int64_t C);
int openmp_sum_short(const float* x, HostStrides sx, float* y, HostStrides sy, std::int64_t R,
                     std::int64_t N, std::int64_t C);
/// Returns the path of the library that its parallel loops call.
const char* openmp_runtime();
/// Returns the number of threads that a parallel region had.
int openmp_threads();

/// Runs on a pool that begins with the first call and waits on a condition.
int pool_sum(const float* x, HostStrides sx, float* y, HostStrides sy, std::int64_t R,
             std::int64_t N, std::int64_t C);
int pool_sum_short(const float* x, HostStrides sx, float* y, HostStrides sy, std::int64_t R,
                   std::int64_t N, std::int64_t C);
}
