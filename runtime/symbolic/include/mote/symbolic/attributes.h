// SPDX-License-Identifier: Apache-2.0
// Attributes of a graph (NNVM's): values of any type, of the graph, of its symbols or of its nodes,
// by name. A value of symbols or nodes is a column, indexed as they are. An attribute that is set
// for a structure cannot be read once the structure has changed. A key holds the name, the type and
// the bearer, so that these stand in one line of a program:
//
//   constexpr NodeAttribute<double> kCost{"cost"};
//   g.attributes().set(kCost, {1.5, 2});                        // of nodes 0 and 1
//   const IndexColumn<double>& cost = g.attributes().at(kCost);
//   if (const double* ns = cost.find(node.index)) …
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "mote/base/export.h"
#include "mote/symbolic/symbol.h"

namespace MOTE_API mote {

class SymbolicGraph;

/// The bearer of an attribute.
enum class AttributeOf : std::uint8_t { graph, symbols, nodes };

/// The time for which an attribute may be read.
enum class AttributeLife : std::uint8_t {
  structure,  ///< until the graph's version() changes, unless the pass that changes it keeps it
  graph       ///< as long as the graph: a symbol or node that stays keeps its index and its value
};

/// The name of an attribute, the type of its values and their bearer. Attributes of two keys with
/// the same name are one attribute, which has the type and bearer with which it was set.
template <typename T, AttributeOf Of>
struct AttributeKey {
  std::string_view name;
  AttributeLife life = AttributeLife::structure;  ///< of the values that are set with this key
};
template <typename T>
using GraphAttribute = AttributeKey<T, AttributeOf::graph>;
template <typename T>
using SymbolAttribute = AttributeKey<T, AttributeOf::symbols>;
template <typename T>
using NodeAttribute = AttributeKey<T, AttributeOf::nodes>;

/// The values of one attribute by the index of symbols or nodes.
template <typename T>
class IndexColumn {
 public:
  IndexColumn() = default;
  explicit IndexColumn(std::vector<T> values) {
    values_.reserve(values.size());
    for (auto&& value : values) values_.emplace_back(std::move(value));
  }
  /// Returns null if there is no value for the index.
  const T* find(std::uint32_t index) const noexcept {
    return index < values_.size() && values_[index] ? &*values_[index] : nullptr;
  }
  void set(std::uint32_t index, T value) {
    if (index >= values_.size()) values_.resize(index + std::size_t{1});
    values_[index] = std::move(value);
  }

 private:
  std::vector<std::optional<T>> values_;
};

namespace detail {

class AnyAttribute {
 public:
  AnyAttribute(AttributeOf of, std::type_index type) : of(of), type(type) {}
  virtual ~AnyAttribute() = default;
  virtual std::shared_ptr<AnyAttribute> clone() const = 0;

  AttributeOf of;
  std::type_index type;
  AttributeLife life = AttributeLife::structure;
  std::uint64_t version = 0;  ///< the graph's, when it was set

 protected:
  AnyAttribute(const AnyAttribute&) = default;
  AnyAttribute& operator=(const AnyAttribute&) = default;
};

template <typename Held>
class HeldAttribute final : public AnyAttribute {
 public:
  HeldAttribute(AttributeOf of, std::type_index type, Held value)
      : AnyAttribute(of, type), value(std::move(value)) {}
  std::shared_ptr<AnyAttribute> clone() const override {
    return std::make_shared<HeldAttribute>(*this);
  }
  Held value;
};

/// All attributes of a graph. Copies share each value until one of them changes it.
class AttributeTable {
 public:
  AttributeTable() = default;
  AttributeTable(const AttributeTable& other) = default;
  AttributeTable& operator=(const AttributeTable& other) = delete;

  using Entries = std::map<std::string, std::shared_ptr<AnyAttribute>, std::less<>>;
  /// Returns the attribute to be changed, which no other table has afterwards.
  static AnyAttribute& own(Entries::iterator entry) {
    if (entry->second.use_count() > 1) entry->second = entry->second->clone();
    return *entry->second;
  }
  Entries by_name;
};

template <typename T>
struct PointsToShared
    : std::bool_constant<std::is_pointer_v<T> && !std::is_const_v<std::remove_pointer_t<T>>> {};
template <typename T>
struct PointsToShared<std::shared_ptr<T>> : std::bool_constant<!std::is_const_v<T>> {};

[[noreturn]] void refuse_attribute(std::string_view name, std::type_index type, const char* why);

}  // namespace detail

/// Reads the attributes of a graph. It is valid as long as the graph stays where it is.
class ConstAttributes {
 public:
  /// True if it is set and may be read.
  bool has(std::string_view name) const;
  std::vector<std::string> names() const;  ///< all that are set, sorted; some may be out of date
  /// Returns the version of the graph at which it was set. Throws StatusError if it is not set.
  std::uint64_t version(std::string_view name) const;

