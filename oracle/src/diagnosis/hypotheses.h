// What a kernel may have done, each with a way to compute what it would then have given.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/observed.h"

namespace mote::diagnosis {

struct Hypothesis {
  std::string kind;  ///< "missing term"
  std::string text;  ///< "without the last K % 8 of K in a"
  /// The outputs that a kernel which does that gives; nullopt where it says nothing of the case.
  std::function<std::optional<std::vector<Dense>>(const Observed&)> outputs;
};

/// Inputs rounded to fewer bits before they are used; sums rounded or clamped after each term.
std::vector<Hypothesis> rounding_hypotheses(const Observed& observed);
/// Parts of an axis left out, inputs left out.
std::vector<Hypothesis> missing_hypotheses(const Observed& observed);
/// Parameters exchanged, or at their defaults.
std::vector<Hypothesis> parameter_hypotheses(const Observed& observed);
/// Axes exchanged or reversed, neighbours read.
std::vector<Hypothesis> place_hypotheses(const Observed& observed);
/// Zeros, a copy, NaN that is dropped or spreads.
std::vector<Hypothesis> value_hypotheses(const Observed& observed);
/// Other formulas of the op: one-pass variance.
std::vector<Hypothesis> form_hypotheses(const Observed& observed);

/// The name of an axis: its size as the program writes it.
std::string axis_name(const Observed& observed, std::size_t input, std::size_t axis);

/// Calls f(linear, index along the axis) for every element.
template <typename F>
void for_each_along(const std::vector<std::int64_t>& shape, std::size_t axis, F&& f) {
  std::int64_t inner = 1;
  for (std::size_t k = axis + 1; k < shape.size(); ++k) inner *= shape[k];
  const std::int64_t count = volume(shape);
  for (std::int64_t linear = 0; linear < count; ++linear) f(linear, linear / inner % shape[axis]);
}

}  // namespace mote::diagnosis
