// SPDX-License-Identifier: Apache-2.0
// The catalogue's kernels in groups that are compiled together: a compiler's start costs more than
// a kernel, and all at once would make a call of one op wait for all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue_kernels.h"
#include "nvrtc.h"

namespace mote::cuda {

/// Of an op, by its name alone, so that a new op moves no other.
std::uint32_t group_of(std::string_view op, std::uint32_t groups);

struct GroupSource {
  std::vector<std::string> functions;  ///< of the kernels
  std::string text;                    ///< helpers and kernels, to stand after mote_cuda.h
};
/// Of all instances of the group's ops that have the variant.
GroupSource source_of_group(std::uint32_t group, std::uint32_t groups, Variant variant);

/// What stands for the source of a group in the key of a cache, without making it: this library or
/// program itself, from whose code and catalogue the source follows, and the group.
std::string key_of_group(std::uint32_t group, std::uint32_t groups, Variant variant);

/// The same for one instance of an op.
std::string key_of_instance(const OpInstance& instance, Variant variant);

/// The oracle's kernels are there to be right, so that they needn't be fast.
constexpr Effort effort_for(Variant variant) {
  return variant == Variant::oracle ? Effort::quick : Effort::full;
}

}  // namespace mote::cuda
