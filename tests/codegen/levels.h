// SPDX-License-Identifier: Apache-2.0
// What tests of emitted text in vectors share: the levels of vectors that this processor has, and
// memory behind which nothing may be read.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mote::test {

/// Elements of which the last ends where a closed page begins.
template <typename T>
class ClosedMemory {
 public:
  explicit ClosedMemory(std::int64_t count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    open_ = (bytes + page - 1) / page * page + page;
    void* all =
        mmap(nullptr, open_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages_ = static_cast<char*>(all == MAP_FAILED ? nullptr : all);
    closed_ = page;
    if (pages_ != nullptr) mprotect(pages_ + open_, page, PROT_NONE);
    first_ = reinterpret_cast<T*>(pages_ + open_ - bytes);
  }
  ~ClosedMemory() { munmap(pages_, open_ + closed_); }
  ClosedMemory(const ClosedMemory&) = delete;
  ClosedMemory& operator=(const ClosedMemory&) = delete;
  T* data() const { return first_; }
  T& operator[](std::int64_t k) const { return first_[k]; }

 private:
  char* pages_ = nullptr;
  std::size_t open_ = 0, closed_ = 0;
  T* first_ = nullptr;
};

/// The flags of each level of vectors that this processor has.
inline std::vector<std::string> levels() {
  std::vector<std::string> all = {""};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    all.push_back("-march=x86-64-v3");
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    all.push_back("-march=x86-64-v4");
#endif
  return all;
}

inline std::string with_vectors(const std::string& level) {
  return level + " -ftree-vectorize -fopenmp";
}

}  // namespace mote::test
