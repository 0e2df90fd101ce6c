// SPDX-License-Identifier: Apache-2.0
// The gradient of an op that is the gradient of another, by rules: its tangent and its curvature,
// or a formula that is differentiated.
#include <algorithm>
#include <limits>

#include "gradient/formula.h"
#include "gradient/gradient_call.h"
#include "gradient/reverse.h"
#include "gradient/tangent.h"
#include "mote/base/error.h"

namespace mote {
namespace {

using Kind = GradientRow::Kind;

bool has_optional(const GradientCall& call) {
  const mote_op_definition& op = call.command->definition();
  for (std::size_t k = 0; k < call.inputs.size(); ++k)
    if (call.inputs[k] && op.inputs[k].optional != 0) return true;
  return false;
}

bool has_param(const GradientCall& call, std::string_view name) {
  return std::ranges::any_of(call.command->params(), [&](const mote_param& p) {
    return name == p.name && (p.real != 0 || p.integer != 0);
  });
}

/// Returns a symbol that has the form of the inner call's input k: the gradient that the call gives
/// for it, or what the call takes as the gradient of what is the gradient of input k.
TensorSymbol like_input(const GradientCall& call, const GradientRow& row, const GradientRow& base,
                        std::size_t k) {
  if (const auto output = row.output_of(k); output && call.outputs[*output])
    return call.outputs[*output];
  if (base.inputs[k].kind != Kind::input) return {};
  const auto output = base.output_of(base.inputs[k].of);
  const auto taken = output ? row.input_of(Kind::gradient, *output) : std::nullopt;
  return taken ? call.inputs[*taken] : TensorSymbol{};
}

/// Returns the call of the op g of which the call's op is the gradient: the gradients that it is
/// given are those that the call takes. What the call does not take has no influence; it gets the
/// value NaN if `build`, else a symbol of its form. Nothing is returned if a form is not known.
std::optional<GradientCall> inner_call(GraphBuilder& builder, const GradientCall& call,
                                       const GradientRow& row, bool build) {
  GradientCall inner;
  inner.command = &builder.command_like(row.row->op, *call.command, call.command->axis());
  const mote_op_definition& op = inner.command->definition();
  inner.inputs.resize(static_cast<std::size_t>(op.input_count));
  inner.outputs.resize(static_cast<std::size_t>(op.output_count));
  inner.gradients.resize(inner.outputs.size());
  inner.targets.resize(inner.inputs.size());
  for (std::size_t k = 0; k < row.inputs.size(); ++k) {
    const auto [kind, of, reads] = row.inputs[k];
    if (kind == Kind::input) inner.inputs[of] = call.inputs[k];
    if (kind == Kind::output) inner.outputs[of] = call.inputs[k];
    if (kind == Kind::gradient && call.inputs[k]) {
      inner.gradients[of] = call.inputs[k];
      inner.given.add(of);
    }
  }
  for (std::size_t n = 0; n < row.outputs.size(); ++n)
    if (is_in(call.given, n)) inner.wanted.add(row.outputs[n]);
  const GradientRow& base = *builder.ops().facts(*inner.command).base;
  for (std::size_t k = 0; k < inner.inputs.size(); ++k) {
    if (inner.inputs[k] || op.inputs[k].optional != 0) continue;
    const TensorSymbol like = like_input(call, row, base, k);
    if (!like) return std::nullopt;
    inner.inputs[k] =
        build ? builder.filled_like(std::numeric_limits<double>::quiet_NaN(), like) : like;
  }
  return inner;
}

/// False for a call that has inputs or a parameter for which the rule is not made.
bool holds_for(const OpRule& rule, const GradientCall& call) {
  return (rule.with_optional || !has_optional(call)) &&
         (rule.zero_param == nullptr || !has_param(call, rule.zero_param));
}

std::string why_no_rule_for(const GradientCall& call, const OpRule& rule, const GradientRow& row) {
  const std::string op = row.row->op;
  if (!holds_for(rule, call)) return "";
  const bool only_gradients = (call.wanted.first() & ~row.gradients()) == 0;
  if (only_gradients && rule.tangent != Tangent::none) return "";
  if (rule.curvature == Curvature::none) return "no rule gives the curvature of " + op;
  return "";
}

/// Returns the inputs whose gradients are asked for; the others are empty.
std::vector<TensorSymbol> wanted_inputs(const GradientCall& call) {
  std::vector<TensorSymbol> inputs = call.inputs;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (!is_in(call.wanted, k)) inputs[k] = {};
  return inputs;
}

std::vector<TensorSymbol> formula_gradient(GraphBuilder& builder, const GradientCall& call,
                                           const GradientRow& row, WriteFormula formula) {
  const auto first_symbol = static_cast<std::uint32_t>(builder.graph().symbol_count());
  const auto first_node = static_cast<std::uint32_t>(builder.graph().node_count());
  Formula f(builder, call, row);
  formula(f);
  std::vector<TensorSymbol> of;
  std::vector<TensorSymbol> seeds;
  for (std::size_t k = 0; k < call.gradients.size(); ++k) {
    if (!call.gradients[k]) continue;
    if (!f.outputs()[k])
      throw InternalError(std::string(row.row->op) + ": its formula does not give all gradients");
    of.push_back(f.outputs()[k]);
    seeds.push_back(builder.sum_to(call.gradients[k], builder.like(of.back())));
  }
  const std::vector<TensorSymbol> gradients =
      differentiate_new(builder, first_symbol, first_node, of, seeds, wanted_inputs(call));
  f.note_shapes_read(gradients);
  return gradients;
}

/// f is linear in a and in b, so the slope of its gradient g along a is g with a change in its
/// place: <g_b(gy, a), c_b> = <g_a(gy, c_b), a>.
void add_bilinear_curvature(GraphBuilder& builder, const GradientCall& call, const GradientRow& row,
                            std::vector<TensorSymbol>& gradients) {
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t own = *row.input_of(Kind::input, k);
    const std::optional<std::size_t> other = row.output_of(1 - k);
    if (!is_in(call.wanted, own) || !other || !call.gradients[*other]) continue;
    std::vector<TensorSymbol> inputs = call.inputs;
    inputs[*row.input_of(Kind::input, 1 - k)] = call.gradients[*other];
    const std::size_t output = *row.output_of(k);
    const std::vector<TensorForm> forms = builder.infer_forms(*call.command, inputs);
    const TensorSymbol gradient =
        builder.emit(*call.command, inputs, forms, mask_bit(output))[output];
    gradients[own] = builder.sum_to(gradient, builder.like(call.inputs[own]));
  }
}

std::vector<TensorSymbol> by_rule(GraphBuilder& builder, const GradientCall& call,
                                  const OpRule& rule, const GradientRow& row) {
  if (!holds_for(rule, call)) return formula_gradient(builder, call, row, rule.otherwise);
  const TensorMask of_gradients = call.wanted.first() & row.gradients();
  const bool needs_formula =
      rule.tangent == Tangent::formula ||
      (rule.curvature == Curvature::formula &&
       (of_gradients != call.wanted.first() || rule.tangent == Tangent::none));
  if (needs_formula) return formula_gradient(builder, call, row, rule.formula);
  std::vector<TensorSymbol> gradients(call.inputs.size());
  if (of_gradients != 0) {
    const std::vector<TensorSymbol> along = tangents(builder, call, row, rule.tangent);
    for (std::size_t k = 0; k < row.inputs.size(); ++k)
      if (is_in(of_gradients, k) && row.inputs[k].kind == Kind::gradient)
        gradients[k] = builder.sum_to(along[row.inputs[k].of], builder.like(call.inputs[k]));
  }
  if (rule.curvature == Curvature::bilinear) add_bilinear_curvature(builder, call, row, gradients);
  return gradients;
}

}  // namespace

