// SPDX-License-Identifier: Apache-2.0
// The registry: writers take turns under one lock; readers of columns take none. A value that a
// higher level replaces is kept, since a reader may use it.
#include "mote/runtime/registry.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "mote/base/near_names.h"
#include "mote/runtime/catalogue.h"
#include "mote/runtime/status.h"
#include "registry/type_text.h"

namespace mote {
namespace detail {

AnyColumn::~AnyColumn() {
  for (std::atomic<Chunk*>& chunk : chunks_) delete chunk.load();
}

void AnyColumn::make_room(OpId op) {
  std::atomic<Chunk*>& slot = chunks_[op / kChunkOps];
  if (slot.load(std::memory_order_relaxed) == nullptr)
    slot.store(new Chunk{}, std::memory_order_release);
}

void AnyColumn::store(OpId op, const void* value) noexcept {
  Chunk& chunk = *chunks_[op / kChunkOps].load(std::memory_order_relaxed);
  chunk[op % kChunkOps].store(value, std::memory_order_release);
}

}  // namespace detail

namespace {

[[noreturn]] void refuse_registration(const std::string& what) {
  throw StatusError(MOTE_INVALID, "registry: " + what);
}

template <typename Map>
std::vector<std::string> keys(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

/// Reserves memory so that `more` push_backs cannot fail.
template <typename T>
void make_room(std::vector<T>& list, std::size_t more) {
  const std::size_t needed = list.size() + more;
  if (needed > list.capacity()) list.reserve(std::max(needed, 2 * list.size()));
}

}  // namespace

struct Registry::State {
  struct Levelled {
    std::string attribute;
    std::type_index type;
    Value value;
    int level;
  };
  struct Group {
    std::vector<OpId> members;
    std::vector<Levelled> attributes;
  };
  struct Cells {
    explicit Cells(std::string name, std::type_index type) : column(std::move(name), type) {}
    detail::AnyColumn column;
    std::map<OpId, std::vector<int>> levels;
    std::vector<Value> kept;
  };

  mutable std::shared_mutex mutex;
  std::deque<std::string> names;                 // indexed by id; references stay valid
  std::map<std::string, OpId, std::less<>> ids;  // names and aliases
  std::map<std::string, Group, std::less<>> groups;
  std::map<std::string, Cells, std::less<>> columns;

