// SPDX-License-Identifier: Apache-2.0
// Hypotheses with exchanged or ignored parameters.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/hypotheses.h"
#include "mote/base/error.h"
#include "mote/oracle/generate.h"

namespace mote::diagnosis {
namespace {

constexpr std::int64_t kMaxExtended = std::int64_t{1} << 20;  ///< elements of an input

using Params = std::map<std::string, Number>;

void add_exchanged(std::vector<Hypothesis>& all, const std::string& a, const std::string& b) {
  if (a < b)
    all.push_back({"transposed or swapped axis", fmt::format("with {} and {} exchanged", a, b),
                   [=](const Observed& of) {
                     const Params& p = of.of.params;
                     return with_params(of, {{a, p.at(b)}, {b, p.at(a)}});
                   }});
  all.push_back({"transposed or swapped axis", fmt::format("with {} in place of {}", b, a),
                 [=](const Observed& of) {
                   return with_params(of, {{a, of.of.params.at(b)}});
                 }});
}

bool is_within(const Program& program, const std::string& name, const Number& value) {
  const auto p = std::ranges::find(program.params, name, &ParamDecl::name);
  if (!p->is_integer) return true;
  return value.integer() >= p->lower.value_or(value.integer()) &&
         value.integer() <= p->upper.value_or(value.integer());
}

bool are_smaller(const Case& c, const Case& than) {
  for (std::size_t k = 0; k < c.outputs.size(); ++k)
    for (std::size_t a = 0; a < c.outputs[k].shape.size(); ++a)
      if (c.outputs[k].shape[a] < than.outputs[k].shape[a]) return true;
  return false;
}

/// The case with sizes increased to at least the other's.
std::optional<Case> grown(const Case& c, const Case& other) {
  Draft draft = to_draft(c);
  const KnobValues at = knob_values(domain_of(c.program), other.binding.values);
  for (std::size_t k = 0; k < at.values.size(); ++k)
    draft.at.values[k] = std::max(draft.at.values[k], at.values[k]);
  try {
    return to_case(draft);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The outputs with the parameter at `standard`, if that makes them smaller; the other elements are
/// 0, or those of a first input of zeros.
std::optional<std::vector<Dense>> grown_by(const Observed& of, const std::string& name,
                                           const Number& standard, bool as_of_zeros) {
  Case c = of.of;
  if (same(c.params.at(name), standard)) return std::nullopt;
  c.params[name] = standard;
  try {
    complete(c);
  } catch (const Error&) {
    return std::nullopt;
  }
  const auto shapes = [](const CaseTensor& a, const CaseTensor& b) { return a.shape == b.shape; };
  if (!std::ranges::equal(c.inputs, of.of.inputs, shapes) || !are_smaller(c, of.of))
    return std::nullopt;
  const auto smaller = recompute(c, copies_of(of.inputs));
  std::vector<Dense> first_zero = copies_of(of.inputs);
  for (std::int64_t at = 0; at < first_zero[0].count(); ++at)
    first_zero[0].set(at, is_real(first_zero[0].dtype()) ? Number(0.0) : Number(0));
  auto outputs = recompute(of.of, std::move(first_zero));
  if (!smaller || !outputs) return std::nullopt;
  for (std::size_t k = 0; k < outputs->size(); ++k) {
    Dense& y = (*outputs)[k];
    for (std::int64_t at = 0; at < y.count() && !as_of_zeros; ++at)
      y.set(at, is_real(y.dtype()) ? Number(0.0) : Number(0));
    overlay(y, of.of.outputs[k].shape, (*smaller)[k], c.outputs[k].shape);
  }
  return outputs;
}

void add_left_out(std::vector<Hypothesis>& all, const Observed& o, const std::string& name,
                  const Number& standard) {
  for (const bool as_of_zeros : {false, true})
    all.push_back(
        {"ignored parameter",
         fmt::format("with what {} adds left at {},", name,
                     as_of_zeros ? fmt::format("what {} = 0 gives", o.of.inputs[0].name) : "0"),
         [=](const Observed& of) { return grown_by(of, name, standard, as_of_zeros); }});
}

}  // namespace

void overlay(Dense& onto, const Indices& shape, const Dense& from, const Indices& shape_from) {
  for (std::int64_t at = 0; at < onto.count(); ++at) {
    std::int64_t rest = at, linear = 0, stride = 1;
    bool inside = true;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const std::int64_t i = rest % shape[axis];
      rest /= shape[axis];
      inside = inside && i < shape_from[axis];
      linear += i * stride;
      stride *= shape_from[axis];
    }
    if (inside) onto.set(at, from.at(linear));
  }
}

std::optional<std::vector<Dense>> with_params(const Observed& of,
                                              const std::map<std::string, Number>& values) {
  Case c = of.of;
  bool changed = false;
  for (const auto& [name, value] : values) {
    if (!is_within(*c.program, name, value)) return std::nullopt;
    changed = changed || !same(c.params.at(name), value);
    c.params[name] = value;
  }
  if (!changed) return std::nullopt;
  try {
    complete(c);
  } catch (const Error&) {
    return std::nullopt;
  }
  const bool multiplies = of.inputs.size() > 1;  // zeros beyond the end do not change products
  const std::optional<Case> larger =
      multiplies && are_smaller(c, of.of) ? grown(c, of.of) : std::nullopt;
  return with_sizes(of, larger ? *larger : c);
}

std::optional<std::vector<Dense>> with_sizes(const Observed& of, const Case& other) {
  std::vector<Dense> inputs;
  for (std::size_t k = 0; k < of.inputs.size(); ++k) {
    const Indices& shape = other.inputs[k].shape;
    if (volume(shape) < 0 || volume(shape) > kMaxExtended) return std::nullopt;
    Dense x(of.inputs[k].dtype(), volume(shape));
    for (std::int64_t at = 0; at < x.count(); ++at)
      x.set(at, is_real(x.dtype()) ? Number(0.0) : Number(std::int64_t{0}));
    overlay(x, shape, of.inputs[k], of.of.inputs[k].shape);
    inputs.push_back(std::move(x));
  }
  const auto computed = recompute(other, std::move(inputs));
  if (!computed) return std::nullopt;
  std::vector<Dense> outputs = copies_of(of.expected);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    overlay(outputs[k], of.of.outputs[k].shape, (*computed)[k], other.outputs[k].shape);
  return outputs;
}

std::vector<Hypothesis> parameter_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (const ParamList& list : param_lists(*o.of.program))
    for (const std::string& a : list.members)
      for (const std::string& b : list.members)
        if (a != b) add_exchanged(all, a, b);
  for (const ParamDecl& p : o.of.program->params) {
    if (!p.default_value) continue;
    const Number standard = p.is_integer ? Number(static_cast<std::int64_t>(*p.default_value))
                                         : Number(*p.default_value);
    all.push_back({"ignored parameter",
                   fmt::format("with {} as where it is not given, {},", p.name, *p.default_value),
                   [name = p.name, standard](const Observed& of) {
                     return with_params(of, {{name, standard}});
                   }});
  }
  return all;
}

std::vector<Hypothesis> left_out_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (const ParamDecl& p : o.of.program->params)
    if (p.default_value && !o.of.inputs.empty())
      add_left_out(all, o, p.name,
                   p.is_integer ? Number(static_cast<std::int64_t>(*p.default_value))
                                : Number(*p.default_value));
  return all;
}

}  // namespace mote::diagnosis
