// SPDX-License-Identifier: Apache-2.0
#include "gradient/reverse.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "fail.h"
#include "gradient/control_gradient.h"
#include "mote/graph/large_pages.h"
#include "mote/runtime/error_under_way.h"

namespace mote {
Reverse::Reverse(GraphBuilder& builder, std::vector<std::uint32_t> nodes, std::uint32_t boundary)
    : builder_(builder),
      graph_(builder.graph()),
      nodes_(std::move(nodes)),
      regions_(graph_, boundary) {}

/// Goes forwards to find what depends on `wrt`, and backwards to find what `of` depends on.
void Reverse::find_active(std::span<const TensorSymbol> of, std::span<const TensorSymbol> wrt) {
  ElementSet varied(regions_);
  for (const TensorSymbol symbol : wrt) varied.add(symbol.index);
  std::vector<ActiveNode> candidates;
  detail::reserve_in_large_pages(candidates, nodes_.size());
  for (const std::uint32_t index : nodes_) {
    const NodeInfo& node = graph_.nodes()[index];
    const NodeFlow flow = flow_of(builder_, index);
    WideMask wanted;
    flow.to.each([&](std::size_t k) {
      if (varied.overlaps(node.inputs[k])) wanted.add(k);
    });
    if (wanted.is_empty() || flow.from.is_empty()) continue;
    flow.from.each([&](std::size_t k) { varied.add(node.outputs[k]); });
    candidates.push_back({index, flow.from, std::move(wanted)});
  }
  ElementSet useful(regions_);
  for (const TensorSymbol symbol : of) {
    reached_.push_back(varied.overlaps(symbol.index));
    if (reached_.back()) useful.add(symbol.index);
  }
  for (std::size_t n = candidates.size(); n-- > 0;) {
    ActiveNode& active = candidates[n];
    const NodeInfo& node = graph_.nodes()[active.node];
    WideMask given;
    active.given.each([&](std::size_t k) {
      if (useful.overlaps(node.outputs[k])) given.add(k);
    });
    active.given = std::move(given);
    if (active.given.is_empty()) continue;
    active.wanted.each([&](std::size_t k) { useful.add(node.inputs[k]); });
  }
  std::erase_if(candidates, [](const ActiveNode& active) { return active.given.is_empty(); });
  active_ = std::move(candidates);
}

void Reverse::set_call(GradientCall& call, const ActiveNode& active) const {
  const NodeInfo& node = graph_.nodes()[active.node];
  call.command = node.command.get();
  const auto set = [&](std::vector<TensorSymbol>& list, std::span<const std::uint32_t> indices,
                       std::int32_t count) {
    list.assign(std::max(indices.size(), static_cast<std::size_t>(count)), TensorSymbol{});
    for (std::size_t k = 0; k < indices.size(); ++k)
      if (indices[k] != kNoIndex) list[k] = graph_.at(indices[k]);
  };
  const bool is_command = node.kind == NodeKind::command;
  set(call.inputs, node.inputs, is_command ? call.command->definition().input_count : 0);
  set(call.outputs, node.outputs, is_command ? call.command->definition().output_count : 0);
  call.gradients.assign(call.outputs.size(), TensorSymbol{});
  call.targets.assign(call.inputs.size(), TensorSymbol{});
  call.given = active.given;
  call.wanted = active.wanted;
}

/// Returns code(), whose errors name the node if it may run code of the caller's.
template <typename Code>
auto Reverse::within(std::uint32_t node, const Code& code) const {
  const NodeKind kind = graph_.nodes()[node].kind;
  if (kind != NodeKind::function && kind != NodeKind::control) return code();
  const std::string text = graph_.text(graph_.node_at(node));
  try {
    return code();
  } catch (...) {
    constexpr std::string_view kLayer = "symbolic graph: ";
    auto [status, what] = error_under_way();
    if (what.starts_with(kLayer)) what.erase(0, kLayer.size());
    fail_graph("gradient of " + text + ": " + what, status);
  }
}

void Reverse::check(std::span<const TensorSymbol> of, std::span<const TensorSymbol> wrt) const {
  GradientCall call;
  for (std::size_t n = 0; n < active_.size(); ++n) {
    const NodeInfo& node = graph_.nodes()[active_[n].node];
    set_call(call, active_[n]);
    const std::string reason =
        within(active_[n].node, [&] { return why_not(builder_, node, call); });
    if (!reason.empty())
      fail_graph("gradient: " + graph_.text(graph_.node_at(active_[n].node)) +
                     " has no gradient: " + reason + "; it is on the path " + path(n, of, wrt),
                 MOTE_UNSUPPORTED);
  }
}

bool Reverse::overlaps_any(std::span<const TensorSymbol> symbols, std::uint32_t symbol) const {
  ElementSet elements(regions_);
  elements.add(symbol);
  return std::ranges::any_of(symbols, [&](TensorSymbol s) { return elements.overlaps(s.index); });
}

/// Returns an output of each node from this one to one that gives elements of `of`: each reads what
/// the last one gives.
std::vector<std::uint32_t> Reverse::way_to(std::span<const TensorSymbol> of, std::size_t n) const {
  std::vector<std::uint32_t> way;
  while (n < active_.size()) {
    const NodeInfo& node = graph_.nodes()[active_[n].node];
    ElementSet given(regions_);
    bool is_end = false;
    std::uint32_t first = kNoIndex;
    active_[n].given.each([&](std::size_t k) {
      given.add(node.outputs[k]);
      if (first == kNoIndex) first = node.outputs[k];
      is_end = is_end || overlaps_any(of, node.outputs[k]);
    });
    way.push_back(first);
    if (is_end) break;
    const auto reads = [&](const ActiveNode& next) {
      bool found = false;
      next.wanted.each([&](std::size_t k) {
        found = found || given.overlaps(graph_.nodes()[next.node].inputs[k]);
      });
      return found;
    };
    for (++n; n < active_.size() && !reads(active_[n]);) ++n;
  }
  return way;
}

/// Returns an input of each node from this one back to one that reads elements of `wrt`.
std::vector<std::uint32_t> Reverse::way_from(std::span<const TensorSymbol> wrt,
                                             std::size_t n) const {
  std::vector<std::uint32_t> way;
  for (++n; n-- > 0;) {
    const NodeInfo& node = graph_.nodes()[active_[n].node];
    bool is_link = way.empty();
    active_[n].given.each([&](std::size_t k) {
      is_link = is_link || overlaps_any(std::vector{graph_.at(way.back())}, node.outputs[k]);
    });
    if (!is_link) continue;
    std::uint32_t last = kNoIndex;
    bool is_end = false;
    active_[n].wanted.each([&](std::size_t k) {
      if (is_end) return;
      last = node.inputs[k];
      is_end = overlaps_any(wrt, last);
    });
    way.push_back(last);
    if (is_end) break;
  }
  return way;
}

/// Returns "loss <- h <- x", through the node.
std::string Reverse::path(std::size_t failing, std::span<const TensorSymbol> of,
                          std::span<const TensorSymbol> wrt) const {
  constexpr std::size_t kNamed = 4;  // at each end of a long way
  std::string text;
  const auto list = [&](const std::vector<std::uint32_t>& symbols) {
    for (std::size_t k = 0; k < symbols.size(); ++k) {
      if (k == kNamed && symbols.size() > 2 * kNamed) {
        text += " <- … " + std::to_string(symbols.size() - 2 * kNamed) + " more …";
        k = symbols.size() - kNamed;
      }
      text += (text.empty() ? "" : " <- ") + graph_.text(graph_.at(symbols[k]));
    }
  };
  std::vector<std::uint32_t> towards_of = way_to(of, failing);
  std::ranges::reverse(towards_of);
  list(towards_of);
  list(way_from(wrt, failing));
  return text;
}

/// Computes the gradients of a node's inputs from those of its outputs.
void Reverse::walk(const ActiveNode& active, Cotangents& cotangents) {
  GradientCall& call = call_;
  set_call(call, active);
  call.given = {};
  active.given.each([&](std::size_t k) {
    call.gradients[k] = cotangents.of(call.outputs[k]);
    if (call.gradients[k]) call.given.add(k);
  });
  active.wanted.each([&](std::size_t k) { call.targets[k] = cotangents.target(call.inputs[k]); });
  const std::shared_ptr<const NamedFunction> function = graph_.nodes()[active.node].function;
  if (!call.given.is_empty() && function && function->keeping) {
    call.outputs.push_back(graph_.grow_function(graph_.node_at(active.node), function->keeping()));
    call.gradients.emplace_back();
  }
  // A node may move while others are appended; the call has its tensors.
  const NodeInfo& of = graph_.nodes()[active.node];
  NodeInfo node;
  node.kind = of.kind;
  node.command = of.command;
  node.function = of.function;
  std::vector<TensorSymbol> gradients;
  if (call.given.is_empty())
    gradients.resize(call.inputs.size());
  else
    gradients = within(active.node, [&] {
      return node.kind == NodeKind::control ? control_gradient(builder_, active.node, call)
                                            : node_gradient(builder_, node, call);
    });
  active.wanted.each([&](std::size_t k) {
    TensorSymbol gradient = gradients[k];
    if (!gradient) {
      gradient = builder_.filled_like(0, call.inputs[k]);
    }
    cotangents.add(call.inputs[k], builder_.into(call.targets[k], gradient));
  });
}

std::vector<TensorSymbol> Reverse::run(std::span<const TensorSymbol> of,
                                       std::span<const TensorSymbol> seeds,
                                       std::span<const TensorSymbol> wrt) {
  find_active(of, wrt);
  check(of, wrt);
  Cotangents cotangents(builder_, regions_, active_.size() + of.size());
  for (std::size_t k = 0; k < of.size(); ++k)
    if (reached_[k]) cotangents.expect(of[k]);
  for (const ActiveNode& active : active_)
    active.wanted.each([&](std::size_t k) {
      cotangents.expect(graph_.at(graph_.nodes()[active.node].inputs[k]));
    });
  for (std::size_t k = 0; k < of.size(); ++k) {
    if (!reached_[k]) continue;
    const TensorSymbol seed = seeds.empty() ? builder_.filled_like(1, of[k]) : seeds[k];
    cotangents.add(of[k], builder_.into(cotangents.target(of[k]), seed));
  }
  for (std::size_t n = active_.size(); n-- > 0;) walk(active_[n], cotangents);
  std::vector<TensorSymbol> gradients;
  for (const TensorSymbol symbol : wrt) gradients.push_back(cotangents.of(symbol));
  return gradients;
}

}  // namespace mote
