// SPDX-License-Identifier: Apache-2.0
// Hypotheses from the reference of another computation: another op, the op on its own result, on
// inputs extended by zeros, on exchanged inputs, in wider integers.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "diagnosis/hypotheses.h"
#include "mote/base/error.h"
#include "mote/oracle/domain.h"

namespace mote::diagnosis {
namespace {

bool have_same_inputs(const OpRecord& a, const OpRecord& b) {
  return std::ranges::equal(a.inputs, b.inputs, [](const InputDecl& x, const InputDecl& y) {
    return x.name == y.name && x.optional == y.optional;
  });
}

/// The result of another op for the same inputs and the same values of common parameters.
std::optional<std::vector<Dense>> of_other_op(const Observed& of, const std::string& name) {
  try {
    Case c = of.of;
    c.target = find_target(name);
    c.program = c.target->program(c.instance);
    c.params.clear();
    for (const ParamDecl& p : c.program->params) {
      const auto given = of.of.params.find(p.name);
      if (given != of.of.params.end()) {
        c.params.insert(*given);
        continue;
      }
      if (!p.default_value) return std::nullopt;
      c.params.emplace(p.name, p.is_integer ? Number(static_cast<std::int64_t>(*p.default_value))
                                            : Number(*p.default_value));
    }
    c.outputs.clear();
    complete(c);
    const auto alike = [](const CaseTensor& a, const CaseTensor& b) {
      return a.dtype == b.dtype && a.shape == b.shape;
    };
    if (!std::ranges::equal(c.outputs, of.of.outputs, alike)) return std::nullopt;
    return recompute(c, copies_of(of.inputs));
  } catch (const Error&) {  // not of this dtype, these shapes or these optional inputs
    return std::nullopt;
  }
}

/// An output that takes an input's memory, computed again from its own result.
std::optional<std::vector<Dense>> done_twice(const Observed& of, std::size_t output) {
  const auto shared = shared_input(of.of, of.of.outputs[output]);
  if (!shared) return std::nullopt;
  std::vector<Dense> inputs = copies_of(of.inputs);
  inputs[*shared] = copy_of(of.expected[output]);
  return recompute(of.of, std::move(inputs));
}

std::optional<std::vector<Dense>> with_exchanged(const Observed& of, std::size_t a, std::size_t b) {
  if (of.of.inputs[a].shape != of.of.inputs[b].shape) return std::nullopt;
  std::vector<Dense> inputs = copies_of(of.inputs);
  std::swap(inputs[a], inputs[b]);
  return recompute(of.of, std::move(inputs));
}

/// The outputs with a size rounded up to a multiple, and inputs that are 0 beyond their ends.
std::optional<std::vector<Dense>> padded(const Observed& of, Symbol size, std::int64_t step) {
  Case c = of.of;
  Sizes sizes = c.binding.values;
  if (sizes.at(size) % step == 0) return std::nullopt;
  sizes[size] += step - sizes[size] % step;
  const auto before = input_shapes(*c.program, of.of.binding.values);
  const auto after = input_shapes(*c.program, sizes);
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    for (std::size_t a = 0; a < after[k].size(); ++a)
      if (c.inputs[k].shape[a] == before[k][a]) c.inputs[k].shape[a] = after[k][a];
  try {
    complete(c);
  } catch (const Error&) {
    return std::nullopt;
  }
  return with_sizes(of, c);
}

/// The result of the op in i64, clamped to the range of the narrower integers.
std::optional<std::vector<Dense>> saturated_integers(const Observed& of, int less) {
  const DType narrow = of.of.instance.dtype;
  if (!is_integer(narrow) || narrow == DType::i64) return std::nullopt;
  try {
    Case c = of.of;
    c.instance.dtype = DType::i64;
    c.program = c.target->program(c.instance);
    c.outputs.clear();
    std::vector<Dense> inputs;
    for (std::size_t k = 0; k < c.inputs.size(); ++k) {
      c.inputs[k].dtype = c.program->inputs[k].dtype();
      inputs.emplace_back(c.inputs[k].dtype, of.inputs[k].count());
      for (std::int64_t at = 0; at < inputs[k].count(); ++at)
        inputs[k].set(at, of.inputs[k].at(at));
    }
    complete(c);
    const auto wide = recompute(c, std::move(inputs));
    if (!wide) return std::nullopt;
    std::vector<Dense> outputs = copies_of(of.expected);
    const auto [end, greatest] = integer_range(narrow);
    const std::int64_t least = end + less;
    for (std::size_t k = 0; k < outputs.size(); ++k)
      for (std::int64_t at = 0; at < outputs[k].count() && outputs[k].dtype() == narrow; ++at)
        outputs[k].set(at, Number(std::clamp((*wide)[k].at(at).integer(), least, greatest)));
    return outputs;
  } catch (const Error&) {  // the op has no i64
    return std::nullopt;
  }
}

}  // namespace

std::vector<Hypothesis> padding_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (const auto& [symbol, value] : o.of.binding.values) {
    if (symbol.kind() != SymbolKind::size) continue;
    for (const std::int64_t step : {8, 16, 4, 32, 64, 2})
      all.push_back(
          {"padding counts",
           fmt::format("with zeros up to the next multiple of {} of {}", step, symbol.name()),
           [symbol = symbol, step](const Observed& of) { return padded(of, symbol, step); }});
  }
  return all;
}

std::vector<Hypothesis> other_op_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (const int less : {0, 1})
    all.push_back({"saturates",
                   fmt::format("with the ends of the dtype{} in place of what wraps",
                               less == 0 ? "" : ", the least one left out,"),
                   [less](const Observed& of) { return saturated_integers(of, less); }});
  for (std::size_t k = 0; k < o.of.outputs.size(); ++k)
    if (!o.of.outputs[k].in_place.empty())
      all.push_back({"done twice",
                     fmt::format("with {} computed from its own result", o.of.outputs[k].name),
                     [k](const Observed& of) { return done_twice(of, k); }});
  for (std::size_t a = 0; a < o.of.inputs.size(); ++a)
    for (std::size_t b = a + 1; b < o.of.inputs.size(); ++b)
      if (o.of.inputs[a].dtype == o.of.inputs[b].dtype)
        all.push_back(
            {"exchanged inputs",
             fmt::format("with {} and {} exchanged", o.of.inputs[a].name, o.of.inputs[b].name),
             [=](const Observed& of) { return with_exchanged(of, a, b); }});
  const OpRecord* own = o.of.target->record();
  for (const OpRecord& other : catalogue())
    if (own != nullptr && other.name != own->name && other.family == own->family &&
        have_same_inputs(other, *own))
      all.push_back({"another op", fmt::format("as {},", other.name),
                     [name = other.name](const Observed& of) { return of_other_op(of, name); }});
  return all;
}

}  // namespace mote::diagnosis
