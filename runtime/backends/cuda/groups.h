// SPDX-License-Identifier: Apache-2.0
// The catalogue's kernels in groups that are compiled together: a compiler's start costs more than
// a kernel, and one group of all would make a call of one op wait for all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue_kernels.h"
#include "nvrtc.h"

namespace mote::cuda {

/// Returns the group of an op, by its name alone, so that a new op moves no other: from 0 on, and
/// `groups` for ops that were added.
std::uint32_t group_of(const OpRecord& record, std::uint32_t groups);

struct GroupSource {
  std::vector<std::string> functions;  ///< the kernels' names
  std::string text;                    ///< helpers and kernels, to be placed after mote_cuda.h
};
/// Returns the source of all instances of the group's ops that have the variant.
GroupSource source_of_group(std::uint32_t group, std::uint32_t groups, Variant variant);

/// Returns the key of the group's source in a cache, without making the source: this library or
/// program itself, whose code and catalogue determine the source, the group, and the programs of
/// ops that were added.
std::string key_of_group(std::uint32_t group, std::uint32_t groups, Variant variant);

/// Returns the key for one instance of an op.
std::string key_of_instance(const OpInstance& instance, Variant variant);

/// Returns quick for the variant reference: its kernels must be right, not fast.
constexpr Effort effort_for(Variant variant) {
  return variant == Variant::reference ? Effort::quick : Effort::full;
}

}  // namespace mote::cuda
