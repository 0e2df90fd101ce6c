// SPDX-License-Identifier: Apache-2.0
// The registry of operators (NNVM's): names, aliases, groups, and attributes of any type, which any
// translation unit or loaded library may add at any time. An attribute is a column indexed by op
// id; a lookup is two loads and takes no lock, and what it found stays where it is for the life of
// the registry, so that a plug-in may register while others run. The library whose code or types
// an attribute uses must stay loaded.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// Position of an op in the order of registration.
using OpId = std::uint32_t;
/// Registration of one more op than that is an error.
inline constexpr std::size_t kMaxOps = 65536;
/// What an attribute is registered at where nothing else is said.
inline constexpr int kDefaultLevel = 10;

namespace detail {

/// A column without its type. Chunks are made when first needed and never move.
class AnyColumn {
 public:
  AnyColumn(std::string name, std::type_index type) : name_(std::move(name)), type_(type) {}
  ~AnyColumn();
  AnyColumn(const AnyColumn&) = delete;
  AnyColumn& operator=(const AnyColumn&) = delete;

  /// The value, or null.
  const void* find(OpId op) const noexcept {
    const std::size_t chunk = op / kChunkOps;
    if (chunk >= chunks_.size()) return nullptr;
    const Chunk* ops = chunks_[chunk].load(std::memory_order_acquire);
    return ops == nullptr ? nullptr : (*ops)[op % kChunkOps].load(std::memory_order_acquire);
  }
  const std::string& name() const { return name_; }
  std::type_index type() const { return type_; }

  // Not with another of these at the same time.
  /// So that store() cannot fail.
  void make_room(OpId op);
  void store(OpId op, const void* value) noexcept;

 private:
  static constexpr std::size_t kChunkOps = 256;
  using Chunk = std::array<std::atomic<const void*>, kChunkOps>;

  std::string name_;
  std::type_index type_;
  std::array<std::atomic<Chunk*>, kMaxOps / kChunkOps> chunks_{};
};

}  // namespace detail

class Registry;

/// The values of one attribute. A reference to it stays good as long as the registry.
template <typename T>
class Column {
 public:
  Column(const Registry& registry, const detail::AnyColumn& column)
      : registry_(&registry), column_(&column) {}

  /// Null where the op has none.
  const T* find(OpId op) const noexcept { return static_cast<const T*>(column_->find(op)); }
  /// StatusError "op softmax has no attribute in_place".
  const T& at(OpId op) const;

 private:
  const Registry* registry_;
  const detail::AnyColumn* column_;
};

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  /// The one that everybody shares; made, with the catalogue's ops in it, when first asked for.
  static Registry& global();

  /// The op with that name, registered if it is new. StatusError for an empty name or one that is
  /// an alias of another op.
  OpId add(std::string_view name);
  /// By name or alias.
  std::optional<OpId> find(std::string_view name) const;
  /// StatusError "unknown op 'sotfmax': did you mean softmax?".
  OpId get(std::string_view name) const;
  const std::string& name(OpId op) const;
  std::size_t size() const;  ///< ids are 0 … size() - 1
  std::vector<std::string> names() const;
  std::vector<std::string> aliases(OpId op) const;
  std::vector<std::string> attributes() const;  ///< sorted
  std::vector<OpId> members(std::string_view group) const;

  /// StatusError where the name is taken by another op.
  void alias(OpId op, std::string_view name);
  /// The op has the group's attributes from now on, those registered later too.
  void include(OpId op, std::string_view group);

  /// Of several registrations that of the highest level holds; the same level twice is a
  /// StatusError, as is another type than the attribute's first. On an error, and where memory
  /// ends, nothing has been registered, of a group for none of its members.
  template <typename T>
  void set(OpId op, std::string_view attribute, T value, int level = kDefaultLevel) {
    store(op, attribute, typeid(T), std::make_shared<const T>(std::move(value)), level);
  }
  template <typename T>
  void set_group(std::string_view group, std::string_view attribute, T value,
                 int level = kDefaultLevel) {
    store_group(group, attribute, typeid(T), std::make_shared<const T>(std::move(value)), level);
  }
  /// Whether the attribute was registered at that level, for the op or a group of it.
  bool is_set(OpId op, std::string_view attribute, int level = kDefaultLevel) const;
  /// Empty where nothing has been registered yet; later registrations show up in it.
  template <typename T>
  Column<T> column(std::string_view attribute) const {
    return {*this, any_column(attribute, typeid(T))};
  }

 private:
  struct State;
  using Value = std::shared_ptr<const void>;

  const detail::AnyColumn& any_column(std::string_view attribute, std::type_index type) const;
  void store(OpId op, std::string_view attribute, std::type_index type, Value value, int level);
  void store_group(std::string_view group, std::string_view attribute, std::type_index type,
                   Value value, int level);

  template <typename T>
  friend class Column;
  [[noreturn]] void missing(OpId op, const std::string& attribute) const;

  std::unique_ptr<State> state_;
};

template <typename T>
const T& Column<T>::at(OpId op) const {
  if (const T* value = find(op)) return *value;
  registry_->missing(op, column_->name());
}

/// Registration as a chain:
/// register_op("relu").alias("Relu").include("elementwise").set<InPlace>("in_place", {{0, 0}});
class Registration {
 public:
  Registration(Registry& registry, OpId op) : registry_(&registry), op_(op) {}
  OpId id() const { return op_; }
  Registration& alias(std::string_view name) {
    registry_->alias(op_, name);
    return *this;
  }
  Registration& include(std::string_view group) {
    registry_->include(op_, group);
    return *this;
  }
  template <typename T>
  Registration& set(std::string_view attribute, T value, int level = kDefaultLevel) {
    registry_->set<T>(op_, attribute, std::move(value), level);
    return *this;
  }

 private:
  Registry* registry_;
  OpId op_;
};

inline Registration register_op(std::string_view name, Registry& registry = Registry::global()) {
  return {registry, registry.add(name)};
}

}  // namespace mote
