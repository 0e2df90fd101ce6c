// SPDX-License-Identifier: Apache-2.0
// Launches a kernel on the host: blocks one after the other, the threads of a block as fibres, in a
// chosen order. Undefined behaviour on a GPU is an error here: a barrier that some threads do not
// reach, or reach at another line; a shuffle whose mask names an absent lane; a launch that every
// GPU refuses. Shared memory holds NaNs before each block.
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

/// The order in which threads of a block and blocks of a grid run.
enum class Order { forward, reverse, random };

struct Options {
  Order order = Order::forward;
  std::uint64_t seed = 0;  ///< the seed of a random order
  Engine engine = best_engine();
};

/// The shared memory that a block has on every GPU without a request for more.
inline constexpr std::size_t kMaxSharedBytes = std::size_t{48} << 10;

struct Shape {
  dim3 grid{1, 1, 1};
  dim3 block{1, 1, 1};
  std::size_t dynamic_bytes = 0;
  /// The kernel's own static shared memory if it is known, or 0: the range below may belong to
  /// several kernels.
  std::size_t static_bytes = 0;
  /// The static shared memory of the kernel's library; null: none.
  char* shared_begin = nullptr;
  char* shared_end = nullptr;
};

/// Returns the functions that a library of kernels must set its `mote_host` to.
const mote_host_calls* calls();

/// Calls `kernel` for each thread of the grid. Returns the kernel's error, or an empty string;
/// after an error the rest of the grid is left out. Launches on several OS threads run one at a
/// time.
std::string launch(const Shape& shape, const Options& options, const std::function<void()>& kernel);

/// The result of a run with given options: the kernels' output, or `error`.
struct Run {
  std::string error;
  std::vector<std::byte> output;
};
/// Returns the error of kernels that `once` launches, or an empty string: their own error, or that
/// their output depends on the order of threads. The output in forward order is compared with that
/// of each other order, bit for bit; the last order uses the complement of the seed. A dependence
/// between threads of different blocks shows only if whole blocks are reordered.
inline constexpr std::array<Order, 3> kOtherOrders = {Order::reverse, Order::random, Order::random};
std::string find_race(std::uint64_t seed, const std::function<Run(const Options&)>& once,
                      Engine engine = best_engine(), std::span<const Order> others = kOtherOrders);

}  // namespace mote::shim
