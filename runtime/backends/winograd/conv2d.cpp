// SPDX-License-Identifier: Apache-2.0
// conv2d of f32 with kernels of 3x3, stride and dilation 1, any pads, groups and strides, by
// Winograd's F(4x4, 3x3). Over tiles of 4x4 outputs that begin at the first one:
//   V = B' x B of each 6x6 patch of x, zeros outside the image; U = G w G' of each kernel;
//   M = sum over channels of U and V element by element; y = A' M A (+ bias).
// One group's kernels are transformed at a time; blocks of tiles are shared among threads. The
// order of every sum is fixed, so results do not depend on the number of threads.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "kernels.h"
#include "multiply.h"
#include "support/conv2d_call.h"
#include "transform.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace mote::winograd {
namespace {

using backend::Check;
using backend::Operand;

constexpr std::int64_t kMaxKernels = std::int64_t{1} << 40;

struct Plan : backend::Conv2dCall {
  std::int64_t rows = 0;     ///< the rows of tiles in an image
  std::int64_t columns = 0;  ///< the columns of tiles
  std::size_t inputs = 0;    ///< the input channels of a group
  std::size_t outputs = 0;
  std::size_t threads = 1;

  std::int64_t tiles() const { return y.shape[0] * rows * columns; }
  std::int64_t blocks() const {
    const auto block = static_cast<std::int64_t>(kBlock);
    return (tiles() + block - 1) / block;
  }
  std::size_t kernel_floats() const { return kProducts * inputs * outputs; }
  std::size_t thread_floats() const { return kProducts * kBlock * (inputs + outputs); }
  std::size_t bytes() const {
    return sizeof(float) * (kernel_floats() + threads * thread_floats());
  }
};

std::size_t most_threads() {
#ifdef _OPENMP
  return static_cast<std::size_t>(omp_get_max_threads());
#else
  return 1;
#endif
}

Check make_plan(const mote_call& call, Plan& plan) {
  if (auto no = read_conv2d(call, {DType::f32}, plan)) return no;
  if (plan.w.shape[2] != 3 || plan.w.shape[3] != 3)
    return backend::unsupported(
        fmt::format("kernels of {}x{}, only 3x3 is computed", plan.w.shape[2], plan.w.shape[3]));
  if (plan.stride != std::array<std::int64_t, 2>{1, 1} ||
      plan.dilation != std::array<std::int64_t, 2>{1, 1})
    return backend::unsupported("only stride 1 and dilation 1 are computed");
  const auto tile = static_cast<std::int64_t>(kOutputs);
  plan.rows = (plan.y.shape[2] + tile - 1) / tile;
  plan.columns = (plan.y.shape[3] + tile - 1) / tile;
  plan.inputs = static_cast<std::size_t>(plan.w.shape[1]);
  plan.outputs = static_cast<std::size_t>(plan.group_outputs());
  // A w whose elements share memory may have more kernels than fit in memory.
  if (plan.w.shape[1] > 0 && plan.group_outputs() > kMaxKernels / plan.w.shape[1])
    return backend::unsupported(fmt::format("more than {} kernels in a group", kMaxKernels));
  const auto blocks = static_cast<std::size_t>(std::max<std::int64_t>(1, plan.blocks()));
  plan.threads = std::min(most_threads(), blocks);
  return {};
}

const float* data_of(const Operand& operand) { return static_cast<const float*>(operand.data); }

/// Computes U[product][co][ci] of one group.
void transform_kernels(const Plan& plan, std::int64_t group, float* u) {
  const auto& s = plan.w.strides;
  for (std::size_t co = 0; co < plan.outputs; ++co)
    for (std::size_t ci = 0; ci < plan.inputs; ++ci) {
      const std::int64_t channel = group * plan.group_outputs() + static_cast<std::int64_t>(co);
      const float* w = data_of(plan.w) + channel * s[0] + static_cast<std::int64_t>(ci) * s[1];
      Square<kKernel, kKernel> kernel{};
      for (std::size_t r = 0; r < kKernel; ++r)
        for (std::size_t c = 0; c < kKernel; ++c)
          kernel[r][c] =
              w[static_cast<std::int64_t>(r) * s[2] + static_cast<std::int64_t>(c) * s[3]];
      const auto all = both<kTile>(kernel, of_kernel);
      for (std::size_t p = 0; p < kProducts; ++p)
        u[(p * plan.outputs + co) * plan.inputs + ci] = all[p / kTile][p % kTile] / (24 * 24);
    }
}

/// A tile's image and its first output.
struct Location {
  std::int64_t n, row, column;
};

Location location_of(const Plan& plan, std::int64_t tile) {
  const auto outputs = static_cast<std::int64_t>(kOutputs);
  return {tile / (plan.rows * plan.columns), tile / plan.columns % plan.rows * outputs,
          tile % plan.columns * outputs};
}

/// Returns the patch of x that the tile reads, with zeros outside the image.
Square<kTile, kTile> patch(const Plan& plan, const Location& at, std::int64_t channel) {
  const auto& s = plan.x.strides;
  const float* x = data_of(plan.x) + at.n * s[0] + channel * s[1];
  Square<kTile, kTile> values{};
  for (std::size_t r = 0; r < kTile; ++r) {
    const std::int64_t row = at.row + static_cast<std::int64_t>(r) - plan.pads[0];
    if (row < 0 || row >= plan.x.shape[2]) continue;
    for (std::size_t c = 0; c < kTile; ++c) {
      const std::int64_t column = at.column + static_cast<std::int64_t>(c) - plan.pads[1];
      if (column >= 0 && column < plan.x.shape[3]) values[r][c] = x[row * s[2] + column * s[3]];
    }
  }
  return values;
}

/// Computes V[product][ci][tile of the block]; tiles after the last are zeros.
void transform_data(const Plan& plan, std::int64_t group, std::int64_t block, float* v) {
  for (std::size_t ci = 0; ci < plan.inputs; ++ci)
    for (std::size_t t = 0; t < kBlock; ++t) {
      const std::int64_t tile =
          block * static_cast<std::int64_t>(kBlock) + static_cast<std::int64_t>(t);
      const std::int64_t channel = group * plan.w.shape[1] + static_cast<std::int64_t>(ci);
      Square<kTile, kTile> all{};
      if (tile < plan.tiles())
        all = both<kTile>(patch(plan, location_of(plan, tile), channel), of_data);
      for (std::size_t p = 0; p < kProducts; ++p)
        v[(p * plan.inputs + ci) * kBlock + t] = all[p / kTile][p % kTile];
    }
}

void store(const Plan& plan, const Location& at, std::int64_t channel,
           const Square<kOutputs, kOutputs>& values) {
  const auto& s = plan.y.strides;
  const float bias = plan.has_bias ? data_of(plan.bias)[channel * plan.bias.strides[0]] : 0.0F;
  float* y = static_cast<float*>(plan.y.data) + at.n * s[0] + channel * s[1];
  for (std::size_t r = 0; r < kOutputs; ++r)
    for (std::size_t c = 0; c < kOutputs; ++c) {
      const std::int64_t row = at.row + static_cast<std::int64_t>(r);
      const std::int64_t column = at.column + static_cast<std::int64_t>(c);
      if (row >= plan.y.shape[2] || column >= plan.y.shape[3]) continue;
      y[row * s[2] + column * s[3]] = plan.has_bias ? values[r][c] + bias : values[r][c];
    }
}

/// Transforms M[product][co][tile of the block] back and stores the outputs.
void transform_outputs(const Plan& plan, std::int64_t group, std::int64_t block, const float* m) {
  for (std::size_t co = 0; co < plan.outputs; ++co)
    for (std::size_t t = 0; t < kBlock; ++t) {
      const std::int64_t tile =
          block * static_cast<std::int64_t>(kBlock) + static_cast<std::int64_t>(t);
      if (tile >= plan.tiles()) break;
      Square<kTile, kTile> products{};
      for (std::size_t p = 0; p < kProducts; ++p)
        products[p / kTile][p % kTile] = m[(p * plan.outputs + co) * kBlock + t];
      store(plan, location_of(plan, tile),
            group * plan.group_outputs() + static_cast<std::int64_t>(co),
            both<kOutputs>(products, to_output));
    }
}

void run_block(const Plan& plan, std::int64_t group, std::int64_t block, const float* u, float* v) {
  float* m = v + kProducts * kBlock * plan.inputs;
  transform_data(plan, group, block, v);
  Multiply* const multiply = best_multiply();
  for (std::size_t p = 0; p < kProducts; ++p)
    multiply(u + p * plan.outputs * plan.inputs, v + p * plan.inputs * kBlock,
             m + p * plan.outputs * kBlock, plan.outputs, plan.inputs);
  transform_outputs(plan, group, block, m);
}

void execute(const Plan& plan, float* u) {
  float* const rest = u + plan.kernel_floats();
  for (std::int64_t group = 0; group < plan.groups; ++group) {
    transform_kernels(plan, group, u);
#ifdef _OPENMP
#pragma omp parallel for num_threads(static_cast <int>(plan.threads)) schedule(static)
#endif
    for (std::int64_t block = 0; block < plan.blocks(); ++block) {
#ifdef _OPENMP
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
#else
      const std::size_t thread = 0;
#endif
      run_block(plan, group, block, u, rest + thread * plan.thread_floats());
    }
  }
}

}  // namespace

mote_status can_run_conv2d(const mote_call* call) {
  return backend::guarded(*call, [&]() -> Check {
    Plan plan;
    return make_plan(*call, plan);
  });
}

std::size_t workspace_of_conv2d(const mote_call* call) {
  Plan plan;
  const mote_status status = backend::guarded(*call, [&] { return make_plan(*call, plan); });
  return status == MOTE_OK ? plan.bytes() : 0;
}

mote_status run_conv2d(const mote_call* call, void*) {
  return backend::guarded(*call, [&]() -> Check {
    Plan plan;
    if (auto no = make_plan(*call, plan)) return no;
    // There may be more threads now than when the workspace was requested.
    const std::size_t thread_bytes = sizeof(float) * plan.thread_floats();
    while (plan.threads > 1 && plan.bytes() > call->workspace_bytes) --plan.threads;
    if (plan.bytes() > call->workspace_bytes || (plan.bytes() > 0 && call->workspace == nullptr))
      return backend::invalid(fmt::format("workspace of {} bytes, expected {} and {} a thread",
                                          call->workspace_bytes,
                                          sizeof(float) * plan.kernel_floats(), thread_bytes));
    execute(plan, static_cast<float*>(call->workspace));
    return {};
  });
}

}  // namespace mote::winograd
