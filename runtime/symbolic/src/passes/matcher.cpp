// SPDX-License-Identifier: Apache-2.0
#include "passes/matcher.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "passes/pattern.h"

namespace mote {
namespace {

/// True if no node writes the symbol's memory.
bool is_unwritten(const SymbolicGraph& graph, std::uint32_t symbol) {
  return std::ranges::none_of(graph.nodes(), [&](const NodeInfo& node) {
    return !node.removed && std::ranges::any_of(node.outputs, [&](std::uint32_t output) {
      return output != kNoIndex && graph.symbols()[output].root == symbol;
    });
  });
}

bool has_parameters_of(const Command& wanted, const Command& got) {
  return std::ranges::all_of(wanted.params(), [&](const mote_param& param) {
    const mote_param* given = find_param(got, param.name);
    return given != nullptr && is_same_value(*given, param);
  });
}

bool is_same_work(const NodeInfo& wanted, const NodeInfo& got) {
  if (got.kind != wanted.kind || got.recomputed != 0) return false;
  if (got.kind == NodeKind::function) return got.function->name == wanted.function->name;
  if (got.kind == NodeKind::control)
    return got.control->is_loop && got.control->has_counter == wanted.control->has_counter &&
           got.control->limit == wanted.control->limit;
  return got.command->op() == wanted.command->op() && !got.command->axis() &&
         has_parameters_of(*wanted.command, *got.command);
}

/// What the nodes of a graph do, sorted: the op of a command, the name of a function. Loops are
/// compared as a whole, so that graphs in which this differs are not the same.
std::vector<std::pair<OpId, std::string_view>> work_of(const SymbolicGraph& graph) {
  std::vector<std::pair<OpId, std::string_view>> work;
  for (const NodeInfo& node : graph.nodes()) {
    if (node.removed) continue;
    work.emplace_back(node.kind == NodeKind::command ? node.command->op() : kNoIndex,
                      node.kind == NodeKind::function ? std::string_view(node.function->name)
                                                      : std::string_view());
  }
  std::ranges::sort(work);
  return work;
}

/// The position of an input of the body among those that the loop's node gives it; none for a
/// symbol that is no such input.
std::optional<std::size_t> input_position(const SymbolicGraph& body, std::uint32_t symbol) {
  const std::vector<std::uint32_t> inputs = input_indices(body);
  const auto found = std::ranges::find(inputs, symbol);
  if (found == inputs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - inputs.begin());
}

}  // namespace

bool operator==(const PatternNumber& a, const PatternNumber& b) {
  if (a.is_real && b.is_real)
    return (std::isnan(a.real) && std::isnan(b.real)) ||
           (a.real == b.real && std::signbit(a.real) == std::signbit(b.real));
  if (!a.is_real && !b.is_real) return a.integer == b.integer;
  const double real = a.is_real ? a.real : b.real;
  const std::int64_t integer = a.is_real ? b.integer : a.integer;
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  return real >= -kEnd && real < kEnd && static_cast<std::int64_t>(real) == integer &&
         static_cast<double>(integer) == real && !(real == 0 && std::signbit(real));
}

std::optional<PatternNumber> number_of(const SymbolicGraph& graph, std::uint32_t symbol) {
  const SymbolInfo& info = graph.symbols()[symbol];
  const bool is_real = mote::is_real(info.form->dtype);
  if (info.kind == SymbolOrigin::zeros && is_unwritten(graph, symbol))
    return PatternNumber{is_real, 0, 0};
  if (info.kind != SymbolOrigin::constant) return std::nullopt;
  const Tensor& value = graph.value(graph.at(symbol));
  if (value.element_count() == 0) return std::nullopt;
  const Tensor flat = clone(value).reshape({value.element_count()});
  const auto element = [&](std::int64_t k) {
    return is_real ? PatternNumber{true, flat.real_at({k}), 0}
                   : PatternNumber{false, 0, flat.integer_at({k})};
  };
  const PatternNumber first = element(0);
  for (std::int64_t k = 1; k < flat.element_count(); ++k)
    if (!(element(k) == first)) return std::nullopt;
  return first;
}

bool adds_axes(const AxisList& from, const AxisList& to, const AxisList& like) {
  if (to.size() != like.size()) return false;
  AxisList rest;
  for (int axis = 0; axis < to.size(); ++axis) {
    if (like[axis] == 1 && to[axis] != 1) return false;
    if (like[axis] != 1) rest.push_back(to[axis]);
  }
  return rest == from;
}

Matcher::Matcher(const SymbolicGraph& pattern, const SymbolicGraph& graph)
    : pattern_(pattern), graph_(graph) {
  match_.nodes.assign(pattern.node_count(), kNoIndex);
  match_.symbols.assign(pattern.symbol_count(), kNoIndex);
  match_.is_bound.assign(pattern.symbol_count(), false);
}

bool Matcher::bind(std::uint32_t wanted, std::uint32_t symbol) {
  if (match_.is_bound[wanted]) return match_.symbols[wanted] == symbol;
  match_.is_bound[wanted] = true;
  match_.symbols[wanted] = symbol;
  return true;
}

bool Matcher::node(std::uint32_t wanted, std::uint32_t node) {
  if (match_.nodes[wanted] != kNoIndex) return match_.nodes[wanted] == node;
  const NodeInfo& own = pattern_.nodes()[wanted];
  const NodeInfo& got = graph_.nodes()[node];
  if (!is_same_work(own, got)) return false;
  match_.nodes[wanted] = node;
  if (own.kind == NodeKind::control) return loop(own, got);
  for (std::size_t k = 0; k < std::max(own.outputs.size(), got.outputs.size()); ++k) {
    const std::uint32_t output = k < own.outputs.size() ? own.outputs[k] : kNoIndex;
    const std::uint32_t of_got = k < got.outputs.size() ? got.outputs[k] : kNoIndex;
    if ((output == kNoIndex) != (of_got == kNoIndex)) return false;
    if (output != kNoIndex && !bind(output, of_got)) return false;
  }
  return inputs(own, got);
}

bool Matcher::inputs(const NodeInfo& wanted, const NodeInfo& got) {
  for (std::size_t k = 0; k < std::max(wanted.inputs.size(), got.inputs.size()); ++k) {
    const std::uint32_t from = k < wanted.inputs.size() ? wanted.inputs[k] : kNoIndex;
    const std::uint32_t given = k < got.inputs.size() ? got.inputs[k] : kNoIndex;
    if (from == kNoIndex && given != kNoIndex) return false;
    if (from != kNoIndex && !symbol(from, given)) return false;
  }
  return true;
}

bool Matcher::symbol(std::uint32_t wanted, std::uint32_t symbol) {
  if (match_.is_bound[wanted]) return match_.symbols[wanted] == symbol;
  const SymbolInfo& own = pattern_.symbols()[wanted];
  if (own.kind == SymbolOrigin::input) return bind(wanted, symbol);  // any symbol, or none
  if (symbol == kNoIndex) return false;
  if (const auto number = number_of(pattern_, wanted))
    return number == number_of(graph_, symbol) && bind(wanted, symbol);
  if (graph_.symbols()[symbol].kind != own.kind) return false;
  if (own.kind == SymbolOrigin::view) return view(wanted, symbol);
  const std::uint32_t producer = graph_.symbols()[symbol].producer;
  return producer != kNoIndex && node(own.producer, producer) && bind(wanted, symbol);
}

bool Matcher::view(std::uint32_t wanted, std::uint32_t symbol) {
  const ViewStep& step = graph_.view_step(graph_.at(symbol));
  const std::uint32_t base = graph_.symbols()[symbol].base;
  return step.kind == ViewKind::reshape && graph_.symbols()[base].has_form &&
         adds_axes(graph_.form(graph_.at(base)).shape, step.numbers,
                   pattern_.form(pattern_.at(wanted)).shape) &&
         this->symbol(pattern_.symbols()[wanted].base, base) && bind(wanted, symbol);
}

bool Matcher::loop(const NodeInfo& wanted, const NodeInfo& got) {
  const SymbolicGraph& own = wanted.control->graphs.front();
  const SymbolicGraph& body = got.control->graphs.front();
  if (own.output_indices().size() != body.output_indices().size()) return false;
  if (!std::ranges::equal(work_of(own), work_of(body))) return false;
  Matcher inside(own, body);
  if (wanted.control->has_counter &&
      !inside.bind(input_indices(own).back(), input_indices(body).back()))
    return false;
  if (!inside.symbol(own.output_indices().back(), body.output_indices().back())) return false;
  std::vector<std::size_t> numbers;
  return carried(inside, wanted, got, numbers);
}

/// True if value `number` of a body may be the pattern's value `next`.
bool Matcher::carries(std::size_t next, std::size_t number) {
  return symbol(pattern_.output_indices()[next], graph_.output_indices()[number]) &&
         bind(input_indices(pattern_)[next], input_indices(graph_)[number]);
}

/// True if value `number` of the loop may be the pattern's value `next`: what computes it, what it
/// begins with, and what the loop gives.
bool Matcher::fits(const Matcher& body, const NodeInfo& wanted, const NodeInfo& got,
                   std::size_t next, std::size_t number) const {
  Matcher inside = body, outside = *this;
  return inside.carries(next, number) && outside.bind(wanted.outputs[next], got.outputs[number]) &&
         outside.symbol(wanted.inputs[next], got.inputs[number]);
}

/// True if there is a value of the loop for each value of the pattern that has none yet, and one of
/// the pattern for each of the loop, as far as each can tell alone. Without it a value that fits
/// nothing would be found behind all orders of the others.
bool Matcher::may_be_carried(const Matcher& so_far, const NodeInfo& wanted, const NodeInfo& got,
                             const std::vector<std::size_t>& numbers) const {
  const std::size_t count = so_far.pattern_.output_indices().size() - 1;
  std::vector<bool> has_value(count), has_number(count);
  for (const std::size_t number : numbers) has_value[number] = true;
  for (std::size_t next = numbers.size(); next < count; ++next)
    for (std::size_t number = 0; number < count; ++number) {
      if (std::ranges::find(numbers, number) != numbers.end()) continue;
      if (has_number[next] && has_value[number]) continue;
      if (fits(so_far, wanted, got, next, number)) has_number[next] = has_value[number] = true;
    }
  for (std::size_t k = 0; k < numbers.size(); ++k) has_number[k] = true;
  const auto is_true = [](bool value) { return value; };
  return std::ranges::all_of(has_value, is_true) && std::ranges::all_of(has_number, is_true);
}

/// Finds which value of the loop is the pattern's next one; `numbers` has those found so far.
bool Matcher::carried(const Matcher& so_far, const NodeInfo& wanted, const NodeInfo& got,
                      std::vector<std::size_t>& numbers) {
  const std::size_t next = numbers.size();
  const std::size_t count = so_far.pattern_.output_indices().size() - 1;
  if (next == count) return so_far.is_whole() && around(so_far, wanted, got, numbers);
  if (!may_be_carried(so_far, wanted, got, numbers)) return false;
  const PatternMatch before = match_;
  for (std::size_t number = 0; number < count; ++number) {
    if (std::ranges::find(numbers, number) != numbers.end()) continue;
    Matcher inside = so_far;
    if (inside.carries(next, number) && bind(wanted.outputs[next], got.outputs[number]) &&
        symbol(wanted.inputs[next], got.inputs[number])) {
      numbers.push_back(number);
      if (carried(inside, wanted, got, numbers)) return true;
      numbers.pop_back();
    }
    match_ = before;
  }
  return false;
}

/// Compares what the loop's node reads, once the body is the pattern's.
bool Matcher::around(const Matcher& body, const NodeInfo& wanted, const NodeInfo& got,
                     const std::vector<std::size_t>& numbers) {
  const std::vector<std::uint32_t> own_inputs = input_indices(body.pattern_);
  const auto is_same = [&](std::size_t k) {
    if (!body.match_.is_bound[own_inputs[k]]) return true;  // the body does not read it
    const auto number = input_position(body.graph_, body.match_.symbols[own_inputs[k]]);
    if (!number || *number >= got.inputs.size()) return false;
    const bool is_carried = k < numbers.size();
    if (is_carried ? *number != numbers[k] : *number < numbers.size()) return false;
    return symbol(wanted.inputs[k], got.inputs[*number]);
  };
  for (std::size_t k = 0; k < wanted.inputs.size(); ++k)
    if (!is_same(k)) return false;
  return true;
}

/// True if each node of the graph is one of the pattern, and none has an order of its own.
bool Matcher::is_whole() const {
  std::size_t count = 0;
  for (const NodeInfo& node : graph_.nodes()) {
    if (!node.removed) ++count;
    if (!node.removed && !node.after.empty()) return false;
  }
  std::vector<std::uint32_t> found = match_.nodes;
  std::ranges::sort(found);
  return std::ranges::find(found, kNoIndex) == found.end() &&
         std::ranges::adjacent_find(found) == found.end() && found.size() == count;
}

}  // namespace mote
