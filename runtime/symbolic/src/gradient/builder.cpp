// SPDX-License-Identifier: Apache-2.0
#include "gradient/builder.h"

#include <algorithm>
#include <bit>

#include "command/check_call.h"
#include "fail.h"
#include "mote/base/error.h"

namespace mote {
namespace {

/// Returns the parameters of a command that an op has, as settings.
std::vector<Setting> settings_for(const mote_op_definition& op, const Command& command) {
  std::vector<Setting> settings;
  for (const mote_param& p : command.params())
    for (std::int32_t k = 0; k < op.param_count; ++k)
      if (std::string_view(op.params[k].name) == p.name)
        settings.push_back(p.is_real != 0 ? Setting(op.params[k].name, p.real)
                                          : Setting(op.params[k].name, p.integer));
  return settings;
}

}  // namespace

const Command& GraphBuilder::command_like(const std::string& op, const Command& other,
                                          std::optional<int> axis) {
  return command_without(op, other, axis, "");
}

const Command& GraphBuilder::command_without(const std::string& op, const Command& other,
                                             std::optional<int> axis, std::string_view param) {
  std::deque<Command>& known = alike_[op + " " + std::string(param)][other];
  for (const Command& c : known)
    if (c.axis() == axis) return c;
  const Registry& registry = graph_.registry();
  const Definition definition = registry.column(kDefinition).at(registry.get(op));
  std::vector<Setting> settings = settings_for(*definition, other);
  std::erase_if(settings, [&](const Setting& s) { return s.name == param; });
  return known.emplace_back(op, settings, axis, registry);
}

const Command& GraphBuilder::parsed(const std::string& text) {
  const auto found = commands_.find(text);
  if (found != commands_.end()) return found->second;
  return commands_.emplace(text, parse_command(text, graph_.registry())).first->second;
}

const std::vector<TensorForm>& GraphBuilder::infer_forms(const Command& command,
                                                         std::span<const TensorSymbol> inputs,
                                                         std::optional<DType> dtype) const {
  std::vector<const TensorForm*>& given = given_;
  given.assign(inputs.size(), nullptr);
  DLDevice device{kDLCPU, 0};
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k]) continue;
    given[k] = &graph_.form(inputs[k]);
    device = given[k]->device;
  }
  // A chain asks the same again and again.
  const auto is_same = [](const std::optional<TensorForm>& known, const TensorForm* now) {
    return known ? now != nullptr && *known == *now : now == nullptr;
  };
  if (last_.command == command && last_.dtype == dtype &&
      std::ranges::equal(last_.inputs, given, is_same))
    return last_.outputs;
  std::vector<TensorForm> forms = infer(command, given, dtype);
  for (TensorForm& form : forms) form.device = device;
  Inferred now{command, {}, dtype, std::move(forms)};
  for (const TensorForm* form : given)
    now.inputs.push_back(form == nullptr ? std::nullopt : std::optional(*form));
  last_ = std::move(now);
  return last_.outputs;
}

std::vector<TensorSymbol> GraphBuilder::emit(const Command& command,
                                             std::span<const TensorSymbol> inputs,
                                             std::span<const TensorForm> forms, TensorMask wanted,
                                             std::span<const TensorSymbol> targets) {
  const mote_op_definition& op = command.definition();
  TensorMask present = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) present |= mask_bit(k);
  const TensorMask there = outputs_there(command, present);
  std::vector<TensorSymbol> outputs(static_cast<std::size_t>(op.output_count));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const bool needed = is_in(wanted, k) || op.outputs[k].optional == 0;
    if (!needed || !mote::has(there, static_cast<int>(k))) continue;
    outputs[k] = k < targets.size() && targets[k] ? targets[k] : graph_.tensor(forms[k]);
  }
  graph_.write(command, inputs, outputs);
  return outputs;
}

TensorSymbol GraphBuilder::op(const std::string& command, std::span<const TensorSymbol> inputs,
                              TensorSymbol target) {
  const Command& parsed = this->parsed(command);
  const std::vector<TensorForm>& forms = infer_forms(parsed, inputs);
  return emit(parsed, inputs, forms, 1, std::span(&target, 1)).front();
}

/// Returns the shape that the groups make of that of x. Where the shape of x is noted to follow
/// from an older symbol, the new one follows from that symbol too, which stays in the graph when
/// nothing reads x any more.
MadeShape GraphBuilder::made_of(TensorSymbol x, const AxisGroups& groups) const {
  if (groups == each_axis(shape(x).size()))
    for (const ShapeNote& note : shape_notes(graph_, x.index))
      if (note.kind != ShapeNoteKind::stays) return {shape(x), note.of, note.groups};
  return {groups.of(shape(x)), x.index, groups};
}

TensorSymbol GraphBuilder::following(TensorSymbol x, const MadeShape& shape) {
  if (shape.of != kNoIndex) note_shape(graph_, x, {ShapeNoteKind::follows, shape.of, shape.groups});
  return x;
}

TensorSymbol GraphBuilder::expecting(TensorSymbol x, const MadeShape& shape) {
  if (shape.of != kNoIndex) note_shape(graph_, x, {ShapeNoteKind::equals, shape.of, shape.groups});
  return x;
}

void GraphBuilder::holding_like(TensorSymbol x, std::span<const TensorSymbol> others) {
  for (const TensorSymbol other : others) {
    if (!other) continue;
    const std::span<const ShapeNote> notes = shape_notes(graph_, other.index);
    for (const ShapeNote note : std::vector(notes.begin(), notes.end()))
      if (note.kind == ShapeNoteKind::stays) note_shape(graph_, x, note);
  }
}

