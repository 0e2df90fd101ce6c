// SPDX-License-Identifier: Apache-2.0
// Names of the parameters of the catalogue's ops that have any.
#pragma once

#include <array>
#include <cstddef>

namespace mote::cudnn {

/// Returns the elements of an array, followed by others.
template <typename T, std::size_t First, typename... More>
constexpr auto with(const std::array<T, First>& first, More... more) {
  std::array<T, First + sizeof...(More)> all{};
  std::size_t next = 0;
  for (const T& element : first) all[next++] = element;
  ((all[next++] = more), ...);
  return all;
}

constexpr std::array<const char*, 5> kWindow1d = {"groups", "stride0", "dilation0", "pads0",
                                                  "pads1"};
constexpr auto kWindow2d = with(kWindow1d, "stride1", "dilation1", "pads2", "pads3");
constexpr auto kWindow3d = with(kWindow2d, "stride2", "dilation2", "pads4", "pads5");
constexpr auto kTransposed2d = with(kWindow2d, "output_pad0", "output_pad1");

constexpr std::array<const char*, 11> kMaxPool2d = {"kernel0",   "kernel1",   "stride0",  "stride1",
                                                    "dilation0", "dilation1", "pads0",    "pads1",
                                                    "pads2",     "pads3",     "ceil_mode"};
constexpr auto kMaxPool3d = with(kMaxPool2d, "kernel2", "stride2", "dilation2", "pads4", "pads5");
constexpr auto kAveragePool2d = with(kMaxPool2d, "count_include_pad");
constexpr auto kAveragePool3d = with(kMaxPool3d, "count_include_pad");

constexpr std::array<const char*, 4> kLrn = {"size", "alpha", "beta", "bias"};
constexpr std::array<const char*, 1> kEluAlpha = {"alpha"};
constexpr std::array<const char*, 1> kEpsilon = {"eps"};
constexpr auto kGroups = with(kEpsilon, "groups");
constexpr std::array<const char*, 5> kAttention = {"scale", "causal", "anchor", "window0",
                                                   "window1"};
constexpr std::array<const char*, 1> kBackwards = {"backwards"};
constexpr std::array<const char*, 3> kTraining = {"eps", "momentum", "unbiased"};

}  // namespace mote::cudnn
