// SPDX-License-Identifier: Apache-2.0
// A kernel's offsets wrap if a case fails where the farthest element of a tensor lies beyond what
// 24, 31 or 32 bits count, and passes where that element lies just within.
#include <fmt/format.h>

#include "diagnosis/found.h"
#include "mote/base/error.h"
#include "mote/oracle/layout.h"

namespace mote::diagnosis {
namespace {

/// A counter is a unit and a number of bits in which a kernel may count offsets.
struct Counter {
  const char* text;
  int bits;
  bool in_bytes;
};
constexpr Counter kCounters[] = {{"elements, in a float or 24 bits", 24, false},
                                 {"bytes, in 31 bits", 31, true},
                                 {"bytes, in 32 bits", 32, true},
                                 {"elements, in 31 bits", 31, false},
                                 {"elements, in 32 bits", 32, false}};

/// The offset of the last element from the first, in elements.
std::int64_t farthest(const CaseTensor& t) {
  const Placement placed = place(t.shape, t.layout);
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis)
    offset += (t.shape[axis] - 1) * placed.strides[axis];
  return offset;
}

/// The widest of the layout's gaps.
std::int64_t& widest_gap(CaseLayout& layout) {
  std::int64_t* widest = &layout.pad;
  for (AxisGap& gap : layout.gaps)
    if (gap.elements > *widest) widest = &gap.elements;
  return *widest;
}

/// The tensor, an input or output of a case.
struct Member {
  std::vector<CaseTensor> Case::*list;
  std::size_t index;
  CaseTensor& of(Case& c) const { return (c.*list)[index]; }
};

/// The case with the widest gap of a tensor as small as an offset of at least `least` allows;
/// nullopt if no gap gives that.
std::optional<Case> with_farthest(const Case& c, const Member& member, std::int64_t least) {
  Case other = c;
  CaseTensor& t = member.of(other);
  std::int64_t& gap = widest_gap(t.layout);
  const std::int64_t now = farthest(t);
  gap += 1;
  const std::int64_t rate = farthest(t) - now;
  gap -= 1;
  if (rate <= 0) return std::nullopt;
  const std::int64_t missing = least - now;
  gap += missing > 0 ? (missing + rate - 1) / rate : -(-missing / rate);
  if (gap < 0) return std::nullopt;
  return other;
}

/// The counter's limit, in elements.
std::int64_t limit_of(const Counter& counter, const CaseTensor& t) {
  const std::int64_t limit = std::int64_t{1} << static_cast<unsigned>(counter.bits);
  return counter.in_bytes ? limit / static_cast<std::int64_t>(size_of(t.dtype)) : limit;
}

/// Reports the counter if the case passes up to its limit and fails beyond it.
std::optional<Found> at_limit(const Case& c, const Member& member, const Counter& counter,
                              const Judge& judge) {
  Case at = c;
  const CaseTensor& t = member.of(at);
  const std::int64_t limit = limit_of(counter, t);
  if (farthest(t) + 1 < limit) return std::nullopt;
  // The gap moves each row, so the limit must lie outside the last row.
  const auto beyond = with_farthest(c, member, limit + volume(t.shape));
  const auto within = with_farthest(c, member, limit - volume(t.shape) - 1);
  if (!beyond || !within) return std::nullopt;
  Case inside = *within;
  const std::int64_t least = farthest(member.of(inside));
  if (least >= limit || judge(inside).verdict != Verdict::passed) return std::nullopt;
  Case outside = *beyond;
  for (int step = 0; step < 2; ++step) {  // a float holds every second offset there
    if (is_failure(judge(outside).verdict))
      return Found{"offset wraps",
                   fmt::format("offsets into {} are counted in {}: this case passes where its "
                               "last element lies {} elements after its first, and fails at {}",
                               t.name, counter.text, least, farthest(member.of(outside)))};
    ++widest_gap(member.of(outside).layout);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Found> by_offset(const Case& c, const Judge& judge) {
  try {
    for (auto Case::*list : {&Case::inputs, &Case::outputs})
      for (std::size_t k = 0; k < (c.*list).size(); ++k)
        for (const Counter& counter : kCounters)
          if (!(c.*list)[k].left_out && (c.*list)[k].in_place.empty())
            if (auto found = at_limit(c, {list, k}, counter, judge)) return found;
  } catch (const Error&) {  // does not fit into memory
  }
  return std::nullopt;
}

}  // namespace mote::diagnosis
