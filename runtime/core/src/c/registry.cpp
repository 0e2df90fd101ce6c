// SPDX-License-Identifier: Apache-2.0
// The registry functions of mote/mote.h.
#include "mote/runtime/registry.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "c/guard.h"
#include "c/objects.h"
#include "mote/runtime/catalogue.h"

static_assert(MOTE_DEFAULT_LEVEL == mote::kDefaultLevel);

/// The type of an attribute that C set.
using CValue = std::shared_ptr<const void>;

struct mote_column {
  mote::Column<CValue> column;
};

namespace mote::c {
namespace {

/// Returns a lasting copy of the name: a std::set's elements do not move, and are never removed.
const char* kept(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string> names;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

/// Copies up to `room` names and sets `count`. Nothing is written if memory runs out.
void give_names(const std::vector<std::string>& all, const char** names, std::size_t room,
                std::size_t* count) {
  std::vector<const char*> texts;
  for (std::size_t k = 0; k < all.size() && k < room && names != nullptr; ++k)
    texts.push_back(kept(all[k]));
  given(count, "count") = all.size();
  std::ranges::copy(texts, names);
}

OpId checked_op(mote_op_id op) {
  const std::size_t count = Registry::global().size();
  if (op >= count)
    throw StatusError(MOTE_INVALID, "registry: op must be in 0.." + std::to_string(count - 1) +
                                        ", got " + std::to_string(op));
  return op;
}

template <typename T>
const T* attribute_of(const char* name, const OpAttribute<T>& attribute) {
  const Registry& registry = Registry::global();
  return registry.column(attribute).find(registry.get(&given(name, "name")));
}

/// Calls set(value) with a value that is released with the registry, or not at all if set throws.
template <typename Set>
void hand_over(void* value, void (*release)(void*), const Set& set) {
  struct Owned {
    void* value;
    void (*release)(void*);
    bool is_ours = false;
    Owned(void* v, void (*r)(void*)) : value(v), release(r) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() {
      if (is_ours && release != nullptr) release(value);
    }
  };
  if (value == nullptr) throw StatusError(MOTE_INVALID, "value is NULL");
  const auto owned = std::make_shared<Owned>(value, release);
  set(CValue(owned, value));
  owned->is_ours = true;
}

/// Returns the attribute's column, which stays: a std::map's elements do not move, and are never
/// removed.
const mote_column* column_of(const std::string& attribute) {
  static std::mutex mutex;
  static std::map<std::string, mote_column> columns;
  Column<CValue> column = Registry::global().column(OpAttribute<CValue>{attribute});
  const std::lock_guard lock(mutex);
  return &columns.try_emplace(attribute, mote_column{column}).first->second;
}

}  // namespace
}  // namespace mote::c

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_op_find(const char* name, const mote_op_definition** definition) {
  return guarded(__func__, [&] {
    const auto* found = attribute_of(name, kDefinition);
    if (found == nullptr) throw StatusError(MOTE_INVALID, std::string(name) + " has no definition");
    given(definition, "definition") = *found;
  });
}

mote_status mote_op_find_gradient(const char* name, const mote_op_gradient** gradient) {
  return guarded(__func__, [&] {
    const auto* found = attribute_of(name, kGradient);
    given(gradient, "gradient") = found != nullptr ? *found : nullptr;
  });
}

mote_status mote_op_names(const char** names, size_t room, size_t* count) {
  return guarded(__func__, [&] { give_names(Registry::global().names(), names, room, count); });
}

mote_status mote_attribute_names(const char** names, size_t room, size_t* count) {
  return guarded(__func__,
                 [&] { give_names(Registry::global().attributes(), names, room, count); });
}

mote_status mote_register_library(const mote_kernel_library* library) {
  return guarded(__func__, [&] { register_library(given(library, "library")); });
}

mote_status mote_op_id_of(const char* name, mote_op_id* op) {
  return guarded(__func__, [&] { given(op, "op") = Registry::global().get(&given(name, "name")); });
}

mote_status mote_op_register(const mote_op_definition* definition, mote_op_id* op) {
  return guarded(__func__, [&] {
    const mote_op_definition& d = given(definition, "definition");
    mote_kernel_library one = {};
    one.name = "the program";
    one.op_count = 1;
    one.ops = &d;
    register_library(one);
    if (op != nullptr) *op = Registry::global().get(d.name);
  });
}

mote_status mote_op_alias(mote_op_id op, const char* name) {
  return guarded(__func__, [&] { Registry::global().alias(checked_op(op), &given(name, "name")); });
}

mote_status mote_op_include(mote_op_id op, const char* group) {
  return guarded(__func__,
                 [&] { Registry::global().include(checked_op(op), &given(group, "group")); });
}

mote_status mote_op_members(const char* group, mote_op_id* ops, size_t room, size_t* count) {
  return guarded(__func__, [&] {
    const std::vector<OpId> all = Registry::global().members(&given(group, "group"));
    given(count, "count") = all.size();
    if (ops != nullptr) std::copy_n(all.begin(), std::min(room, all.size()), ops);
  });
}

mote_status mote_op_set(mote_op_id op, const char* attribute, void* value, void (*release)(void*),
                        int32_t level) {
  return guarded(__func__, [&] {
    const OpId id = checked_op(op);
    const char* name = &given(attribute, "attribute");
    hand_over(value, release, [&](CValue v) {
      Registry::global().set(id, OpAttribute<CValue>{name}, std::move(v), level);
    });
  });
}

mote_status mote_group_set(const char* group, const char* attribute, void* value,
                           void (*release)(void*), int32_t level) {
  return guarded(__func__, [&] {
    const char* members = &given(group, "group");
    const char* name = &given(attribute, "attribute");
    hand_over(value, release, [&](CValue v) {
      Registry::global().set_group(members, OpAttribute<CValue>{name}, std::move(v), level);
    });
  });
}

mote_status mote_attribute_column(const char* attribute, const mote_column** column) {
  return guarded(__func__, [&] {
    auto& result = given(column, "column");
    result = column_of(&given(attribute, "attribute"));
  });
}

const void* mote_column_find(const mote_column* column, mote_op_id op) {
  const CValue* value = column != nullptr ? column->column.find(op) : nullptr;
  return value != nullptr ? value->get() : nullptr;
}