bool has_tangent(GraphBuilder& builder, const GradientCall& call) {
  const OpFacts& facts = builder.ops().facts(*call.command);
  if (!facts.base || facts.base_rule == nullptr) return false;
  if (!holds_for(*facts.base_rule, call) ||
      !why_no_rule_for(call, *facts.base_rule, *facts.base).empty())
    return false;
  // A bilinear op's own kernels are those that backends make fast.
  if (facts.base_rule->curvature == Curvature::bilinear) return true;
  return (call.wanted.first() & ~facts.base->gradients()) == 0 &&
         facts.base_rule->tangent != Tangent::none;
}

std::string why_no_rule(GraphBuilder& builder, const GradientCall& call) {
  const OpFacts& facts = builder.ops().facts(*call.command);
  if (!facts.base) return "no rule is known";
  if (facts.base_rule != nullptr) return why_no_rule_for(call, *facts.base_rule, *facts.base);
  const std::string base = facts.base->row->op;
  const Registry& registry = builder.graph().registry();
  const OpFacts& of_base = builder.ops().facts(registry.get(base));
  if (!of_base.base) return "no rule of " + base + " is known";
  const std::optional<GradientCall> inner = inner_call(builder, call, *facts.base, false);
  if (!inner) return "no rule writes " + std::string(facts.base->row->gradient);
  return why_no_rule(builder, *inner);
}

