// SPDX-License-Identifier: Apache-2.0
// The kernels of shim_kernels.h with their launches, right and wrong, and the expected findings.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>
#include <span>
#include <vector>

#include "cuda_host/shim/launch.h"
#include "shim_kernels.h"

namespace mote::shim {

struct Trial {
  const char* name;
  unsigned blocks;
  unsigned threads;
  std::size_t outputs;
  std::function<void(const float* x, float* y, bool correct)> kernel;
  const char* finding;  ///< a part of the error's text
  bool races = false;   ///< true if threads of one block race for the same memory
};

constexpr const char* kOrder = "is not the same when threads run";

inline const Trial kTrials[] = {
    {"reverse_block", 2, 64, 128, [](auto x, auto y, bool c) { reverse_block(x, y, c); }, kOrder,
     true},
    {"sum_of_neighbours", 1, 64, 64, [](auto x, auto y, bool c) { sum_of_neighbours(x, y, 4, c); },
     kOrder, true},
    {"row_sum", 3, 128, 3, [](auto x, auto y, bool c) { row_sum(x, y, 300, c); }, kOrder, true},
    {"from_lane_0", 1, 64, 64, [](auto x, auto y, bool c) { from_lane_0(x, y, c); }, kOrder, true},
    {"last_writer", 1, 64, 64, [](auto, auto y, bool c) { last_writer(y, c); }, kOrder, true},
    {"block_number", 4, 32, 4, [](auto, auto y, bool c) { block_number(y, c); }, kOrder},
    {"divergent_barrier", 1, 64, 64, [](auto, auto y, bool c) { divergent_barrier(y, c); },
     "reaches the barrier in line"},
    {"some_at_barrier", 1, 64, 64, [](auto, auto y, bool c) { some_at_barrier(y, c); },
     "threads wait for ever"},
    {"half_a_warp", 1, 64, 64, [](auto, auto y, bool c) { half_a_warp(y, c); }, "in line"},
    {"from_outside", 1, 64, 64, [](auto, auto y, bool c) { from_outside(y, c); },
     "reads lane 20, which is not in the mask"}};

/// Trials of copies that go on while their thread does. The thread sanitizer sees each of these
/// races only in some runs, in which the copy is made early or late.
inline const Trial kCopyTrials[] = {
    {"reverse_copied", 1, 64, 64, [](auto x, auto y, bool c) { reverse_copied(x, y, c); }, kOrder},
    {"copied_and_left", 1, 64, 64, [](auto x, auto y, bool c) { copied_and_left(x, y, c); },
     "ends before copies that it did not wait for"},
    {"sum_of_copies", 1, 64, 64, [](auto x, auto y, bool c) { sum_of_copies(x, y, 4, c); }, kOrder},
    {"copied_from_within", 1, 64, 64, [](auto x, auto y, bool c) { copied_from_within(x, y, c); },
     "an address that 16 doesn't divide"}};

inline void PrintTo(const Trial& t, std::ostream* out) { *out << t.name; }

inline Shape shape_of(unsigned blocks, unsigned threads) {
  Shape shape;
  shape.grid.x = blocks;
  shape.block.x = threads;
  shape.shared_begin = __start_mote_shared;
  shape.shared_end = __stop_mote_shared;
  return shape;
}

inline Run run(const Trial& t, bool correct, const Options& options) {
  mote_host = calls();
  struct alignas(16) Elements {
    float of[1024];
  };
  const auto held = std::make_unique<Elements>();
  const std::span<float> x(held->of);
  std::iota(x.begin(), x.end(), 1.0F);
  std::vector<float> y(t.outputs, -1.0F);
  Run out;
  out.error = launch(shape_of(t.blocks, t.threads), options,
                     [&] { t.kernel(x.data(), y.data(), correct); });
  const auto bytes = std::as_bytes(std::span(y));
  out.output.assign(bytes.begin(), bytes.end());
  return out;
}

}  // namespace mote::shim
