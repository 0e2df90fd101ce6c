// SPDX-License-Identifier: Apache-2.0
// Puts extents on pages of their own. The gaps are as large as the extents, so that an index far
// out of range still hits closed memory.
#include "site.h"

#include <fmt/format.h>

#include <algorithm>

#include "arena.h"
#include "mote/base/error.h"
#include "mote/oracle/memory.h"

namespace mote::isolate {
namespace {

constexpr std::size_t kLeastGuard = std::size_t{64} << 10U;
constexpr std::size_t kMaxGuard = std::size_t{1} << 30U;
constexpr std::size_t kWorkspaceAlignment = 64;
/// The maximum distance of an odd position from the start of its page.
constexpr std::size_t kOddBytes = 64;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::size_t guard_of(std::size_t bytes) {
  return std::clamp(rounded_up(bytes, kPage), kLeastGuard, kMaxGuard);
}

/// The bytes from the base of the tensor to its last element; a tensor without elements has none.
std::size_t bytes_of(const CaseTensor& t) {
  if (t.left_out || volume(t.shape) == 0) return 0;
  const Placement placed = place(t.shape, t.layout);
  std::int64_t last = placed.offset;
  for (std::size_t k = 0; k < t.shape.size(); ++k) last += (t.shape[k] - 1) * placed.strides[k];
  return static_cast<std::size_t>(last + 1) * size_of(t.dtype);
}

/// The bytes from the start of the pages to the start of the extent.
std::size_t lead_of(std::size_t bytes, std::size_t alignment, std::uint64_t draw) {
  const std::size_t slack = rounded_up(bytes, kPage) - bytes;
  switch (draw % 4) {
    case 0:
      return 0;
    case 1: {
      const std::size_t locations = std::max<std::size_t>(kOddBytes / alignment, 1);
      return (draw / 4 % locations) * alignment;
    }
    default:
      return slack / alignment * alignment;
  }
}

}  // namespace

Site::Site(const Case& c, std::span<char> room, std::uint64_t draw)
    : room_(room), draw_(draw), end_(room.data()) {
  end_ += kLeastGuard;
  for (const CaseTensor& t : c.inputs) {
    const bool written = std::ranges::any_of(
        c.outputs, [&](const CaseTensor& y) { return !y.left_out && y.in_place == t.name; });
    add(t.name, written, bytes_of(t), size_of(t.dtype), 0);
  }
  for (const CaseTensor& t : c.outputs)
    add(t.name, true, t.in_place.empty() ? bytes_of(t) : 0, size_of(t.dtype), 0);
}

void Site::add_workspace(std::size_t bytes) {
  add("workspace", true, bytes, kWorkspaceAlignment, 2);
}

void Site::add(const std::string& name, bool written, std::size_t bytes, std::size_t alignment,
               std::uint64_t draw) {
  const std::uint64_t drawn = draw != 0 ? draw : mix(draw_ + extents_.size() + 1);
  const std::size_t lead = lead_of(bytes, alignment, drawn);
  const std::size_t page_bytes = bytes == 0 ? 0 : rounded_up(lead + bytes, kPage);
  const std::size_t taken = page_bytes + guard_of(bytes);
  const auto left = static_cast<std::size_t>(room_.data() + room_.size() - end_);
  if (bytes > left || taken > left) {
    throw Error(fmt::format("{} needs {}, the memory for workers has {}", name,
                            format_bytes(static_cast<std::int64_t>(bytes)),
                            format_bytes(static_cast<std::int64_t>(left))));
  }
  extents_.push_back({name, written, end_, page_bytes, end_ + (bytes == 0 ? 0 : lead), bytes});
  end_ += taken;
}

Site Site::moved_behind(const char* used) const {
  Site moved = *this;
  const std::ptrdiff_t by = used - room_.data();
  if (end_ - room_.data() > room_.data() + room_.size() - used) {
    throw Error("the memory for workers has no room for the case twice");
  }
  for (Extent& e : moved.extents_) {
    e.pages += by;
    e.begin += by;
  }
  moved.end_ += by;
  return moved;
}

Region Site::region(std::size_t extent, DType dtype) const {
  const Extent& e = extents_[extent];
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  return {e.pages, static_cast<std::int64_t>(e.page_bytes) / size, (e.begin - e.pages) / size};
}

std::optional<Hit> Site::nearest(const void* address) const {
  const char* at = static_cast<const char*>(address);
  std::optional<Hit> found;
  for (const Extent& e : extents_) {
    const auto bytes = static_cast<std::ptrdiff_t>(e.bytes);
    Hit hit{&e, std::max<std::int64_t>(e.begin - at, 0),
            std::max<std::int64_t>(at - e.begin - bytes + 1, 0),
            at >= e.pages && at < e.pages + e.page_bytes};
    const auto guard = static_cast<std::int64_t>(guard_of(e.bytes) + kPage);
    if (hit.distance() <= guard && (!found || hit.distance() < found->distance())) found = hit;
  }
  return found;
}

}  // namespace mote::isolate
