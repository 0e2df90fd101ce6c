// SPDX-License-Identifier: Apache-2.0
// Hypotheses on values that are recognised without a formula: zeros, copies, NaN.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnosis/hypotheses.h"
#include "judge/bounds.h"
#include "judge/form.h"
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

std::optional<std::vector<Dense>> zeros(const Observed& of) {
  std::vector<Dense> outputs;
  for (const Dense& y : of.expected) {
    outputs.emplace_back(y.dtype(), y.count());
    for (std::int64_t at = 0; at < y.count(); ++at)
      outputs.back().set(at, is_real(y.dtype()) ? Number(0.0) : Number(std::int64_t{0}));
  }
  return outputs;
}

/// The elements of an input in turn.
std::optional<std::vector<Dense>> copy(const Observed& of, std::size_t input) {
  const Dense& x = of.inputs[input];
  std::vector<Dense> outputs = copies_of(of.expected);
  for (Dense& y : outputs) {
    if (y.dtype() != x.dtype() || y.count() > x.count()) return std::nullopt;
    for (std::int64_t at = 0; at < y.count(); ++at) y.set(at, x.at(at));
  }
  return outputs;
}

/// The element of an input at the output's index, modulo the input's extents; the axes of both
/// count from the last one.
std::optional<std::vector<Dense>> copy_at_index(const Observed& of, std::size_t input) {
  const Dense& x = of.inputs[input];
  const Indices& shape = of.of.inputs[input].shape;
  std::vector<Dense> outputs = copies_of(of.expected);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].dtype() != x.dtype() || x.count() == 0) return std::nullopt;
    const Indices& whole = of.of.outputs[k].shape;
    for (std::int64_t at = 0; at < outputs[k].count(); ++at) {
      std::int64_t rest = at, from = 0, stride = 1;
      for (std::size_t axis = 0; axis < std::min(shape.size(), whole.size()); ++axis) {
        const std::int64_t extent = whole[whole.size() - 1 - axis];
        const std::int64_t own = shape[shape.size() - 1 - axis];
        from += rest % extent % own * stride;
        rest /= extent;
        stride *= own;
      }
      outputs[k].set(at, x.at(from));
    }
  }
  return outputs;
}

std::optional<std::vector<Dense>> nan_replaced(const Observed& of, double by) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  bool changed = false;
  for (Dense& x : inputs) {
    if (!is_real(x.dtype())) continue;
    for (std::int64_t at = 0; at < x.count(); ++at) {
      if (!std::isnan(x.at(at).real())) continue;
      x.set(at, Number(by));
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  return recompute(of.of, std::move(inputs));
}

/// The inputs with another number in place of each element that is not finite; nullopt if all are
/// finite.
std::optional<std::vector<Dense>> all_finite(const Observed& of, double by) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  bool any = false;
  for (Dense& x : inputs)
    for (std::int64_t at = 0; at < x.count() && is_real(x.dtype()); ++at) {
      if (std::isfinite(x.at(at).real())) continue;
      x.set(at, Number(by));
      any = true;
    }
  if (!any) return std::nullopt;
  return inputs;
}

/// The outputs with NaN in elements that depend (or do not depend) on the inputs that are not
/// finite, found by replacing these with other numbers.
std::optional<std::vector<Dense>> nan_spreads(const Observed& of, bool depend) {
  std::vector<std::vector<Dense>> others;
  for (const double by : {1.0, -3.5, 1000.0}) {
    auto inputs = all_finite(of, by);
    if (!inputs) return std::nullopt;
    auto outputs = recompute(of.of, *std::move(inputs));
    if (!outputs) return std::nullopt;
    others.push_back(*std::move(outputs));
  }
  std::vector<Dense> outputs = copies_of(of.expected);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    for (std::int64_t at = 0; at < outputs[k].count() && is_real(outputs[k].dtype()); ++at) {
      const bool depends = std::ranges::any_of(
          others, [&](const auto& other) { return !of.expected[k].same(at, other[k]); });
      if (depends == depend) outputs[k].set(at, Number(std::numeric_limits<double>::quiet_NaN()));
    }
  return outputs;
}

