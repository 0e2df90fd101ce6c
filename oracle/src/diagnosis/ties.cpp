// SPDX-License-Identifier: Apache-2.0
// Of values that are equal, or equally near, another one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnosis/hypotheses.h"

namespace mote::diagnosis {
namespace {

constexpr double kNudge = 0x1p-20;  ///< share of a value that moves a half off its tie

/// Half of the least distance between two different elements; nullopt: there are none.
std::optional<double> half_gap(const Dense& x) {
  std::vector<double> values;
  for (std::int64_t at = 0; at < x.count(); ++at)
    if (std::isfinite(x.at(at).real())) values.push_back(x.at(at).real());
  if (values.size() < 2) return std::nullopt;
  std::ranges::sort(values);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; k < values.size(); ++k)
    if (values[k] > values[k - 1]) least = std::min(least, values[k] - values[k - 1]);
  return std::isfinite(least) ? least / 2 : 1;
}

/// Equal elements told apart by where they are, the later ones a little greater (or less). Only
/// what counts places is taken: the outputs of integers.
std::optional<std::vector<Dense>> later_wins(const Observed& of, std::size_t input, int sign) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  Dense& x = inputs[input];
  const auto gap = half_gap(x);
  if (!gap) return std::nullopt;
  for (std::int64_t at = 0; at < x.count(); ++at)
    x.set(at, Number(x.at(at).real() +
                     sign * *gap * static_cast<double>(at) / static_cast<double>(x.count())));
  auto outputs = recompute(of.of, std::move(inputs));
  for (std::size_t k = 0; outputs && k < outputs->size(); ++k)
    if (is_real((*outputs)[k].dtype())) (*outputs)[k] = copy_of(of.expected[k]);
  return outputs;
}

/// The reference where an input is a little larger, or smaller.
std::optional<std::vector<Dense>> nudged(const Observed& of, std::size_t input, double factor) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  for (std::int64_t at = 0; at < inputs[input].count(); ++at)
    inputs[input].set(at, Number(inputs[input].at(at).real() * factor));
  return recompute(of.of, std::move(inputs));
}

/// The reference where an input is a little to one side.
std::optional<std::vector<Dense>> moved(const Observed& of, std::size_t input, double by) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  for (std::int64_t at = 0; at < inputs[input].count(); ++at) {
    const double value = inputs[input].at(at).real();
    inputs[input].set(at, Number(value + by * std::abs(value)));
  }
  return recompute(of.of, std::move(inputs));
}

}  // namespace

std::vector<Hypothesis> tie_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) {
    if (!is_real(o.of.inputs[k].dtype)) continue;
    const std::string& name = o.of.inputs[k].name;
    for (const int sign : {1, -1})
      all.push_back({"another tie",
                     fmt::format("with the last of equal elements of {} taken", name),
                     [=](const Observed& of) { return later_wins(of, k, sign); }});
    for (const auto& [text, by] : {std::pair{"up", kNudge}, std::pair{"down", -kNudge}})
      all.push_back({"another tie",
                     fmt::format("with halves of {} rounded {}, as where it is a little {},", name,
                                 text, by > 0 ? "greater" : "less"),
                     [=, by = by](const Observed& of) { return moved(of, k, by); }});
    for (const auto& [text, factor] :
         {std::pair{"away from 0", 1 + kNudge}, std::pair{"towards 0", 1 - kNudge}})
      all.push_back({"another tie",
                     fmt::format("with halves rounded {}, as where {} is a little {},", text, name,
                                 factor > 1 ? "greater" : "less"),
                     [=, factor = factor](const Observed& of) { return nudged(of, k, factor); }});
  }
  return all;
}

}  // namespace mote::diagnosis
