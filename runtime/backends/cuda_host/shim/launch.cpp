// SPDX-License-Identifier: Apache-2.0
// Launches a grid: its blocks run in the chosen order.
#include "launch.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "block.h"
#include "sanitize.h"

namespace mote::shim {
namespace {

Block* block = nullptr;  // the block of the current launch
std::mutex launching;

constexpr mote_host_calls kCalls = {
    .position = [] { return &block->position(); },
    .barrier = [](int line) { block->barrier(line); },
    .barrier_or = [](int predicate,
                     int line) { return block->barrier_or(predicate != 0, line) ? 1 : 0; },
    .sync_warp = [](unsigned mask, int line) { block->sync_warp(mask, line); },
    .shuffle = [](unsigned mask, std::uint64_t value, int source,
                  int line) { return block->shuffle(mask, value, source, line); },
    .ballot = [](unsigned mask, int predicate,
                 int line) { return block->ballot(mask, predicate != 0, line); },
    .copy = [](void* to, const void* from, int size, int bytes,
               int line) { block->copy(to, from, size, bytes, line); },
    .end_copies = [] { block->end_copies(); },
    .wait_for_copies = [](int groups) { block->wait_for_copies(groups); },
    .dynamic_shared = [] { return block->dynamic_shared(); },
    .fail =
        [](const char* what) {
          if (block != nullptr) block->refuse(what);
        },
};

/// The numbers of a grid's blocks, each once. They are steps of equal length modulo the number of
/// blocks, so that the largest grid takes no memory; a random order of a small grid is a full
/// permutation.
class BlockOrder {
 public:
  BlockOrder(std::uint64_t count, Order order, Block& from) : count_(count) {
    if (order == Order::reverse) {
      at_ = step_ = count - 1;
    } else if (order == Order::random && count <= kMaxDrawn) {
      draw(from);
    } else if (order == Order::random) {
      at_ = from.random() % count;
      do step_ = from.random() % count;
      while (std::gcd(step_, count) != 1);
    }
  }
  std::uint64_t next() {
    const std::uint64_t now = at_;
    at_ = (at_ + step_) % count_;  // a grid has less than 2^63 blocks
    return drawn_.empty() ? now : drawn_[static_cast<std::size_t>(now)];
  }

 private:
  static constexpr std::uint64_t kMaxDrawn = 1U << 16U;
  void draw(Block& from) {
    drawn_.resize(static_cast<std::size_t>(count_));
    std::iota(drawn_.begin(), drawn_.end(), 0U);
    for (std::size_t k = drawn_.size(); k > 1; --k)
      std::swap(drawn_[k - 1], drawn_[from.random() % k]);
  }

  std::uint64_t count_;
  std::uint64_t at_ = 0;
  std::uint64_t step_ = 1;
  std::vector<unsigned> drawn_;
};

std::string text(const dim3& d) {
  return std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z);
}

/// Returns the reason why every GPU refuses the launch, or an empty string.
std::string refusal(const Shape& s) {
  const std::size_t threads = std::size_t{s.block.x} * s.block.y * s.block.z;
  if (s.grid.x == 0 || s.grid.y == 0 || s.grid.z == 0)
    return "a grid of " + text(s.grid) + " blocks, expected 1 at least";
  if (s.grid.x > 0x7fffffffU || s.grid.y > 0xffffU || s.grid.z > 0xffffU)
    return "a grid of " + text(s.grid) + " blocks, expected at most 2147483647,65535,65535";
  if (s.block.x > 1024 || s.block.y > 1024 || s.block.z > 64)
    return "a block of " + text(s.block) + " threads, expected at most 1024,1024,64";
  if (threads == 0 || threads > 1024)
    return "a block of " + std::to_string(threads) + " threads, expected 1 to 1024";
  if (s.dynamic_bytes > kMaxSharedBytes || s.static_bytes > kMaxSharedBytes - s.dynamic_bytes)
    return std::to_string(s.static_bytes + s.dynamic_bytes) + " bytes of shared memory, " +
           std::to_string(s.static_bytes) + " of them static, expected at most " +
           std::to_string(kMaxSharedBytes);
  return "";
}

}  // namespace

const mote_host_calls* calls() { return &kCalls; }

std::string launch(const Shape& shape, const Options& options,
                   const std::function<void()>& kernel) {
  if (std::string refused = refusal(shape); !refused.empty()) return refused;
  const std::lock_guard lock(launching);
  const Unseen notes;
  Block of(shape, options, kernel);
  block = &of;
  const dim3 g = shape.grid;
  const std::uint64_t row = g.x, plane = row * g.y, count = plane * g.z;
  BlockOrder order(count, options.order, of);
  std::string error;
  for (std::uint64_t done = 0; done < count && error.empty(); ++done) {
    const std::uint64_t k = order.next();
    error = of.run({static_cast<unsigned>(k % row), static_cast<unsigned>(k / row % g.y),
                    static_cast<unsigned>(k / plane)});
  }
  block = nullptr;
  return error;
}

std::string find_race(std::uint64_t seed, const std::function<Run(const Options&)>& once,
                      Engine engine, std::span<const Order> others) {
  const Run forward = once({Order::forward, seed, engine});
  if (!forward.error.empty()) return forward.error;
  for (std::size_t k = 0; k < others.size(); ++k) {
    const Run other = once({others[k], k + 1 < others.size() ? seed : ~seed, engine});
    if (!other.error.empty()) return other.error;
    const auto [at, there] = std::ranges::mismatch(forward.output, other.output);
    if (at == forward.output.end() && there == other.output.end()) continue;
    return "byte " + std::to_string(at - forward.output.begin()) +
           " of the output is not the same when threads run forward and when they run " +
           (others[k] == Order::reverse ? "in reverse" : "in a random order");
  }
  return "";
}

}  // namespace mote::shim
