// SPDX-License-Identifier: Apache-2.0
// Memory that this process shares with its workers, at the same address in each: control memory
// (the current question), and the room for tensors. It exists before a worker is forked. In a
// worker the room is closed except for the tensors of the current call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mote::isolate {

class Arena {
 public:
  /// Throws Error when the system gives no such memory.
  Arena();
  /// Maps the arena of another process at the same address. Throws Error if that is taken.
  Arena(int file, char* base);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int file() const { return file_; }
  char* base() const { return base_; }
  std::span<char> control() const { return {base_, kControlBytes}; }
  std::span<char> room() const { return {base_ + kControlBytes, kBytes - kControlBytes}; }
  /// The bytes that any process has touched and that were not given back.
  std::int64_t taken() const;
  /// Returns the pages from `first_free` on to the system if there may be many.
  void give_back(const char* first_free);

 private:
  static constexpr std::size_t kControlBytes = std::size_t{4} << 20U;
  static constexpr std::size_t kBytes = std::size_t{1} << 38U;  ///< addresses, not memory
  int file_ = -1;
  char* base_ = nullptr;
};

constexpr std::size_t kPage = 4096;

}  // namespace mote::isolate
