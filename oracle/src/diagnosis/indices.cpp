// SPDX-License-Identifier: Apache-2.0
// Hypotheses on tensors of indices: indices outside the axis, and those that only 64 bits hold.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "diagnosis/hypotheses.h"

namespace mote::diagnosis {
namespace {

using Changed = std::function<std::int64_t(std::int64_t)>;

std::optional<std::vector<Dense>> with_indices(const Observed& of, std::size_t input,
                                               const Changed& changed) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  bool any = false;
  for (std::int64_t at = 0; at < inputs[input].count(); ++at) {
    const std::int64_t index = inputs[input].at(at).integer();
    const std::int64_t other = changed(index);
    any = any || index != other;
    inputs[input].set(at, Number(other));
  }
  if (!any) return std::nullopt;
  return recompute(of.of, std::move(inputs));
}

void add_everywhere(std::vector<Hypothesis>& all, const std::string& name, std::size_t input) {
  const auto add = [&](const char* kind, const std::string& text, const Changed& changed) {
    all.push_back({kind, fmt::format("with {} {}", name, text),
                   [=](const Observed& of) { return with_indices(of, input, changed); }});
  };
  add("index wraps", "in 32 bits",
      [](auto i) { return std::int64_t{static_cast<std::int32_t>(i)}; });
  add("index wraps", "in 16 bits",
      [](auto i) { return std::int64_t{static_cast<std::int16_t>(i)}; });
  add("index left out", "out of range where it is negative",
      [](auto i) { return i < 0 ? std::numeric_limits<std::int64_t>::min() : i; });
  add("index clamped", "0 where it is negative",
      [](auto i) { return std::max(i, decltype(i){0}); });
  add("index wraps", "without its sign where it is negative",
      [](auto i) { return i < 0 && i > std::numeric_limits<std::int64_t>::min() ? -i : i; });
}

/// Adds changes of an index to one within an axis of that size.
void add_within(std::vector<Hypothesis>& all, const std::string& name, std::size_t input,
                Symbol size) {
  const auto add = [&](const char* kind, const char* text, auto changed) {
    all.push_back({kind, fmt::format("with {} {} {}", name, text, size.name()),
                   [=](const Observed& of) -> std::optional<std::vector<Dense>> {
                     const std::int64_t extent = of.of.binding.values.at(size);
                     if (extent < 1) return std::nullopt;
                     return with_indices(of, input, [=](auto i) { return changed(i, extent); });
                   }});
  };
  using I = std::int64_t;
  add("index clamped", "moved to the nearest end of", [](I i, I extent) {
    const I counted = i < 0 && i >= -extent ? i + extent : i;
    return std::clamp<I>(counted, 0, extent - 1);
  });
  add("index clamped", "not counted from the end but moved to the nearest end of",
      [](I i, I extent) { return std::clamp<I>(i, 0, extent - 1); });
  add("index clamped", "the last where it is negative, of",
      [](I i, I extent) { return i < 0 ? extent - 1 : i; });
  add("index wraps", "modulo", [](I i, I extent) { return (i % extent + extent) % extent; });
}

/// Only one of several equal indices within a block along an axis is followed: where several lanes
/// read before any of them writes, one update is kept.
struct Duplicates {
  std::size_t input = 0;
  std::size_t axis = 0;
  Symbol size;             ///< the size of the axis that the indices refer to
  std::int64_t block = 0;  ///< 0: the whole axis
  bool first = false;      ///< the first of equal indices is followed, not the last
};

std::optional<std::vector<Dense>> without_duplicates(const Observed& of, const Duplicates& d) {
  const std::vector<std::int64_t>& shape = of.of.inputs[d.input].shape;
  const std::int64_t extent = of.of.binding.values.at(d.size);
  std::vector<Dense> inputs = copies_of(of.inputs);
  Dense& index = inputs[d.input];
  std::int64_t inner = 1;
  for (std::size_t k = d.axis + 1; k < shape.size(); ++k) inner *= shape[k];
  const auto counted = [&](std::int64_t at) {
    const std::int64_t i = of.inputs[d.input].at(at).integer();
    return i < 0 ? i + extent : i;
  };
  bool any = false;
  for_each_along(shape, d.axis, [&](std::int64_t linear, std::int64_t at) {
    const std::int64_t begin = d.block == 0 ? 0 : at - at % d.block;
    const std::int64_t end =
        d.block == 0 ? shape[d.axis] : std::min(begin + d.block, shape[d.axis]);
    for (std::int64_t other = d.first ? begin : at + 1; other < (d.first ? at : end); ++other)
      if (counted(linear + (other - at) * inner) == counted(linear)) {
        index.set(linear, Number(std::numeric_limits<std::int64_t>::min()));
        any = true;
        return;
      }
  });
  if (!any) return std::nullopt;
  return recompute(of.of, std::move(inputs));
}

void add_duplicates(std::vector<Hypothesis>& all, const Observed& o, std::size_t input,
                    Symbol size) {
  const CaseTensor& t = o.of.inputs[input];
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis)
    for (const std::int64_t block : {0, 2, 4, 8, 16, 32})
      for (const bool first : {false, true})
        all.push_back(
            {"duplicate index",
             fmt::format("with the {} of equal elements of {} alone{}", first ? "first" : "last",
                         t.name, block == 0 ? "" : fmt::format(", in each {},", block)),
             [d = Duplicates{input, axis, size, block, first}](const Observed& of) {
               return without_duplicates(of, d);
             }});
}

std::set<Symbol> sizes_of(const Observed& o) {
  std::set<Symbol> sizes;
  for (const auto& [symbol, value] : o.of.binding.values)
    if (symbol.kind() == SymbolKind::size) sizes.insert(symbol);
  return sizes;
}

}  // namespace

std::vector<Hypothesis> duplicate_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k)
    if (o.of.inputs[k].dtype == DType::i64)
      for (const Symbol size : sizes_of(o)) add_duplicates(all, o, k, size);
  return all;
}

std::vector<Hypothesis> index_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  const std::set<Symbol> sizes = sizes_of(o);
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) {
    if (o.of.inputs[k].dtype != DType::i64) continue;
    add_everywhere(all, o.of.inputs[k].name, k);
    for (const Symbol size : sizes) add_within(all, o.of.inputs[k].name, k, size);
  }
  return all;
}

}  // namespace mote::diagnosis
