// SPDX-License-Identifier: Apache-2.0
// Drawing where the tensors of a case lie: orders of axes, gaps, offsets, axes that repeat, and
// elements that are up to 64 GiB apart.
#pragma once

#include "generate/random.h"
#include "mote/oracle/case.h"

namespace mote {

/// Images whose channels are last, or matrices that are stored by columns: so are all tensors of a
/// case then.
enum class CommonOrder : std::uint8_t { channels_last, by_columns };
void lay_out_alike(Case& c, CommonOrder order);
/// Half of the cases stay row-major.
void draw_layouts(Case& c, Random& random);
/// One tensor has an element 2^20 to 2^32 elements behind its first, by the stride of an axis or by
/// the offset of the view, where its shape allows that within kMaxReach bytes.
void draw_far_layout(Case& c, Random& random);

/// From the first element of a tensor to its last, in bytes; workers have room for twice that of
/// every tensor of a case.
constexpr std::int64_t kMaxReach = std::int64_t{1} << 36U;

}  // namespace mote
