// Parameters taken for one another, or not looked at.
#include <fmt/format.h>

#include "diagnosis/hypotheses.h"
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

using Params = std::map<std::string, Number>;

/// The elements of `from` at the places that both shapes have, the others as they are.
void overlay(Dense& onto, const std::vector<std::int64_t>& shape, const Dense& from,
             const std::vector<std::int64_t>& shape_from) {
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

/// The reference with other values of some parameters. Where these make the outputs larger or
/// smaller, a kernel that was given the right sizes computes the part that both have.
std::optional<std::vector<Dense>> with(const Observed& of, const Params& values) {
  Case c = of.of;
  bool changed = false;
  for (const auto& [name, value] : values) {
    changed = changed || !same(c.params.at(name), value);
    c.params[name] = value;
  }
  if (!changed) return std::nullopt;
  try {
    complete(c);
  } catch (const Error&) {
    return std::nullopt;
  }
  const auto computed = recompute(c, copies_of(of.inputs));
  if (!computed) return std::nullopt;
  std::vector<Dense> outputs = copies_of(of.expected);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    overlay(outputs[k], of.of.outputs[k].shape, (*computed)[k], c.outputs[k].shape);
  return outputs;
}

void add_exchanged(std::vector<Hypothesis>& all, const std::string& a, const std::string& b) {
  if (a < b)
    all.push_back({"transposed or swapped axis", fmt::format("with {} and {} exchanged", a, b),
                   [=](const Observed& of) {
                     const Params& p = of.of.params;
                     return with(of, {{a, p.at(b)}, {b, p.at(a)}});
                   }});
  all.push_back({"transposed or swapped axis", fmt::format("with {} in place of {}", b, a),
                 [=](const Observed& of) {
                   return with(of, {{a, of.of.params.at(b)}});
                 }});
}

}  // namespace

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
                     return with(of, {{name, standard}});
                   }});
  }
  return all;
}

}  // namespace mote::diagnosis
