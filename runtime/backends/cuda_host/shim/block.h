// SPDX-License-Identifier: Apache-2.0
// The threads of one block: which are ready, and what the others wait for.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch.h"
#include "sanitize.h"

namespace mote::shim {

/// The set of ready threads. A block has up to 1024, and one is chosen at each switch.
class ReadyThreads {
 public:
  void add(int number);
  bool empty() const { return count_ == 0; }
  int take_first();
  int take_last();
  /// Takes the first thread from this number on, or the first of all if there is none.
  int take_from(int number);

 private:
  static constexpr int kWordBits = 64;
  void remove(int number);
  std::array<std::uint64_t, 16> words_{};
  int count_ = 0;
};

class Block {
 public:
  Block(const Shape& shape, const Options& options, const std::function<void()>& kernel);

  /// Runs the block at this position. Returns the error, or an empty string.
  std::string run(uint3 block);

  // These functions are for the thread that runs.
  const mote_host_position& position() const { return position_; }
  void barrier(int line);
  bool barrier_or(bool predicate, int line);
  void sync_warp(unsigned mask, int line);
  std::uint64_t shuffle(unsigned mask, std::uint64_t value, int source, int line);
  unsigned ballot(unsigned mask, bool predicate, int line);
  /// Starts a copy, which may be made at once or when its thread waits for it: forward order does
  /// the former, reverse order the latter.
  void copy(void* to, const void* from, int size, int bytes, int line);
  void end_copies();
  void wait_for_copies(int groups);
  void* dynamic_shared() { return dynamic_.data(); }
  /// Reports an error that the kernel's own code has found.
  void refuse(const char* what) {
    meet([&] { return std::string(what); });
  }

  std::uint64_t random();

 private:
  struct Copy {
    void* to;
    const void* from;
    int size;
    int bytes;  ///< the number of bytes read; zeros follow them
    int group;
  };
  struct Thread {
    int number = 0;
    uint3 index{};
    Fibre* fibre = nullptr;
    bool done = false;
    std::vector<Copy> copies = {};  ///< copies that are not made yet
    int group = 0;                  ///< the open group of copies
    bool is_waited_for = true;      ///< whether all copies were waited for
  };
  struct Warp {
    unsigned arrived = 0;
    unsigned ended = 0;
    unsigned mask = 0;
    int line = 0;
    std::vector<int> waiting;
    unsigned round = 0;
    std::uint64_t values[2][32] = {};  ///< of this exchange and the previous one, which lanes may
                                       ///< still read
    char locations[2] = {};            ///< the addresses at which lanes wait for one another
  };

  static void entry(void* block);
  static void make(const Copy& copy);
  [[noreturn]] void fail(std::string& what);
  template <typename Come>
  void meet(const Come& come);
  void make_ready(std::vector<int>& threads);
  int next();
  void poison();
  void wait();
  void end();
  void release_barrier();
  Warp& warp();
  std::string come_to_barrier(int line);
  std::string come_to_warp(unsigned mask, int line);
  std::string stuck() const;
  static std::string lane_text(const Thread& t);

  const Shape& shape_;
  const Options& options_;
  const std::function<void()>& kernel_;
  mote_host_position position_{};
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  ReadyThreads ready_;
  std::vector<int> at_barrier_;
  int barrier_line_ = 0;
  unsigned barrier_round_ = 0;
  char barrier_locations_[2] = {};  ///< where threads wait for one another, at this barrier and the
                                    ///< previous one
  bool any_coming_ = false;         ///< a predicate of the threads at the barrier
  bool any_released_ = false;       ///< the result for the threads that left it last
  int live_ = 0;
  Thread* current_ = nullptr;
  std::string error_;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<Fibre*> free_;
  std::vector<Fibre*> ended_;  ///< fibres that ended and are not free yet
  std::vector<char> dynamic_;
  std::uint64_t state_;
};

/// Calls come(), which returns an error or an empty string, and fails with the error.
template <typename Come>
void Block::meet(const Come& come) {
  std::string wrong;
  {
    const Unseen notes;
    wrong = come();
  }
  if (!wrong.empty()) fail(wrong);
}

}  // namespace mote::shim
