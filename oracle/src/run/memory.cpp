// SPDX-License-Identifier: Apache-2.0
// Counts memory as run.cpp allocates it.
#include "mote/oracle/memory.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

#include "mote/base/error.h"
#include "run/buffer.h"
#include "run/near.h"

namespace mote {
namespace {

/// The minimum number of bytes that are left to other processes; an eighth of the available memory
/// is left if that is more.
constexpr std::int64_t kMargin = std::int64_t{256} << 20U;

struct Total {
  std::int64_t bytes = 0;
  void add(std::int64_t elements, DType dtype, std::int64_t copies) {
    std::int64_t each = 0;
    const auto factor = static_cast<std::int64_t>(size_of(dtype)) * copies;
    if (__builtin_mul_overflow(elements, factor, &each) ||
        __builtin_add_overflow(bytes, each, &bytes)) {
      throw Error("case needs 2^63 bytes or more");
    }
  }
};

std::int64_t buffer_elements(const CaseTensor& t) {
  std::int64_t elements = near_elements(t.shape, place(t.shape, t.layout), size_of(t.dtype));
  if (__builtin_add_overflow(elements, 2 * kGuardElements, &elements)) {
    throw Error("case needs 2^63 bytes or more");
  }
  return elements;
}

/// The bytes of "MemAvailable:  123 kB".
std::int64_t meminfo_available() {
  std::ifstream stream("/proc/meminfo");
  for (std::string key; stream >> key;) {
    std::int64_t kilobytes = 0;
    if (key == "MemAvailable:" && stream >> kilobytes) return kilobytes * 1024;
    stream.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<std::int64_t>::max();
}

std::optional<std::int64_t> read_number(const char* path) {
  std::ifstream stream(path);
  std::int64_t value = 0;
  return stream >> value ? std::optional(value) : std::nullopt;  // "max" is not a number
}

std::int64_t group_available() {
  const auto limit = read_number("/sys/fs/cgroup/memory.max");
  const auto used = read_number("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return std::numeric_limits<std::int64_t>::max();
  return std::max<std::int64_t>(*limit - *used, 0);
}

}  // namespace

std::int64_t bytes_needed(const Case& c, bool isolated) {
  const std::int64_t sites = isolated ? 2 : 1;
  Total total;
  for (const CaseTensor& t : c.inputs) {
    total.add(volume(t.shape), t.dtype, sites);     // the reference; other contents
    total.add(buffer_elements(t), t.dtype, sites);  // the subject's tensor
  }
  for (const CaseTensor& t : c.outputs) {
    total.add(volume(t.shape), t.dtype, 2 + sites);  // expected, first and second result
    total.add(buffer_elements(t), t.dtype, sites);
  }
  return total.bytes;
}

void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the maximum value
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 1 << 20);
#endif
}

std::int64_t bytes_available() {
  const std::int64_t there = std::min(meminfo_available(), group_available());
  return std::max<std::int64_t>(there - std::max(kMargin, there / 8), 0);
}

Memory check_memory(const Case& c, std::optional<std::int64_t> limit, bool isolated) {
  Memory memory;
  try {
    memory.needed = bytes_needed(c, isolated);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", c.target->op(), e.what()));
  }
  memory.available = limit.value_or(bytes_available());
  if (memory.needed <= memory.available) return memory;
  throw Error(fmt::format("{}: case needs {}, {} are available", c.target->op(),
                          format_bytes(memory.needed), format_bytes(memory.available)));
}

std::string Memory::refusal(const char* what, std::size_t bytes) const {
  const std::int64_t left = available - needed;
  if (bytes <= static_cast<std::size_t>(left)) return "";
  const auto shown = static_cast<std::int64_t>(
      std::min<std::size_t>(bytes, std::numeric_limits<std::int64_t>::max()));
  return fmt::format("{} needs {}, {} are available", what, format_bytes(shown),
                     format_bytes(left));
}

std::string format_bytes(std::int64_t bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                        "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace mote
