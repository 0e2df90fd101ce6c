// SPDX-License-Identifier: Apache-2.0
// Launching a kernel on the host: blocks one after the other, the threads of a block as fibres, in
// an order that is chosen. What a GPU would leave undefined is an error here: a barrier that some
// threads do not reach, or reach at another place; a shuffle whose mask names a lane that is not
// there; a launch that no GPU takes. Shared memory holds NaNs before each block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fibre.h"
#include "mote_cuda_host.h"

namespace mote::shim {

/// In which threads of a block go on, and blocks of a grid.
enum class Order { forward, reverse, random };

struct Options {
  Order order = Order::forward;
  std::uint64_t seed = 0;  ///< of a random order
  Engine engine = best_engine();
};

/// What a block has of it on every GPU, without asking for more.
inline constexpr std::size_t kMaxSharedBytes = std::size_t{48} << 10;

struct Shape {
  dim3 grid{1, 1, 1};
  dim3 block{1, 1, 1};
  std::size_t dynamic_bytes = 0;
  /// Of the kernel's own, where that is known, or 0: what is below may be several kernels'.
  std::size_t static_bytes = 0;
  /// The static shared memory of the kernel's library; null: none.
  char* shared_begin = nullptr;
  char* shared_end = nullptr;
};

/// What a library of kernels is to set its `mote_host` to.
const mote_host_calls* calls();

/// Calls `kernel` for each thread of the grid. Returns what the kernel did wrong, or nothing; after
/// an error the rest of the grid is left out. Of launches on several OS threads one runs at a time.
std::string launch(const Shape& shape, const Options& options, const std::function<void()>& kernel);

/// Does something with these options, and gives what the kernels wrote; or `error`.
struct Run {
  std::string error;
  std::vector<std::byte> output;
};
/// What is wrong with kernels that `once` launches: their own error, or that what they wrote
/// depends on the order of threads: forward and each of the others are compared, bit for bit; the
/// last one is made with the complement of the seed. Nothing where all is well. What threads of
/// different blocks do to each other shows only where whole blocks change places.
inline constexpr std::array<Order, 3> kOtherOrders = {Order::reverse, Order::random, Order::random};
std::string find_race(std::uint64_t seed, const std::function<Run(const Options&)>& once,
                      Engine engine = best_engine(), std::span<const Order> others = kOtherOrders);

}  // namespace mote::shim