  // All throw StatusError if the attribute has another type or bearer, and if the structure has
  // changed since it was set; the message names the pass that provides it.
  /// Returns null if it is not set.
  template <typename T>
  const T* find(const GraphAttribute<T>& key) const {
    return value_of<T>(find_any(key.name, AttributeOf::graph, typeid(T)));
  }
  template <typename T>
  const T* find(TensorSymbol symbol, const SymbolAttribute<T>& key) const {
    check(symbol);
    return find_in_column(key, symbol.index);
  }
  template <typename T>
  const T* find(NodeSymbol node, const NodeAttribute<T>& key) const {
    check(node);
    return find_in_column(key, node.index);
  }
  // These throw StatusError if it is not set, too.
  template <typename T>
  const T& at(const GraphAttribute<T>& key) const {
    return *value_of<T>(&at_any(key.name, AttributeOf::graph, typeid(T)));
  }
  template <typename T>
  const IndexColumn<T>& at(const SymbolAttribute<T>& key) const {
    return *value_of<IndexColumn<T>>(&at_any(key.name, AttributeOf::symbols, typeid(T)));
  }
  template <typename T>
  const IndexColumn<T>& at(const NodeAttribute<T>& key) const {
    return *value_of<IndexColumn<T>>(&at_any(key.name, AttributeOf::nodes, typeid(T)));
  }

 protected:
  friend class SymbolicGraph;
  ConstAttributes(const SymbolicGraph& graph, detail::AttributeTable& table)
      : graph_(&graph), table_(&table) {}

  template <typename Held>
  static const Held* value_of(const detail::AnyAttribute* any) {
    return any == nullptr ? nullptr : &static_cast<const detail::HeldAttribute<Held>*>(any)->value;
  }
  template <typename T, AttributeOf Of>
  const T* find_in_column(const AttributeKey<T, Of>& key, std::uint32_t index) const {
    const auto* column = value_of<IndexColumn<T>>(find_any(key.name, Of, typeid(T)));
    return column == nullptr ? nullptr : column->find(index);
  }
  void check(TensorSymbol symbol) const;
  void check(NodeSymbol node) const;
  const detail::AnyAttribute* find_any(std::string_view name, AttributeOf of,
                                       std::type_index type) const;
  const detail::AnyAttribute& at_any(std::string_view name, AttributeOf of,
                                     std::type_index type) const;
  bool may_be_read(const detail::AnyAttribute& any) const;

  const SymbolicGraph* graph_;
  detail::AttributeTable* table_;
};

/// Reads and sets the attributes of a graph. A value is copied with the graph, by its copy
/// constructor, so set() throws StatusError for types whose copies would share something that may
/// change. It also throws StatusError if the attribute has another type or bearer already.
class Attributes : public ConstAttributes {
 public:
  template <typename T>
  void set(const GraphAttribute<T>& key, std::type_identity_t<T> value) {
    store<T>(key, std::move(value));
  }
  /// Sets the values of symbols or nodes 0, 1, …
  template <typename T>
  void set(const SymbolAttribute<T>& key, std::type_identity_t<std::vector<T>> values) {
    store<T>(key, IndexColumn<T>(std::move(values)));
  }
  template <typename T>
  void set(const NodeAttribute<T>& key, std::type_identity_t<std::vector<T>> values) {
    store<T>(key, IndexColumn<T>(std::move(values)));
  }
  /// Sets the value of one symbol; others that are out of date are lost.
  template <typename T>
  void set(TensorSymbol symbol, const SymbolAttribute<T>& key, std::type_identity_t<T> value) {
    check(symbol);
    store_one(key, symbol.index, std::move(value));
  }
  template <typename T>
  void set(NodeSymbol node, const NodeAttribute<T>& key, std::type_identity_t<T> value) {
    check(node);
    store_one(key, node.index, std::move(value));
  }
  void drop(std::string_view name);

 private:
  friend class SymbolicGraph;
  friend class PassDriver;
  using ConstAttributes::ConstAttributes;

  template <typename T>
  static void check_copies(std::string_view name) {
    if constexpr (!std::is_copy_constructible_v<T>)
      detail::refuse_attribute(name, typeid(T), "it cannot be copied");
    else if constexpr (detail::PointsToShared<T>::value)
      detail::refuse_attribute(name, typeid(T), "a copy would share what it points to");
  }
  template <typename T, AttributeOf Of, typename Held>
  void store(const AttributeKey<T, Of>& key, Held value) {
    check_copies<T>(key.name);
    if constexpr (std::is_copy_constructible_v<T>)
      put(key.name, std::make_shared<detail::HeldAttribute<Held>>(Of, typeid(T), std::move(value)),
          key.life);
  }
  template <typename T, AttributeOf Of>
  void store_one(const AttributeKey<T, Of>& key, std::uint32_t index, T value) {
    check_copies<T>(key.name);
    if constexpr (std::is_copy_constructible_v<T>) {
      if (!has(key.name)) store<T>(key, IndexColumn<T>());
      at_any(key.name, Of, typeid(T));  // throws if it has another type or bearer
      detail::AnyAttribute& any = own(key.name);
      static_cast<detail::HeldAttribute<IndexColumn<T>>&>(any).value.set(index, std::move(value));
      any.life = key.life;
    }
  }
  void put(std::string_view name, std::shared_ptr<detail::AnyAttribute> value, AttributeLife life);
  /// Returns an attribute that is set, to be changed.
  detail::AnyAttribute& own(std::string_view name);
  /// States that the attribute holds for the structure as it is now.
  void keep(std::string_view name);
};

}  // namespace mote