/// The outputs with the kernel's NaN or infinities, if all inputs and the expected values are
/// finite.
std::optional<std::vector<Dense>> overflowed(const Observed& of) {
  for (const Dense& x : of.inputs)
    for (std::int64_t at = 0; at < x.count() && is_real(x.dtype()); ++at)
      if (!std::isfinite(x.at(at).real())) return std::nullopt;
  std::vector<Dense> outputs = copies_of(of.expected);
  for (const Difference& d : of.outcome.differences) {
    const bool burst = d.got.is_real() && !std::isfinite(d.got.real()) && d.expected.is_real() &&
                       std::isfinite(d.expected.real());
    const auto t = std::ranges::find(of.of.outputs, d.tensor, &CaseTensor::name);
    if (!burst || t == of.of.outputs.end()) return std::nullopt;
    outputs[static_cast<std::size_t>(t - of.of.outputs.begin())].set(position(d, t->shape), d.got);
  }
  return outputs;
}

/// The kernel's values that another formula of the op allows, and the reference's values elsewhere.
std::optional<std::vector<Dense>> by_form(const Observed& of, const std::string& form) {
  mote_contract contract{};
  contract.size = sizeof contract;
  contract.form = form.c_str();
  if (!form_misfit(of.of, &contract).empty()) return std::nullopt;
  std::vector<Dense> outputs = copies_of(of.expected);
  std::vector<Dense> inputs = copies_of(of.inputs);
  try {
    const std::vector<Interval> ends = BoundOf::make(of.of, &contract)->compute(of.of, inputs);
    for (const Difference& d : of.outcome.differences)
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (of.of.outputs[k].name != d.tensor) continue;
        const std::int64_t at = position(d, of.of.outputs[k].shape);
        Dense got = copy_of(outputs[k]);
        got.set(at, d.got);
        const bool known = !ends[k].certain() && !is_indeterminate(ends[k], at, got.dtype());
        if (known && accepts(ends[k], at, got)) outputs[k].set(at, d.got);
      }
  } catch (const Error&) {
    return std::nullopt;
  }
  return outputs;
}

}  // namespace

std::vector<Hypothesis> value_hypotheses(const Observed& o) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<Hypothesis> all;
  for (const double by : {-kInfinity, 0.0, kInfinity})
    all.push_back({"NaN dropped", fmt::format("with {} in place of NaN", by),
                   [by](const Observed& of) { return nan_replaced(of, by); }});
  all.push_back({"NaN that must not be read",
                 "with NaN in elements that do not depend on an input's NaN or infinity",
                 [](const Observed& of) { return nan_spreads(of, false); }});
  all.push_back({"NaN of an infinity", "with NaN where an input's infinity gives another number",
                 [](const Observed& of) { return nan_spreads(of, true); }});
  all.push_back({"zeros", "with 0 in place of what is wrong", zeros});
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k)
    all.push_back({"copy of an input",
                   fmt::format("with the elements of {} in turn", o.of.inputs[k].name),
                   [k](const Observed& of) { return copy(of, k); }});
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) {
    all.push_back(
        {"copy of an input",
         fmt::format("with the elements of {} at the output's index", o.of.inputs[k].name),
         [k](const Observed& of) { return copy_at_index(of, k); }});
    all.back().strict = true;
  }
  return all;
}

std::vector<Hypothesis> overflow_hypotheses(const Observed&) {
  return {{"overflow", "with an infinity, or what follows from one, in place of what is finite",
           overflowed}};
}

std::vector<Hypothesis> form_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  if (o.of.target->record() == nullptr) return all;
  for (const Form& form : o.of.target->record()->forms)
    all.push_back({form.name == "one_pass" ? "one-pass variance" : "another formula",
                   fmt::format("within the bound of the form {}", form.name),
                   [name = form.name](const Observed& of) { return by_form(of, name); }});
  return all;
}

}  // namespace mote::diagnosis