  void check(OpId op) const {
    if (op >= names.size())
      refuse_registration("op id " + std::to_string(op) + ", there are " +
                          std::to_string(names.size()) + " ops");
  }
  Cells& cells(std::string_view attribute, std::type_index type);
  // prepare() checks a whole change and reserves its memory; then put() cannot fail.
  void prepare(OpId op, const Levelled& value, std::size_t values);
  void put(OpId op, const Levelled& value) noexcept;
};

Registry::State::Cells& Registry::State::cells(std::string_view attribute, std::type_index type) {
  auto at = columns.find(attribute);
  if (at == columns.end()) {
    if (attribute.empty()) refuse_registration("an attribute needs a name");
    at = columns.try_emplace(std::string(attribute), std::string(attribute), type).first;
  }
  if (at->second.column.type() != type)
    refuse_registration("attribute " + at->first + " is of type " +
                        readable(at->second.column.type()) + ", asked for as " + readable(type));
  return at->second;
}

/// `values` is the number of values that are put, for this op or into this column, before the next
/// prepare().
void Registry::State::prepare(OpId op, const Levelled& value, std::size_t values) {
  Cells& column = cells(value.attribute, value.type);
  std::vector<int>& levels = column.levels[op];
  if (std::ranges::find(levels, value.level) != levels.end())
    refuse_registration("attribute " + value.attribute + " of op " + names[op] +
                        " is set twice at level " + std::to_string(value.level));
  make_room(levels, values);
  make_room(column.kept, values);
  column.column.make_room(op);
}

void Registry::State::put(OpId op, const Levelled& value) noexcept {
  Cells& column = columns.find(value.attribute)->second;
  std::vector<int>& levels = column.levels.find(op)->second;
  const bool highest = levels.empty() || std::ranges::max(levels) < value.level;
  column.kept.push_back(value.value);
  levels.push_back(value.level);
  if (highest) column.column.store(op, value.value.get());
}

Registry::Registry() : state_(std::make_unique<State>()) {}
Registry::~Registry() = default;

Registry& Registry::global() {
  // If memory runs out midway, nothing remains, and the next call starts over.
  static const std::unique_ptr<Registry> filled = [] {
    auto registry = std::make_unique<Registry>();
    register_catalogue(*registry);
    return registry;
  }();
  return *filled;
}

OpId Registry::add(std::string_view name) {
  const std::unique_lock lock(state_->mutex);
  if (name.empty()) refuse_registration("an op needs a name");
  const auto known = state_->ids.find(name);
  if (known != state_->ids.end()) {
    if (state_->names[known->second] != name)
      refuse_registration("'" + std::string(name) + "' is an alias of op " +
                          state_->names[known->second]);
    return known->second;
  }
  if (state_->names.size() == kMaxOps)
    refuse_registration("there are " + std::to_string(kMaxOps) + " ops already");
  const auto id = static_cast<OpId>(state_->names.size());
  const auto entry = state_->ids.emplace(name, id).first;
  try {
    state_->names.emplace_back(name);
  } catch (...) {
    state_->ids.erase(entry);
    throw;
  }
  return id;
}

std::optional<OpId> Registry::find(std::string_view name) const {
  const std::shared_lock lock(state_->mutex);
  const auto at = state_->ids.find(name);
  return at == state_->ids.end() ? std::nullopt : std::optional(at->second);
}

OpId Registry::get(std::string_view name) const {
  const std::shared_lock lock(state_->mutex);
  const auto at = state_->ids.find(name);
  if (at != state_->ids.end()) return at->second;
  std::string hint;
  for (const std::string& near : near_names(name, keys(state_->ids)))
    hint += (hint.empty() ? "did you mean " : ", ") + near;
  throw StatusError(
      MOTE_INVALID,
      "unknown op '" + std::string(name) + "': " +
          (hint.empty() ? std::to_string(state_->names.size()) + " are registered" : hint + "?"));
}

const std::string& Registry::name(OpId op) const {
  const std::shared_lock lock(state_->mutex);
  state_->check(op);
  return state_->names[op];
}

std::size_t Registry::size() const {
  const std::shared_lock lock(state_->mutex);
  return state_->names.size();
}

std::vector<std::string> Registry::names() const {
  const std::shared_lock lock(state_->mutex);
  return {state_->names.begin(), state_->names.end()};
}

std::vector<std::string> Registry::aliases(OpId op) const {
  const std::shared_lock lock(state_->mutex);
  state_->check(op);
  std::vector<std::string> found;
  for (const auto& [name, id] : state_->ids)
    if (id == op && name != state_->names[op]) found.push_back(name);
  return found;
}

std::vector<std::string> Registry::attributes() const {
  const std::shared_lock lock(state_->mutex);
  return keys(state_->columns);
}

std::vector<OpId> Registry::members(std::string_view group) const {
  const std::shared_lock lock(state_->mutex);
  const auto at = state_->groups.find(group);
  return at == state_->groups.end() ? std::vector<OpId>() : at->second.members;
}

void Registry::alias(OpId op, std::string_view name) {
  const std::unique_lock lock(state_->mutex);
  state_->check(op);
  if (name.empty()) refuse_registration("an alias of op " + state_->names[op] + " is empty");
  const auto [at, is_new] = state_->ids.try_emplace(std::string(name), op);
  if (!is_new && at->second != op)
    refuse_registration("'" + std::string(name) + "' cannot be an alias of op " +
                        state_->names[op] + ": it names op " + state_->names[at->second]);
}

void Registry::include(OpId op, std::string_view group) {
  const std::unique_lock lock(state_->mutex);
  state_->check(op);
  State::Group& g = state_->groups.try_emplace(std::string(group)).first->second;
  if (std::ranges::find(g.members, op) != g.members.end()) return;
  make_room(g.members, 1);
  for (const State::Levelled& value : g.attributes) state_->prepare(op, value, g.attributes.size());
  for (const State::Levelled& value : g.attributes) state_->put(op, value);
  g.members.push_back(op);
}

bool Registry::has_level(OpId op, std::string_view attribute, int level) const {
  const std::shared_lock lock(state_->mutex);
  state_->check(op);
  const auto cells = state_->columns.find(attribute);
  if (cells == state_->columns.end()) return false;
  const auto levels = cells->second.levels.find(op);
  return levels != cells->second.levels.end() &&
         std::ranges::find(levels->second, level) != levels->second.end();
}

const detail::AnyColumn& Registry::any_column(std::string_view attribute,
                                              std::type_index type) const {
  const std::unique_lock lock(state_->mutex);
  return state_->cells(attribute, type).column;
}

void Registry::store(OpId op, std::string_view attribute, std::type_index type, Value value,
                     int level) {
  const std::unique_lock lock(state_->mutex);
  state_->check(op);
  const State::Levelled levelled{std::string(attribute), type, std::move(value), level};
  state_->prepare(op, levelled, 1);
  state_->put(op, levelled);
}

void Registry::store_group(std::string_view group, std::string_view attribute, std::type_index type,
                           Value value, int level) {
  const std::unique_lock lock(state_->mutex);
  State::Group& g = state_->groups.try_emplace(std::string(group)).first->second;
  State::Levelled levelled{std::string(attribute), type, std::move(value), level};
  (void)state_->cells(attribute, type);  // checks the type even if the group is empty
  for (const State::Levelled& other : g.attributes)
    if (other.attribute == attribute && other.level == level)
      refuse_registration("attribute " + levelled.attribute + " of group " + std::string(group) +
                          " is set twice at level " + std::to_string(level));
  make_room(g.attributes, 1);
  for (const OpId op : g.members) state_->prepare(op, levelled, g.members.size());
  for (const OpId op : g.members) state_->put(op, levelled);
  g.attributes.push_back(std::move(levelled));
}

void Registry::missing(OpId op, const std::string& attribute) const {
  throw StatusError(MOTE_INVALID, "registry: op " + name(op) + " has no attribute " + attribute);
}

}  // namespace mote
