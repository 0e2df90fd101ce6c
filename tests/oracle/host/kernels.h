// SPDX-License-Identifier: Apache-2.0
// Functions of the op sum (f32) that share their rows among threads; each has a wrong twin, which
// leaves the last term of a row out. They lie in libraries of their own, one of which runs on another
// OpenMP than the other.
#pragma once

#include <cstdint>

extern "C" {
using HostStrides = const std::int64_t*;

int openmp_sum(const float* x, HostStrides sx, float* y, HostStrides sy, std::int64_t R,
               std::int64_t N, std::int64_t C);
int openmp_sum_short(const float* x, HostStrides sx, float* y, HostStrides sy, std::int64_t R,
                     std::int64_t N, std::int64_t C);
/// The path of the library that its parallel loops call.
const char* openmp_runtime();
/// Threads that a parallel region has had.
int openmp_threads();

/// A pool that begins with the first call and waits on a condition.
int pool_sum(const float* x, HostStrides sx, float* y, HostStrides sy, std::int64_t R,
             std::int64_t N, std::int64_t C);
int pool_sum_short(const float* x, HostStrides sx, float* y, HostStrides sy, std::int64_t R,
                   std::int64_t N, std::int64_t C);
}
