// SPDX-License-Identifier: Apache-2.0
// Tests numbers at the limits of formats: other limits of saturation, integers converted to floats,
// outputs in fewer bits, denormals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "diagnosis/hypotheses.h"

namespace mote::diagnosis {
namespace {

using Change = std::function<Number(const Number&)>;

Dense changed(const Dense& x, const Change& change, bool& any) {
  Dense y(x.dtype(), x.count());
  for (std::int64_t at = 0; at < x.count(); ++at) {
    const Number before = x.at(at);
    const Number after = change(before);
    any = any || !same(before, store_as(after, x.dtype()));
    y.set(at, after);
  }
  return y;
}

std::vector<Dense> changed(const std::vector<Dense>& all, const Change& change, bool reals,
                           bool& any) {
  std::vector<Dense> result;
  for (const Dense& x : all) {
    const bool is_meant = is_real(x.dtype()) == reals && x.dtype() != DType::boolean;
    result.push_back(is_meant ? changed(x, change, any) : copy_of(x));
  }
  return result;
}

/// The tensors that are changed.
enum class Which : std::uint8_t { inputs, outputs, both };

std::optional<std::vector<Dense>> with_changed(const Observed& of, const Change& change, bool reals,
                                               Which which) {
  bool any = false;
  std::optional<std::vector<Dense>> outputs =
      which == Which::outputs ? std::optional(copies_of(of.expected))
                              : recompute(of.of, changed(of.inputs, change, reals, any));
  if (outputs && which != Which::inputs) outputs = changed(*outputs, change, reals, any);
  if (!any) return std::nullopt;
  return outputs;
}

/// Converts an integer to a float or a double and back.
Change through(DType real) {
  return [real](const Number& n) {
    const double value = store_as(Number(static_cast<double>(n.integer())), real).real();
    return store_as(Number(value), DType::i64);
  };
}

void add_integers_as_floats(std::vector<Hypothesis>& all, const Observed& o) {
  const auto is_integer = [](const CaseTensor& t) {
    return !is_real(t.dtype) && t.dtype != DType::boolean && size_of(t.dtype) >= 4;
  };
  if (std::ranges::none_of(o.of.inputs, is_integer) &&
      std::ranges::none_of(o.of.outputs, is_integer))
    return;
  for (const auto& [real, name] : {std::pair{DType::f32, "floats, which have 24 bits,"},
                                   std::pair{DType::f64, "doubles, which have 53 bits,"}})
    for (const auto& [which, what] :
         {std::pair{Which::inputs, "inputs"}, std::pair{Which::outputs, "outputs"},
          std::pair{Which::both, "inputs and outputs"}})
      all.push_back({"integers as floats", fmt::format("with {} taken for {}", what, name),
                     [real = real, which = which](const Observed& of) {
                       return with_changed(of, through(real), false, which);
                     }});
}

void add_limits(std::vector<Hypothesis>& all, DType dtype) {
  if (!is_integer(dtype) || dtype == DType::i64) return;
  const auto least = static_cast<double>(integer_range(dtype).least);
  const auto greatest = static_cast<double>(integer_range(dtype).greatest);
  const std::pair<double, double> kept[] = {{least + 1, greatest},
                                            {least, greatest - 1},
                                            {least + 1, greatest - 1},
                                            {std::max(least, 0.0), greatest},
                                            {least, 127},
                                            {std::max(least, 0.0), 127},
                                            {least, std::trunc(greatest / 2)}};
  for (const auto& [low, high] : kept) {
    if (low == least && high == greatest) continue;
    all.push_back({"saturates", fmt::format("with outputs kept between {} and {}", low, high),
                   [low = low, high = high](const Observed& of) {
                     const Change change = [=](const Number& n) {
                       return Number(static_cast<std::int64_t>(
                           std::clamp(static_cast<double>(n.integer()), low, high)));
                     };
                     return with_changed(of, change, false, Which::outputs);
                   }});
  }
}

/// The outputs with the greatest number in place of each infinity.
std::optional<std::vector<Dense>> finite_ends(const Observed& of) {
  std::vector<Dense> outputs = copies_of(of.expected);
  bool any = false;
  for (Dense& y : outputs) {
    if (!is_real(y.dtype())) continue;
    for (std::int64_t at = 0; at < y.count(); ++at) {
      const double value = y.at(at).real();
      if (!std::isinf(value)) continue;
      y.set(at, Number(std::copysign(real_format(y.dtype()).greatest, value)));
      any = true;
    }
  }
  if (!any) return std::nullopt;
  return outputs;
}

double least_normal(DType dtype) {
  const RealFormat format = real_format(dtype);
  return std::ldexp(1.0, format.least_exponent + format.precision - 1);
}

void add_denormals(std::vector<Hypothesis>& all, DType dtype) {
  const Change flush = [least = least_normal(dtype)](const Number& n) {
    return std::abs(n.real()) < least ? Number(std::copysign(0.0, n.real())) : n;
  };
  for (const auto& [which, what] :
       {std::pair{Which::inputs, "inputs"}, std::pair{Which::outputs, "outputs"},
        std::pair{Which::both, "inputs and outputs"}})
    all.push_back({"denormals flushed",
                   fmt::format("with 0 in place of {} that are denormal", what),
                   [flush, which = which](const Observed& of) {
                     return with_changed(of, flush, true, which);
                   }});
}

void add_narrow_outputs(std::vector<Hypothesis>& all, DType dtype) {
  all.push_back({"saturates", "with the greatest number in place of an infinity", finite_ends});
  for (const DType narrow : kShortReals) {
    if (size_of(narrow) >= size_of(dtype)) continue;
    const Change round = [narrow](const Number& n) { return store_as(n, narrow); };
    all.push_back(
        {"narrow output", fmt::format("with outputs rounded to {}", name(narrow)),
         [round](const Observed& of) { return with_changed(of, round, true, Which::outputs); }});
    all.push_back(
        {"demoted inputs", fmt::format("with inputs and outputs rounded to {}", name(narrow)),
         [round](const Observed& of) { return with_changed(of, round, true, Which::both); }});
  }
}

/// Adds each single input in a narrower format, with its range too.
void add_narrow_inputs(std::vector<Hypothesis>& all, const Observed& o) {
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) {
    const CaseTensor& t = o.of.inputs[k];
    if (!is_real(t.dtype)) continue;
    for (const DType narrow : kShortReals) {
      if (size_of(narrow) >= size_of(t.dtype)) continue;
      all.push_back({"demoted inputs", fmt::format("with {} rounded to {}", t.name, name(narrow)),
                     [k, narrow](const Observed& of) -> std::optional<std::vector<Dense>> {
                       std::vector<Dense> inputs = copies_of(of.inputs);
                       bool any = false;
                       inputs[k] = changed(
                           inputs[k], [narrow](const Number& n) { return store_as(n, narrow); },
                           any);
                       if (!any) return std::nullopt;
                       return recompute(of.of, std::move(inputs));
                     }});
    }
  }
}

}  // namespace

std::vector<Hypothesis> end_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  add_integers_as_floats(all, o);
  std::set<DType> reals, integers;
  for (const CaseTensor& t : o.of.outputs) (is_real(t.dtype) ? reals : integers).insert(t.dtype);
  for (const DType dtype : integers) add_limits(all, dtype);
  for (const DType dtype : reals) add_narrow_outputs(all, dtype);
  for (const CaseTensor& t : o.of.inputs)
    if (is_real(t.dtype)) reals.insert(t.dtype);
  for (const DType dtype : reals) add_denormals(all, dtype);
  add_narrow_inputs(all, o);
  return all;
}

}  // namespace mote::diagnosis