std::vector<TensorSymbol> rule_gradient(GraphBuilder& builder, const GradientCall& call) {
  const OpFacts& facts = builder.ops().facts(*call.command);
  std::vector<TensorSymbol> gradients;
  if (facts.base_rule != nullptr) {
    gradients = by_rule(builder, call, *facts.base_rule, *facts.base);
  } else {
    // The gradient of a gradient is written by the rule that gives it, and differentiated.
    const auto first_symbol = static_cast<std::uint32_t>(builder.graph().symbol_count());
    const auto first_node = static_cast<std::uint32_t>(builder.graph().node_count());
    const GradientCall inner = inner_call(builder, call, *facts.base, true).value();
    const std::vector<TensorSymbol> written = rule_gradient(builder, inner);
    std::vector<TensorSymbol> of;
    std::vector<TensorSymbol> seeds;
    for (std::size_t n = 0; n < facts.base->outputs.size(); ++n) {
      const TensorSymbol output = written[facts.base->outputs[n]];
      if (!call.gradients[n] || !output) continue;
      of.push_back(output);
      seeds.push_back(builder.sum_to(call.gradients[n], builder.like(output)));
    }
    gradients =
        differentiate_new(builder, first_symbol, first_node, of, seeds, wanted_inputs(call));
    for (const TensorSymbol gradient : gradients)
      if (gradient) builder.holding_like(gradient, written);
  }
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (!is_in(call.wanted, k)) gradients[k] = {};
    if (gradients[k]) gradients[k] = builder.into(call.targets[k], gradients[k]);
  }
  return gradients;
}

std::vector<TensorSymbol> differentiate_new(GraphBuilder& builder, std::uint32_t first_symbol,
                                            std::uint32_t first_node,
                                            std::span<const TensorSymbol> of,
                                            std::span<const TensorSymbol> seeds,
                                            std::span<const TensorSymbol> wrt) {
  std::vector<TensorSymbol> there;
  std::vector<std::size_t> location;
  for (std::size_t k = 0; k < wrt.size(); ++k) {
    // A symbol that stands twice gets its gradient once.
    if (!wrt[k] || !is_real(builder.dtype(wrt[k])) ||
        std::ranges::find(there, wrt[k]) != there.end())
      continue;
    there.push_back(wrt[k]);
    location.push_back(k);
  }
  std::vector<std::uint32_t> nodes;
  const auto count = static_cast<std::uint32_t>(builder.graph().node_count());
  for (std::uint32_t node = first_node; node < count; ++node) nodes.push_back(node);
  const std::vector<TensorSymbol> found =
      Reverse(builder, std::move(nodes), first_symbol).run(of, seeds, there);
  std::vector<TensorSymbol> gradients(wrt.size());
  for (std::size_t k = 0; k < found.size(); ++k) gradients[location[k]] = found[k];
  return gradients;
}

}  // namespace mote
