// SPDX-License-Identifier: Apache-2.0
// Measures the limits of this machine with a number of threads, the roofline: multiply-adds in
// registers, reads of and copies within each level of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/work.h"
#include "mote/base/dtype.h"

namespace mote::tool {

/// The loops that are measured, at one width of vectors.
struct PeakLoops {
  int bytes;                                         ///< of a vector
  double (*multiply_adds_f32)(std::int64_t rounds);  ///< 12 vector multiply-adds a round
  double (*multiply_adds_f64)(std::int64_t rounds);
  std::uint64_t (*read)(const void* memory, std::size_t bytes);
};
extern const PeakLoops kPeakV0;
extern const PeakLoops kPeakV3;
extern const PeakLoops kPeakV4;

/// A level of memory.
struct MemoryLevel {
  std::string name;     ///< "L1", "L2", "L3", "DRAM"
  double capacity = 0;  ///< bytes for all threads; infinite for DRAM
  double read = 0;      ///< bytes a second
  double copy = 0;      ///< bytes a second, both those read and those written
};

struct MachineLimits {
  int level = 0;  ///< of x86-64, as gen's kernels use it
  int threads = 1;
  double f32 = 0;  ///< operations a second; a multiply-add is two
  double f64 = 0;
  std::vector<MemoryLevel> memory;  ///< from the smallest
};

/// Measures this machine once for each number of threads, in about a second.
const MachineLimits& machine_with(int threads);

/// The least time that the work can take on the machine, again and again on the same data.
struct WorkLimit {
  double seconds = 0;
  std::string name;            ///< "FMA", or the level of memory that takes most of the time
  bool is_arithmetic = false;  ///< the limit is the peak of operations, not memory
};
/// The time is the greater of operations / peak and of the time for memory. There, each level holds
/// as much of the data as it can beyond the smaller levels, and a written byte costs what a copy
/// takes beyond its read. Reals of 16 bits have the peak of f32, in which they are computed;
/// integers have none.
WorkLimit limit_of(const MachineLimits& machine, const OpWork& work, DType dtype);

}  // namespace mote::tool
