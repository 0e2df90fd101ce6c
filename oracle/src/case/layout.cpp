// SPDX-License-Identifier: Apache-2.0
// Parses and prints layouts, and computes their strides for a shape.
#include "mote/oracle/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "mote/base/error.h"

namespace mote {
namespace {

constexpr std::string_view kKnown =
    ":nhwc :t :perm<axes> :pad<n> :gap<axis>x<n> :off<n> :bcast<axis>";
constexpr std::string_view kAxisDigits = "0123456789abcde";

[[noreturn]] void fail(std::string_view suffix, std::string_view why) {
  throw Error(fmt::format("layout ':{}': {} (known: {})", suffix, why, kKnown));
}

std::optional<std::int64_t> number_after(std::string_view suffix, std::string_view prefix) {
  if (!suffix.starts_with(prefix) || suffix.size() == prefix.size()) return std::nullopt;
  std::int64_t value = 0;
  const char* end = suffix.data() + suffix.size();
  const auto [at, error] = std::from_chars(suffix.data() + prefix.size(), end, value);
  if (error != std::errc() || at != end || value < 0) return std::nullopt;
  return value;
}

std::vector<int> parse_order(std::string_view suffix, int rank) {
  std::vector<int> order;
  for (const char c : suffix.substr(4)) {
    const std::size_t axis = kAxisDigits.find(c);
    if (axis == std::string_view::npos) fail(suffix, "an axis is one of 0 to 9, a to e");
    order.push_back(static_cast<int>(axis));
  }
  std::vector<int> sorted = order;
  std::ranges::sort(sorted);
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (sorted != axes) fail(suffix, fmt::format("names not each of the {} axes once", rank));
  return order;
}

void set_order(CaseLayout& layout, std::string_view suffix, std::vector<int> order) {
  if (!layout.order.empty()) fail(suffix, "the order of axes is given twice");
  if (!std::ranges::is_sorted(order)) layout.order = std::move(order);
}

/// Parses "gap1x5".
AxisGap parse_gap(std::string_view suffix, int rank) {
  const std::size_t cross = suffix.find('x');
  const auto axis = number_after(suffix.substr(0, cross), "gap");
  const auto elements =
      cross == std::string_view::npos ? std::nullopt : number_after(suffix.substr(cross), "x");
  if (!axis || !elements) fail(suffix, "expected an axis and how many elements, such as gap1x5");
  if (*axis >= rank) fail(suffix, fmt::format("there is no such axis in rank {}", rank));
  return {static_cast<int>(*axis), *elements};
}

void add_gap(CaseLayout& layout, std::string_view suffix, const AxisGap& gap) {
  const auto at = std::ranges::lower_bound(layout.gaps, gap.axis, {}, &AxisGap::axis);
  if (at != layout.gaps.end() && at->axis == gap.axis)
    fail(suffix, "the gap of this axis is given twice");
  if (gap.elements > 0) layout.gaps.insert(at, gap);
}

std::int64_t gap_along(const CaseLayout& layout, std::size_t axis) {
  const auto at = std::ranges::find(layout.gaps, static_cast<int>(axis), &AxisGap::axis);
  return at == layout.gaps.end() ? 0 : at->elements;
}

void apply_suffix(CaseLayout& layout, std::string_view suffix, int rank) {
  if (suffix == "nhwc") {
    if (rank < 3) fail(suffix, fmt::format("needs rank 3 or more, got {}", rank));
    set_order(layout, suffix, nhwc_order(rank));
  } else if (suffix == "t") {
    if (rank < 2) fail(suffix, fmt::format("needs rank 2 or more, got {}", rank));
    set_order(layout, suffix, swapped_order(rank));
  } else if (suffix.starts_with("perm")) {
    set_order(layout, suffix, parse_order(suffix, rank));
  } else if (suffix.starts_with("gap")) {
    add_gap(layout, suffix, parse_gap(suffix, rank));
  } else if (const auto pad = number_after(suffix, "pad")) {
    layout.pad = *pad;
  } else if (const auto offset = number_after(suffix, "off")) {
    layout.offset = *offset;
  } else if (const auto axis = number_after(suffix, "bcast")) {
    if (*axis >= rank) fail(suffix, fmt::format("there is no such axis in rank {}", rank));
    layout.repeated.push_back(static_cast<int>(*axis));
  } else {
    fail(suffix, "unknown");
  }
}

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw Error("a tensor of 2^63 elements or more");
  return product;
}

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw Error("a tensor of 2^63 elements or more");
  return sum;
}

}  // namespace

std::vector<int> nhwc_order(int rank) {
  std::vector<int> order = {0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return order;
}

std::vector<int> swapped_order(int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return order;
}

CaseLayout parse_layout(std::string_view text, int rank) {
  CaseLayout layout;
  while (!text.empty()) {
    if (text.front() != ':') fail(text, "a suffix begins with a colon");
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find(':'), text.size());
    apply_suffix(layout, text.substr(0, end), rank);
    text.remove_prefix(end);
  }
  std::ranges::sort(layout.repeated);
  auto& repeated = layout.repeated;  // std::ranges::unique fails in clang 14 with this libstdc++
  repeated.erase(std::unique(repeated.begin(), repeated.end()), repeated.end());
  return layout;
}

std::string to_string(const CaseLayout& layout, int rank) {
  std::string text;
  if (!layout.order.empty()) {
    if (rank >= 4 && layout.order == nhwc_order(rank)) {
      text += ":nhwc";
    } else if (layout.order == swapped_order(rank)) {
      text += ":t";
    } else {
      text += ":perm";
      for (const int axis : layout.order) text += kAxisDigits[static_cast<std::size_t>(axis)];
    }
  }
  if (layout.pad != 0) text += fmt::format(":pad{}", layout.pad);
  for (const AxisGap& gap : layout.gaps) text += fmt::format(":gap{}x{}", gap.axis, gap.elements);
  if (layout.offset != 0) text += fmt::format(":off{}", layout.offset);
  for (const int axis : layout.repeated) text += fmt::format(":bcast{}", axis);
  return text;
}

std::int64_t volume(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent == 0) return 0;
  }
  for (const std::int64_t extent : shape) count = multiply(count, extent);
  return count;
}

Placement place(const std::vector<std::int64_t>& shape, const CaseLayout& layout) {
  Placement placed;
  placed.strides.assign(shape.size(), 0);
  placed.offset = layout.offset;
  std::int64_t stride = 1;
  bool innermost = true;
  for (std::size_t k = shape.size(); k-- > 0;) {
    const auto axis = layout.order.empty() ? k : static_cast<std::size_t>(layout.order[k]);
    if (std::ranges::binary_search(layout.repeated, static_cast<int>(axis))) continue;
    stride = add(stride, gap_along(layout, axis));
    placed.strides[axis] = stride;
    stride = multiply(stride, std::max<std::int64_t>(shape[axis], 1));
    if (innermost) stride = add(stride, layout.pad);
    innermost = false;
  }
  placed.span = add(stride, layout.offset);
  return placed;
}

}  // namespace mote
