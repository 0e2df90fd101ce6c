// The grid: blocks in the chosen order.
#include "launch.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "block.h"
#include "sanitize.h"

namespace mote::shim {
namespace {

Block* block = nullptr;  // of the launch that runs
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
};

std::vector<unsigned> order_of(std::size_t count, Order order, Block& from) {
  std::vector<unsigned> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  if (order == Order::reverse) std::ranges::reverse(numbers);
  if (order == Order::random)
    for (std::size_t k = count; k > 1; --k) std::swap(numbers[k - 1], numbers[from.random() % k]);
  return numbers;
}

}  // namespace

const mote_host_calls* calls() { return &kCalls; }

std::string launch(const Shape& shape, const Options& options,
                   const std::function<void()>& kernel) {
  const std::size_t threads = std::size_t{shape.block.x} * shape.block.y * shape.block.z;
  if (threads == 0 || threads > 1024)
    return "a block of " + std::to_string(threads) + " threads, expected 1 to 1024";
  const std::lock_guard lock(launching);
  const Unseen notes;
  Block of(shape, options, kernel);
  block = &of;
  const dim3 g = shape.grid;
  std::string error;
  for (const unsigned k : order_of(std::size_t{g.x} * g.y * g.z, options.order, of)) {
    error = of.run({k % g.x, k / g.x % g.y, k / (g.x * g.y)});
    if (!error.empty()) break;
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
