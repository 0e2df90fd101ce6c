// SPDX-License-Identifier: Apache-2.0
// Tensors of indices: what does not lie within the axis, and what 64 bits hold alone.
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
}

/// Within an axis of that size of the program.
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
  add("index wraps", "modulo", [](I i, I extent) { return (i % extent + extent) % extent; });
}

}  // namespace

std::vector<Hypothesis> index_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  std::set<Symbol> sizes;
  for (const auto& [symbol, value] : o.of.binding.values)
    if (symbol.kind() == SymbolKind::size) sizes.insert(symbol);
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) {
    if (o.of.inputs[k].dtype != DType::i64) continue;
    add_everywhere(all, o.of.inputs[k].name, k);
    for (const Symbol size : sizes) add_within(all, o.of.inputs[k].name, k, size);
  }
  return all;
}

}  // namespace mote::diagnosis
