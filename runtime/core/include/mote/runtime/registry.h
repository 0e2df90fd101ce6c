// SPDX-License-Identifier: Apache-2.0
// The registry of operators (NNVM's): names, aliases, groups, and attributes of any type, which any
// translation unit or loaded library may add at any time. An attribute is a column indexed by op
// id. A lookup is two loads and takes no lock, and its result does not move for the life of the
// registry, so a plug-in may register while others run. The library whose code or types an
// attribute uses must stay loaded.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// The position of an op in the order of registration.
using OpId = std::uint32_t;
/// The maximum number of ops; registering one more is an error.
inline constexpr std::size_t kMaxOps = 65536;
/// The level of an attribute that is registered without one.
inline constexpr int kDefaultLevel = 10;

namespace detail {

/// A column without its type. Chunks are made when first needed and never move.
class AnyColumn {
 public:
  AnyColumn(std::string name, std::type_index type) : name_(std::move(name)), type_(type) {}
  ~AnyColumn();
  AnyColumn(const AnyColumn&) = delete;
  AnyColumn& operator=(const AnyColumn&) = delete;

  /// Returns the value, or null.
  const void* find(OpId op) const noexcept {
    const std::size_t chunk = op / kChunkOps;
    if (chunk >= chunks_.size()) return nullptr;
    const Chunk* ops = chunks_[chunk].load(std::memory_order_acquire);
    return ops == nullptr ? nullptr : (*ops)[op % kChunkOps].load(std::memory_order_acquire);
  }
  const std::string& name() const { return name_; }
  std::type_index type() const { return type_; }

  // Only one of these functions may run at a time.
  /// Reserves room for the op so that store() cannot fail.
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

/// The name of an attribute of ops, and the type of its values:
/// constexpr OpAttribute<double> kCost{"cost"}.
template <typename T>
struct OpAttribute {
  std::string_view name;
};

/// The values of one attribute. A reference to a value stays valid as long as the registry.
template <typename T>
class Column {
 public:
  Column(const Registry& registry, const detail::AnyColumn& column)
      : registry_(&registry), column_(&column) {}

  /// Returns null if the op has no value.
  const T* find(OpId op) const noexcept { return static_cast<const T*>(column_->find(op)); }
  /// Throws StatusError "op softmax has no attribute in_place".
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
  /// Returns the registry of the process; the first call creates it with the catalogue's ops.
  static Registry& global();

  /// Returns the op with that name, which is registered if it is new. Throws StatusError for an
  /// empty name or an alias of another op.
  OpId add(std::string_view name);
  /// Finds an op by name or alias.
  std::optional<OpId> find(std::string_view name) const;
  /// Throws StatusError "unknown op 'sotfmax': did you mean softmax?".
  OpId get(std::string_view name) const;
  const std::string& name(OpId op) const;
  std::size_t size() const;  ///< ids are 0 … size() - 1
  std::vector<std::string> names() const;
  std::vector<std::string> aliases(OpId op) const;
  std::vector<std::string> attributes() const;  ///< sorted
  std::vector<OpId> members(std::string_view group) const;

  /// Throws StatusError if another op has the name.
  void alias(OpId op, std::string_view name);
  /// Gives the op the group's attributes, including those registered later.
  void include(OpId op, std::string_view group);

  /// If an attribute is registered at several levels, the value of the highest holds. Registering
  /// the same level twice, or another type than the attribute's first, throws StatusError. On an
  /// error, or if memory runs out, nothing has been registered, for a group for none of its
  /// members.
  template <typename T>
  void set(OpId op, const OpAttribute<T>& attribute, std::type_identity_t<T> value,
           int level = kDefaultLevel) {
    store(op, attribute.name, typeid(T), std::make_shared<const T>(std::move(value)), level);
  }
  template <typename T>
  void set_group(std::string_view group, const OpAttribute<T>& attribute,
                 std::type_identity_t<T> value, int level = kDefaultLevel) {
    store_group(group, attribute.name, typeid(T), std::make_shared<const T>(std::move(value)),
                level);
  }
  /// True if the attribute was registered at that level, for the op or a group of it.
  template <typename T>
  bool is_set(OpId op, const OpAttribute<T>& attribute, int level = kDefaultLevel) const {
    return has_level(op, attribute.name, level);
  }
  /// Returns the attribute's column; empty if nothing has been registered yet. Later registrations
  /// appear in it.
  template <typename T>
  Column<T> column(const OpAttribute<T>& attribute) const {
    return {*this, any_column(attribute.name, typeid(T))};
  }

 private:
  struct State;
  using Value = std::shared_ptr<const void>;

  const detail::AnyColumn& any_column(std::string_view attribute, std::type_index type) const;
  bool has_level(OpId op, std::string_view attribute, int level) const;
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

/// A chain of registrations:
/// register_op("relu").alias("Relu").include("elementwise").set(kInPlace, {{0, 0}});
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
  Registration& set(const OpAttribute<T>& attribute, std::type_identity_t<T> value,
                    int level = kDefaultLevel) {
    registry_->set(op_, attribute, std::move(value), level);
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
