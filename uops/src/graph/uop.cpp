// SPDX-License-Identifier: Apache-2.0
// Nodes of the uop graph: creation and freeing, comparison, operands, order, texts in messages.
#include "mote/uops/uop.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <unordered_set>

#include "graph/node.h"
#include "mote/base/characters.h"

namespace mote {
namespace {

std::vector<Uop> operands_of(const UopNode& n) {
  using Uops = std::vector<Uop>;
  return std::visit(Overloaded{[](const uop::Reindex& k) { return Uops{k.x}; },
                               [](const uop::Map& k) { return k.args; },
                               [](const uop::Reduce& k) { return Uops{k.x}; },
                               [](const uop::Select& k) {
                                 return Uops{k.x, k.index};
                               },
                               [](const uop::Scatter& k) {
                                 return Uops{k.base, k.x};
                               },
                               [](const uop::SelectScatter& k) {
                                 return Uops{k.base, k.x, k.index};
                               },
                               [](const uop::StopGradient& k) { return Uops{k.x}; },
                               [](const auto&) { return Uops{}; }},
                    n.kind);
}

std::string description(const UopNode& n) {
  return std::visit(
      Overloaded{
          [](const uop::Input& k) { return "Input " + k.name; },
          [](const uop::Scalar&) { return std::string("Scalar"); },
          [](const uop::Param& k) { return "Param $" + k.name; },
          [](const uop::Iota&) { return std::string("Iota"); },
          [](const uop::Reindex&) { return std::string("Reindex"); },
          [](const uop::Map& k) { return fmt::format("Map {}", name(k.op)); },
          [](const uop::Reduce& k) { return fmt::format("Reduce {}", name(k.op)); },
          [](const uop::Select&) { return std::string("Select"); },
          [](const uop::Scatter& k) { return fmt::format("Scatter {}", name(k.op)); },
          [](const uop::SelectScatter& k) { return fmt::format("SelectScatter {}", name(k.op)); },
          [](const uop::StopGradient&) { return std::string("StopGradient"); }},
      n.kind);
}

// Frees a node; the nodes that die with it wait in a list of the outermost call, so that a chain of
// any length takes no stack.
void release(const UopNode* node) {
  thread_local std::vector<Uop>* pending = nullptr;
  std::vector<Uop> own;
  const bool outermost = pending == nullptr;
  if (outermost) pending = &own;
  for (Uop& u : operands_of(*node)) pending->push_back(std::move(u));
  delete node;
  if (!outermost) return;
  while (!own.empty()) {
    const Uop last = std::move(own.back());
    own.pop_back();
  }
  pending = nullptr;
}

struct SameKind {
  bool operator()(const uop::Input& a, const uop::Input& b) const {
    return a.name == b.name && a.broadcast == b.broadcast;
  }
  bool operator()(const uop::Scalar& a, const uop::Scalar& b) const {
    return identical(a.value, b.value);
  }
  bool operator()(const uop::Param& a, const uop::Param& b) const { return a.name == b.name; }
  bool operator()(const uop::Iota& a, const uop::Iota& b) const { return a.value == b.value; }
  bool operator()(const uop::Reindex& a, const uop::Reindex& b) const {
    return a.x.id() == b.x.id() && a.from == b.from && identical(a.fill, b.fill) &&
           a.constraints == b.constraints;
  }
  bool operator()(const uop::Map& a, const uop::Map& b) const {
    if (a.op != b.op || a.args.size() != b.args.size()) return false;
    for (std::size_t k = 0; k < a.args.size(); ++k)
      if (a.args[k].id() != b.args[k].id()) return false;
    return true;
  }
  bool operator()(const uop::Reduce& a, const uop::Reduce& b) const {
    return a.op == b.op && a.x.id() == b.x.id() && a.axes == b.axes;
  }
  bool operator()(const uop::Select& a, const uop::Select& b) const {
    return a.x.id() == b.x.id() && a.axis == b.axis && a.index.id() == b.index.id() &&
           identical(a.fill, b.fill);
  }
  bool operator()(const uop::Scatter& a, const uop::Scatter& b) const {
    return a.op == b.op && a.base.id() == b.base.id() && a.x.id() == b.x.id() && a.to == b.to &&
           a.constraints == b.constraints;
  }
  bool operator()(const uop::SelectScatter& a, const uop::SelectScatter& b) const {
    return a.op == b.op && a.base.id() == b.base.id() && a.x.id() == b.x.id() && a.axis == b.axis &&
           a.index.id() == b.index.id();
  }
  bool operator()(const uop::StopGradient& a, const uop::StopGradient& b) const {
    return a.x.id() == b.x.id();
  }
  template <typename A, typename B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

struct Hasher {
  std::size_t value;
  void add(std::size_t x) { value = (value ^ x) * 0x9E3779B97F4A7C15ULL + (value >> 29); }
  void add(const Number& n) {
    if (!n.is_real())
      add(static_cast<std::size_t>(n.integer()));
    else
      add(std::isnan(n.real()) ? 1 : std::bit_cast<std::uint64_t>(n.real()));
  }
  void add(std::string_view text) { add(std::hash<std::string_view>()(text)); }
};

}  // namespace

const std::vector<Expr>& Uop::shape() const { return node_->shape; }
DType Uop::dtype() const { return node_->dtype; }

Uop make_node(uop::Kind kind, DType dtype, std::vector<Expr> shape,
              std::vector<std::string> axis_names) {
  axis_names.resize(shape.size());
  auto node = std::make_unique<UopNode>(
      UopNode{std::move(kind), dtype, std::move(shape), std::move(axis_names), 1});
  for (const Uop& x : operands_of(*node)) node->depth = std::max(node->depth, x.node().depth + 1);
  if (node->depth > kMaxDepth)
    throw Error(
        fmt::format("{}: a chain of {} nodes, more than {}: let a program end in what is computed "
                    "so far, and a second one begin with that as an input",
                    description(*node), node->depth, kMaxDepth));
  return Uop(std::shared_ptr<const UopNode>(node.release(), release));
}

bool same_node(const UopNode& a, const UopNode& b) {
  return a.dtype == b.dtype && a.shape == b.shape && std::visit(SameKind(), a.kind, b.kind);
}

std::size_t hash_node(const UopNode& n) {
  Hasher h{n.kind.index()};
  h.add(static_cast<std::size_t>(n.dtype));
  for (const Expr& e : n.shape) h.add(e.hash());
  for (const Uop& x : operands_of(n)) h.add(std::hash<const void*>()(x.id()));
  const auto add_op = [&](auto op) { h.add(static_cast<std::size_t>(op)); };
  std::visit(Overloaded{[&](const uop::Input& k) { h.add(k.name); },
                        [&](const uop::Scalar& k) { h.add(k.value); },
                        [&](const uop::Param& k) { h.add(k.name); },
                        [&](const uop::Iota& k) { h.add(k.value.hash()); },
                        [&](const uop::Reindex& k) {
                          for (const Expr& e : k.from) h.add(e.hash());
                          h.add(k.fill);
                        },
                        [&](const uop::Map& k) { add_op(k.op); },
                        [&](const uop::Reduce& k) {
                          add_op(k.op);
                          for (const int a : k.axes) h.add(static_cast<std::size_t>(a));
                        },
                        [&](const uop::Select& k) { h.add(static_cast<std::size_t>(k.axis)); },
                        [&](const uop::Scatter& k) {
                          add_op(k.op);
                          for (const Expr& e : k.to) h.add(e.hash());
                        },
                        [&](const uop::SelectScatter& k) {
                          add_op(k.op);
                          h.add(static_cast<std::size_t>(k.axis));
                        },
                        [&](const uop::StopGradient&) {}},
             n.kind);
  return h.value;
}

std::vector<Uop> operands(const Uop& u) { return operands_of(u.node()); }

void for_each_expr(const Uop& u, const std::function<void(const Expr&)>& f) {
  for (const Expr& e : u.shape()) f(e);
  if (const auto* iota = std::get_if<uop::Iota>(&u.node().kind)) f(iota->value);
  if (const auto* reindex = std::get_if<uop::Reindex>(&u.node().kind))
    for (const Expr& e : reindex->from) f(e);
  if (const auto* scatter = std::get_if<uop::Scatter>(&u.node().kind))
    for (const Expr& e : scatter->to) f(e);
}

const std::vector<Expr>& index_space(const Uop& u) {
  const auto* scatter = std::get_if<uop::Scatter>(&u.node().kind);
  return scatter ? scatter->x.shape() : u.shape();
}

std::span<const Constraint> stated_constraints(const Uop& u) {
  if (const auto* reindex = std::get_if<uop::Reindex>(&u.node().kind)) return reindex->constraints;
  if (const auto* scatter = std::get_if<uop::Scatter>(&u.node().kind)) return scatter->constraints;
  return {};
}

std::string describe(const Uop& u) { return description(u.node()); }

std::vector<Uop> topological(std::span<const Uop> outputs) {
  return topological(outputs, operands);
}

std::vector<Uop> topological(std::span<const Uop> roots,
                             const std::function<std::vector<Uop>(const Uop&)>& reads) {
  struct Visit {
    Uop u;
    std::vector<Uop> operands;
    std::size_t next = 0;
  };
  std::vector<Uop> order;
  std::unordered_set<const UopNode*> seen;
  std::vector<Visit> stack;
  for (const Uop& root : roots) {
    if (seen.insert(root.id()).second) stack.push_back({root, reads(root)});
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next == top.operands.size()) {
        order.push_back(top.u);
        stack.pop_back();
        continue;
      }
      const Uop next = top.operands[top.next++];
      if (seen.insert(next.id()).second) stack.push_back({next, reads(next)});
    }
  }
  return order;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, is_word);
}

std::string shape_text(std::span<const Expr> shape) {
  std::string text = "[";
  for (std::size_t k = 0; k < shape.size(); ++k)
    text += (k == 0 ? "" : ", ") + shape[k].to_string();
  return text + "]";
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::string type_text(const Uop& u) {
  return fmt::format("{}{}", name(u.dtype()), shape_text(u.shape()));
}

}  // namespace mote