TensorSymbol GraphBuilder::broadcast(TensorSymbol x, const MadeShape& shape) {
  return following(graph_.broadcast_to(x, shape.shape), shape);
}

TensorSymbol GraphBuilder::filled(double value, const TensorForm& form, const MadeShape& shape) {
  const std::string key = to_string(TensorForm{form.dtype, {}, {}, form.device}) + "=" +
                          std::to_string(std::bit_cast<std::uint64_t>(value));
  TensorSymbol& scalar = scalars_[key];
  if (!scalar && form.device.device_type == kDLCPU) {
    const Tensor memory(form.dtype, AxisList{});
    fill(memory, value);
    scalar = graph_.constant("", memory);
  } else if (!scalar) {
    scalar = graph_.tensor({form.dtype, {}, {}, form.device});
    graph_.fill(scalar, value);
  }
  return form.shape.size() == 0 ? scalar : broadcast(scalar, {form.shape, shape.of, shape.groups});
}

TensorSymbol GraphBuilder::sum(std::span<const TensorSymbol> terms, TensorSymbol target) {
  if (terms.size() == 1) return terms.front() ? into(target, terms.front()) : TensorSymbol{};
  std::vector<TensorSymbol> there;
  for (const TensorSymbol term : terms)
    if (term) there.push_back(term);
  if (there.empty()) return {};
  if (there.size() == 1) return into(target, there.front());
  TensorSymbol total = there.front();
  for (std::size_t k = 1; k < there.size(); ++k)
    total = add(total, there[k], k + 1 == there.size() ? target : TensorSymbol{});
  return total;
}

TensorSymbol GraphBuilder::sum_to(TensorSymbol x, const MadeShape& to, TensorSymbol target) {
  const AxisList from = this->shape(x);
  const AxisList& shape = to.shape;
  if (from == shape) return into(target, expecting(x, to));
  const int extra = from.size() - shape.size();
  if (extra < 0)
    fail_graph("a gradient of shape " + to_string(from) + " for a tensor of shape " +
               to_string(shape));
  std::vector<int> axes;
  AxisGroups left;
  for (int k = 0; k < from.size(); ++k) {
    if (k >= extra && shape[k - extra] == from[k]) {
      left.push_back(k, 1);
      continue;
    }
    if (k >= extra && shape[k - extra] != 1)
      fail_graph("a gradient of shape " + to_string(from) + " for a tensor of shape " +
                 to_string(shape));
    axes.push_back(k);
  }
  // The sum is written to the target itself if that can be seen without the summed axes.
  const TensorSymbol seen = target ? try_reshape(target, made_of(x, left)) : TensorSymbol{};
  const TensorSymbol summed = sum_over(x, axes, seen);
  return seen ? target : into(target, reshaped(summed, to));
}

TensorSymbol GraphBuilder::sum_over(TensorSymbol x, std::span<const int> axes,
                                    TensorSymbol target) {
  // Neighbouring axes are summed at once, the last ones first.
  for (std::size_t end = axes.size(); end > 0;) {
    std::size_t begin = end - 1;
    while (begin > 0 && axes[begin - 1] + 1 == axes[begin]) --begin;
    AxisGroups merged;
    for (int k = 0; k < shape(x).size(); ++k) {
      const int last = k == axes[begin] ? axes[end - 1] : k;
      merged.push_back(k, last - k + 1);
      k = last;
    }
    x = op("sum axis=" + std::to_string(axes[begin]), {reshaped(x, made_of(x, merged))},
           begin == 0 ? target : TensorSymbol{});
    end = begin;
  }
  return x;
}

TensorSymbol GraphBuilder::try_reshape(TensorSymbol x, const MadeShape& shape) {
  const ViewStep step{ViewKind::reshape, shape.shape};
  try {
    apply(step, ViewRegion{form(x), 0});
  } catch (const StatusError&) {
    return {};
  }
  return following(graph_.view(x, step), shape);
}

/// True if elements repeat, and axes were put in another order: with a place for each element a
/// reshape would be no view, and the gradient has such places.
static bool repeats_in_other_order(const SymbolicGraph& graph, TensorSymbol x) {
  const TensorForm& form = graph.form(x);
  bool repeats = false;
  for (int axis = 0; axis < form.shape.size(); ++axis)
    repeats = repeats || (form.shape[axis] > 1 && form.strides[axis] == 0);
  for (; repeats && graph.info(x).kind == SymbolOrigin::view; x = graph.at(graph.info(x).base)) {
    const ViewStep& step = graph.view_step(x);
    if (step.kind == ViewKind::permute && !std::is_sorted(step.numbers.begin(), step.numbers.end()))
      return true;
  }
  return false;
}

TensorSymbol GraphBuilder::reshaped(TensorSymbol x, const MadeShape& shape) {
  if (this->shape(x) == shape.shape) return expecting(x, shape);
  if (!repeats_in_other_order(graph_, x))
    if (const TensorSymbol view = try_reshape(x, shape)) return view;
  const TensorForm& of = form(x);
  const TensorSymbol dense =
      graph_.convert(x, {of.dtype, of.shape, checked_strides(of.dtype, of.shape), of.device});
  return following(graph_.view(dense, {ViewKind::reshape, shape.shape}), shape);
}

TensorSymbol GraphBuilder::converted(TensorSymbol x, DType to) {
  if (dtype(x) == to) return x;
  TensorSymbol& known = converted_[{x.index, to}];
  const TensorForm& of = form(x);
  if (!known) known = graph_.convert(x, {to, of.shape, checked_strides(to, of.shape), of.device});
  return known;
}

TensorSymbol GraphBuilder::into(TensorSymbol target, TensorSymbol x) {
  if (!target || target == x) return x;
  graph_.copy(x, target);
  return target;
}

}  // namespace mote
