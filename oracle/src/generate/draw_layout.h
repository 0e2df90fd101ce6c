// SPDX-License-Identifier: Apache-2.0
// Draws the layouts of the tensors of a case: orders of axes, gaps, offsets, axes that repeat, and
// elements up to 64 GiB apart.
#pragma once

#include "generate/random.h"
#include "mote/oracle/case.h"

namespace mote {

/// An order of axes that all tensors of a case share: images with their channels last, or matrices
/// stored by columns.
enum class CommonOrder : std::uint8_t { channels_last, by_columns };
void lay_out_alike(Case& c, CommonOrder order);
/// Draws layouts; half of the cases stay row-major.
void draw_layouts(Case& c, Random& random);
/// Puts an element of one tensor 2^20 to 2^32 elements after its first, by the stride of an axis or
/// by the offset of the view, if its shape allows that within kMaxReach bytes.
void draw_far_layout(Case& c, Random& random);

/// The maximum distance from the first to the last element of a tensor in bytes; workers have room
/// for twice that of every tensor of a case.
constexpr std::int64_t kMaxReach = std::int64_t{1} << 36U;

}  // namespace mote
