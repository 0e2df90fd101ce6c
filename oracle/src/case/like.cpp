// SPDX-License-Identifier: Apache-2.0
// Converts a case to a draft with another size or parameter, and back.
#include "case/like.h"

#include <algorithm>

#include "mote/base/error.h"

namespace mote {
namespace {

/// The layout for a shape with additional leading axes of extent 1; row-major if axes were removed.
CaseLayout with_leading_axes(CaseLayout layout, int more) {
  if (more < 0) return {};
  if (more == 0) return layout;
  for (AxisGap& gap : layout.gaps) gap.axis += more;
  for (int& axis : layout.repeated) axis += more;
  if (layout.order.empty()) return layout;
  for (int& axis : layout.order) axis += more;
  for (int axis = more; axis-- > 0;) layout.order.insert(layout.order.begin(), axis);
  return layout;
}

CaseLayout layout_for(const CaseTensor& to, const CaseTensor& from) {
  return with_leading_axes(from.layout,
                           static_cast<int>(std::ssize(to.shape) - std::ssize(from.shape)));
}

void restore(Case& to, const Case& from) {
  to.fill = from.fill;
  to.set = moved_elements(to, from);
  to.backend = from.backend;
  to.plugin = from.plugin;
  for (CaseTensor& t : to.inputs) {
    const auto at = std::ranges::find(from.inputs, t.name, &CaseTensor::name);
    if (at != from.inputs.end()) t.layout = layout_for(t, *at);
  }
  for (CaseTensor& t : to.outputs) {
    const auto at = std::ranges::find(from.outputs, t.name, &CaseTensor::name);
    if (at == from.outputs.end()) continue;
    t.layout = layout_for(t, *at);
    t.left_out = at->left_out;
    t.in_place = at->in_place;
  }
  for (std::size_t k = 0; k < to.outputs.size(); ++k) {
    const auto shared = shared_input(to, to.outputs[k]);
    if (!shared || !may_share(to, *shared, k)) to.outputs[k].in_place.clear();
  }
  if (std::ranges::all_of(to.outputs, &CaseTensor::left_out))
    for (CaseTensor& t : to.outputs) t.left_out = false;
}

}  // namespace

std::optional<Case> like(const Draft& draft, const Case& from) {
  try {
    std::optional<Case> c = to_case(draft);
    if (c) restore(*c, from);
    return c;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Case> with_knob(const Case& from, std::size_t knob, std::int64_t value) {
  Draft draft = to_draft(from);
  draft.at.values.at(knob) = value;
  return like(draft, from);
}

std::optional<Case> with_size(const Case& from, Symbol size, std::int64_t value) {
  Sizes sizes = from.binding.values;
  const auto at = sizes.find(size);
  if (at == sizes.end()) return std::nullopt;
  at->second = value;
  Draft draft = to_draft(from);
  try {
    draft.at = knob_values(domain_of(from.program), sizes);
  } catch (const Error&) {
    return std::nullopt;
  }
  std::optional<Case> c = like(draft, from);
  if (!c || c->binding.values.at(size) != value) return std::nullopt;
  return c;
}

std::optional<Case> with_param(const Case& from, const std::string& name, const Number& value) {
  Draft draft = to_draft(from);
  if (!draft.params.contains(name)) return std::nullopt;
  draft.params[name] = value;
  const Draft of_derived = draft;
  Sizes sizes = from.binding.values;
  if (!value.is_real()) sizes[Symbol(SymbolKind::param, name)] = value.integer();
  try {
    draft.at = knob_values(domain_of(from.program), sizes);
  } catch (const Error&) {
    return like(of_derived, from);
  }
  std::optional<Case> c = like(draft, from);
  return c ? c : like(of_derived, from);
}

}  // namespace mote
