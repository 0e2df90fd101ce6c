// SPDX-License-Identifier: Apache-2.0
// Hypotheses that choose another of equal, or equally near, values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnosis/hypotheses.h"
#include "run/scan.h"

namespace mote::diagnosis {
namespace {

constexpr double kNudge = 0x1p-20;  ///< the share of a value that moves a half off its tie

/// Half of the least distance between two different elements; nullopt without such elements.
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

/// The integer outputs, which count locations, are those of the reference with some elements of an
/// input changed: changed(element, location) is the new value, or nullopt.
template <typename Changed>
std::optional<std::vector<Dense>> locations_where(const Observed& of, std::size_t input,
                                                  const Changed& changed) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  bool any = false;
  for (std::int64_t at = 0; at < inputs[input].count(); ++at) {
    const std::optional<double> other = changed(inputs[input].at(at).real(), at);
    if (other) inputs[input].set(at, Number(*other));
    any = any || other;
  }
  if (!any) return std::nullopt;
  auto outputs = recompute(of.of, std::move(inputs));
  for (std::size_t k = 0; outputs && k < outputs->size(); ++k)
    if (is_real((*outputs)[k].dtype())) (*outputs)[k] = copy_of(of.expected[k]);
  return outputs;
}

/// Equal elements are distinguished by their location: later ones are made a little greater (or
/// less).
std::optional<std::vector<Dense>> later_wins(const Observed& of, std::size_t input, int sign) {
  const auto gap = half_gap(of.inputs[input]);
  if (!gap) return std::nullopt;
  const auto count = static_cast<double>(of.inputs[input].count());
  return locations_where(of, input, [=](double x, std::int64_t at) -> std::optional<double> {
    return x + sign * *gap * static_cast<double>(at) / count;
  });
}

/// The reference with -0 less than 0.
std::optional<std::vector<Dense>> zeros_ordered(const Observed& of, std::size_t input) {
  const int exponent = real_format(of.inputs[input].dtype()).least_exponent;
  const double least = std::ldexp(1.0, exponent);
  return locations_where(of, input, [=](double x, std::int64_t) -> std::optional<double> {
    if (x != 0 || !std::signbit(x)) return std::nullopt;
    return -least;
  });
}

/// NaN is replaced by numbers beyond all others; the first or the last of them is the farthest.
std::optional<std::vector<Dense>> nan_beyond(const Observed& of, std::size_t input, int sign,
                                             bool last) {
  const double beyond = real_format(of.inputs[input].dtype()).greatest / 4;
  const auto count = static_cast<double>(of.inputs[input].count());
  return locations_where(of, input, [=](double x, std::int64_t at) -> std::optional<double> {
    const double share = static_cast<double>(at) / count;
    if (std::isnan(x)) return sign * beyond * (2 + (last ? share : -share));
    if (std::isinf(x)) return std::copysign(beyond / 2, x);
    return std::nullopt;
  });
}

/// Takes the last of several NaN, if the op takes the first one as the greatest (sign > 0) or the
/// least element.
std::optional<std::vector<Dense>> last_nan(const Observed& of, std::size_t input, int sign) {
  const auto first = nan_beyond(of, input, sign, false);
  if (!first) return std::nullopt;
  if (!same_values(*first, of.expected)) return std::nullopt;
  return nan_beyond(of, input, sign, true);
}

/// The reference with an input scaled by `factor`.
std::optional<std::vector<Dense>> nudged(const Observed& of, std::size_t input, double factor) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  for (std::int64_t at = 0; at < inputs[input].count(); ++at)
    inputs[input].set(at, Number(inputs[input].at(at).real() * factor));
  return recompute(of.of, std::move(inputs));
}

/// The reference with an input moved a little up or down.
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
    all.push_back({"another tie", fmt::format("with -0 less than 0 in {}", name),
                   [=](const Observed& of) { return zeros_ordered(of, k); }});
    for (const int sign : {1, -1})
      all.push_back({"another tie", fmt::format("with the last NaN of {} taken", name),
                     [=](const Observed& of) { return last_nan(of, k, sign); }});
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
