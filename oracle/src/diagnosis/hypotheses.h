// SPDX-License-Identifier: Apache-2.0
// Defects that a kernel may have, each with a function that computes the outputs it would give.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/observed.h"

namespace mote::diagnosis {

struct Hypothesis {
  std::string kind;  ///< "missing term"
  std::string text;  ///< "without the last K % 8 of K in a"
  /// The outputs of a kernel with that defect; nullopt if the hypothesis does not apply to the
  /// case.
  std::function<std::optional<std::vector<Dense>>(const Observed&)> outputs;
  /// There are many hypotheses of this kind, so one may explain a case by chance: it must explain
  /// four in five.
  bool strict = false;
  /// Replaces `text` if that takes time to make.
  std::function<std::string()> say = {};
  /// True for the cases that tell it from others; it must explain one of them. Empty: all cases do.
  std::function<bool(const Observed&)> tells = {};
};

/// Inputs rounded to fewer bits before they are used; sums rounded or clamped after each term.
std::vector<Hypothesis> rounding_hypotheses(const Observed& observed);
/// Parts of an axis left out, inputs left out.
std::vector<Hypothesis> missing_hypotheses(const Observed& observed);
/// Parameters exchanged, or at their defaults.
std::vector<Hypothesis> parameter_hypotheses(const Observed& observed);
/// The part of the outputs that a parameter adds is not computed.
std::vector<Hypothesis> left_out_hypotheses(const Observed& observed);
/// Axes exchanged or reversed, neighbours read.
std::vector<Hypothesis> location_hypotheses(const Observed& observed);
/// The blocks of an axis: a lost carry, locations counted within a block.
std::vector<Hypothesis> block_hypotheses(const Observed& observed);
/// Zeros, a copy, NaN that is dropped or spreads.
std::vector<Hypothesis> value_hypotheses(const Observed& observed);
/// Other formulas of the op: one-pass variance.
std::vector<Hypothesis> form_hypotheses(const Observed& observed);

/// Values that are not finite although all that they are computed from is.
std::vector<Hypothesis> overflow_hypotheses(const Observed& observed);
/// Inputs, outputs and parameters times or plus numbers that the case names.
std::vector<Hypothesis> quantity_hypotheses(const Observed& observed);
/// Elements of an axis read at the index of another axis.
std::vector<Hypothesis> index_of_other_axis_hypotheses(const Observed& observed);
/// Elements of an axis in another order.
std::vector<Hypothesis> order_hypotheses(const Observed& observed);
/// Indices that are clamped, cut off or left out.
std::vector<Hypothesis> index_hypotheses(const Observed& observed);
/// The op's program with another formula at one node (altered.h).
std::vector<Hypothesis> formula_hypotheses(const Observed& observed);
/// Another of several equal elements, and halves rounded the other way.
std::vector<Hypothesis> tie_hypotheses(const Observed& observed);
/// Only one of equal indices counts.
std::vector<Hypothesis> duplicate_hypotheses(const Observed& observed);
/// Sums inside the program in fewer bits.
std::vector<Hypothesis> inner_sum_hypotheses(const Observed& observed);
/// Other limits, integers as floats, outputs and single inputs in fewer bits, denormals.
std::vector<Hypothesis> end_hypotheses(const Observed& observed);
/// The op along another axis.
std::vector<Hypothesis> along_other_axis_hypotheses(const Observed& observed);
/// Zeros beyond the end of an axis that count.
std::vector<Hypothesis> padding_hypotheses(const Observed& observed);
/// The op in wider integers, on exchanged inputs, on its own results, or another op.
std::vector<Hypothesis> other_op_hypotheses(const Observed& observed);

/// True if the program sums, or searches, along an axis of that input.
bool is_reduced(const Observed& observed, std::size_t input, std::size_t axis);

/// The name of an axis: its size as the program writes it.
std::string axis_name(const Observed& observed, std::size_t input, std::size_t axis);

using Indices = std::vector<std::int64_t>;

/// The tensor whose element at each index is that of x at another index.
Dense rearranged(const Dense& x, const Indices& shape, const std::function<Indices(Indices)>& from);

/// Copies the elements of `from` at the indices that both shapes have; others stay.
void overlay(Dense& onto, const Indices& shape, const Dense& from, const Indices& shape_from);

/// The reference's outputs for other sizes, with inputs that are 0 beyond their ends: the part of
/// the outputs that both have.
std::optional<std::vector<Dense>> with_sizes(const Observed& of, const Case& other);

/// The reference with other values of some parameters; nullopt if these are the same or not legal.
/// If they make the outputs larger, a kernel that was given the right sizes computes the part that
/// both have; if they make them smaller, and the op has several inputs, it reads zeros beyond their
/// ends.
std::optional<std::vector<Dense>> with_params(const Observed& of,
                                              const std::map<std::string, Number>& values);

/// Calls f(linear, index along the axis) for every element.
template <typename F>
void for_each_along(const std::vector<std::int64_t>& shape, std::size_t axis, F&& f) {
  std::int64_t inner = 1;
  for (std::size_t k = axis + 1; k < shape.size(); ++k) inner *= shape[k];
  const std::int64_t count = volume(shape);
  for (std::int64_t linear = 0; linear < count; ++linear) f(linear, linear / inner % shape[axis]);
}

}  // namespace mote::diagnosis
