// SPDX-License-Identifier: Apache-2.0
#include "runtime/drawn_calls.h"

#include <algorithm>

#include "mote/base/error.h"
#include "mote/macroops/catalogue.h"
#include "mote/oracle/generate.h"

namespace mote::test {
namespace {

DrawnCall call_of(const OpRecord& record, const Case& c) {
  DrawnCall call = {record.name, to_string(c), c.instance.dtype, {}, {}, {}};
  for (const ParamDecl& p : record.params) {
    const auto at = c.params.find(p.name);
    if (at == c.params.end()) continue;
    if (!at->second.is_real())
      call.params.emplace_back(p.name, at->second.integer());
    else
      call.params.emplace_back(p.name, at->second.real());
  }
  call.inputs.resize(record.inputs.size());
  for (const CaseTensor& t : c.inputs)
    call.inputs[static_cast<std::size_t>(c.target->input_position(t.name))] = {t.name, t.dtype,
                                                                               t.shape};
  for (const CaseTensor& t : c.outputs) call.outputs.push_back({t.name, t.dtype, t.shape});
  return call;
}

/// Grants the wishes in the draft's sizes.
void grant(Draft& draft, const Case& c, const CallWishes& wishes) {
  const Domain& domain = domain_of(c.program);
  if (wishes.most > 0) {
    for (std::size_t k = 0; k < domain.knobs.size(); ++k) {
      std::int64_t& value = draft.at.values[k];
      const std::int64_t least = std::max<std::int64_t>(1, domain.knobs[k].least);
      if (value > std::max(least, wishes.most)) value = least + value % wishes.most;
    }
    for (auto& [pivot, slack] : draft.at.slack) slack = slack % 3;
  }
  if (!wishes.input) return;
  const std::optional<Sizes> solved = solve(domain, draft.at, draft.params);
  if (!solved) return;
  Sizes sizes = *solved;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    if (c.target->input_position(c.inputs[k].name) != static_cast<int>(*wishes.input)) continue;
    const std::vector<Expr>& extents = c.program->inputs[k].shape();
    if (extents.size() != wishes.shape.size()) return;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      const std::optional<Symbol> size = extents[axis].as_symbol();
      if (!size || !sizes.contains(*size)) continue;
      const auto least = domain.least.find(*size);
      if (least == domain.least.end() || wishes.shape[axis] >= least->second)
        sizes[*size] = wishes.shape[axis];
    }
    std::erase_if(draft.ones, [&](const auto& one) { return one.first == static_cast<int>(k); });
    draft.missing.erase(static_cast<int>(k));
  }
  draft.at = knob_values(domain, sizes);
}

}  // namespace

std::vector<DrawnCall> draw_calls(std::uint64_t seed, std::uint64_t count) {
  std::vector<DrawnCall> calls;
  for (const OpRecord* record : generated_ops())
    for (const DType dtype : record->dtypes)
      for (std::uint64_t position = 0; position < count; ++position)
        calls.push_back(
            call_of(*record, generate(find_target(record->name), dtype, seed, position)));
  return calls;
}

std::vector<DrawableOp> drawable_ops() {
  std::vector<DrawableOp> ops;
  for (const OpRecord* record : generated_ops())
    ops.push_back({record->name, record->family, record->dtypes, gradient_order(*record)});
  return ops;
}

DrawnCall draw_call(const std::string& op, DType dtype, std::uint64_t seed, std::uint64_t position,
                    const CallWishes& wishes) {
  const std::shared_ptr<const Target> target = find_target(op);
  const Case drawn = generate(target, dtype, seed, position);
  for (const bool with_input : {true, false}) {
    CallWishes granted = wishes;
    if (!with_input) granted.input.reset();
    try {
      Draft draft = to_draft(drawn);
      grant(draft, drawn, granted);
      const std::optional<Case> c = to_case(draft);
      if (c) return call_of(*target->record(), *c);
    } catch (const Error&) {  // these sizes are not legal together
    }
  }
  return call_of(*target->record(), drawn);
}

std::vector<double> drawn_elements(const std::string& fill, const std::string& name, DType dtype,
                                   std::int64_t count, std::int64_t radius) {
  const Filler filler(parse_fill(fill), {name, dtype, 0, 1, count}, radius);
  std::vector<double> elements;
  for (std::int64_t k = 0; k < count; ++k)
    elements.push_back(is_real(dtype) ? filler.real(k) : static_cast<double>(filler.integer(k)));
  return elements;
}

}  // namespace mote::test
