// SPDX-License-Identifier: Apache-2.0
// Attributes of graphs: their types, their bearers, and until when they may be read.
#include "mote/symbolic/attributes.h"

#include <array>

#include "fail.h"
#include "mote/symbolic/symbolic_graph.h"
#include "passes/registered.h"
#include "registry/type_text.h"

namespace mote {
namespace {

/// Returns ": the pass fold provides it", or what else can be said.
std::string advice(std::string_view attribute) {
  const std::vector<std::string> passes = providers_of(attribute);
  if (passes.empty()) return ", and no registered pass provides it";
  std::string names;
  for (const std::string& pass : passes) names += (names.empty() ? "" : " or ") + pass;
  return ": the pass " + names + " provides it";
}

const char* text_of(AttributeOf of) {
  constexpr std::array kTexts = {"the graph", "symbols", "nodes"};
  return kTexts.at(static_cast<std::size_t>(of));
}

void check_type(const detail::AnyAttribute& any, std::string_view name, AttributeOf of,
                std::type_index type) {
  if (any.of != of)
    fail_graph("attribute " + std::string(name) + " is one of " + text_of(any.of) +
               ", asked for as one of " + text_of(of));
  if (any.type != type)
    fail_graph("attribute " + std::string(name) + " is of type " + readable(any.type) +
               ", asked for as " + readable(type));
}

}  // namespace

namespace detail {

void refuse_attribute(std::string_view name, std::type_index type, const char* why) {
  fail_graph("attribute " + std::string(name) + " of type " + readable(type) +
             " cannot be set, since it is copied with its graph: " + why);
}

}  // namespace detail

bool ConstAttributes::may_be_read(const detail::AnyAttribute& any) const {
  return any.life == AttributeLife::graph || any.version == graph_->version();
}

bool ConstAttributes::has(std::string_view name) const {
  const auto found = table_->by_name.find(name);
  return found != table_->by_name.end() && may_be_read(*found->second);
}

std::vector<std::string> ConstAttributes::names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : table_->by_name) names.push_back(name);
  return names;
}

std::uint64_t ConstAttributes::version(std::string_view name) const {
  const auto found = table_->by_name.find(name);
  if (found == table_->by_name.end())
    fail_graph(graph_->name() + " has no attribute " + std::string(name) + advice(name));
  return found->second->version;
}

void ConstAttributes::check(TensorSymbol symbol) const { graph_->info(symbol); }
void ConstAttributes::check(NodeSymbol node) const { graph_->info(node); }

const detail::AnyAttribute* ConstAttributes::find_any(std::string_view name, AttributeOf of,
                                                      std::type_index type) const {
  const auto found = table_->by_name.find(name);
  if (found == table_->by_name.end()) return nullptr;
  const detail::AnyAttribute& any = *found->second;
  check_type(any, name, of, type);
  if (!may_be_read(any))
    fail_graph("attribute " + std::string(name) + " was set for version " +
               std::to_string(any.version) + " of " + graph_->name() + ", which is at version " +
               std::to_string(graph_->version()) + advice(name));
  return &any;
}

const detail::AnyAttribute& ConstAttributes::at_any(std::string_view name, AttributeOf of,
                                                    std::type_index type) const {
  const detail::AnyAttribute* any = find_any(name, of, type);
  if (any == nullptr)
    fail_graph(graph_->name() + " has no attribute " + std::string(name) + advice(name));
  return *any;
}

void Attributes::put(std::string_view name, std::shared_ptr<detail::AnyAttribute> value,
                     AttributeLife life) {
  if (name.empty()) fail_graph("an attribute needs a name");
  value->life = life;
  value->version = graph_->version();
  const auto found = table_->by_name.find(name);
  if (found == table_->by_name.end()) {
    table_->by_name.emplace(name, std::move(value));
    return;
  }
  check_type(*found->second, name, value->of, value->type);
  found->second = std::move(value);
}

void Attributes::drop(std::string_view name) {
  const auto found = table_->by_name.find(name);
  if (found != table_->by_name.end()) table_->by_name.erase(found);
}

void Attributes::keep(std::string_view name) {
  const auto found = table_->by_name.find(name);
  if (found != table_->by_name.end())
    detail::AttributeTable::own(found).version = graph_->version();
}

detail::AnyAttribute& Attributes::own(std::string_view name) {
  return detail::AttributeTable::own(table_->by_name.find(name));
}

}  // namespace mote
