// The registry: writers take turns under one lock; readers of columns take none. A value that a
// higher level replaces is kept, since someone may be reading it.
#include "mote/runtime/registry.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "mote/base/near_names.h"
#include "mote/runtime/catalogue.h"
#include "mote/runtime/status.h"

namespace mote {
namespace detail {

AnyColumn::~AnyColumn() {
  for (std::atomic<Chunk*>& chunk : chunks_) delete chunk.load();
}

void AnyColumn::store(OpId op, const void* value) {
  std::atomic<Chunk*>& slot = chunks_[op / kChunkOps];
  Chunk* chunk = slot.load(std::memory_order_relaxed);
  if (chunk == nullptr) {
    chunk = new Chunk{};
    slot.store(chunk, std::memory_order_release);
  }
  (*chunk)[op % kChunkOps].store(value, std::memory_order_release);
}

}  // namespace detail

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw StatusError(MOTE_INVALID, "registry: " + what);
}

std::string readable(std::type_index type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : type.name();
  std::free(text);
  return name;
}

template <typename Map>
std::vector<std::string> keys(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
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
    std::map<OpId, std::set<int>> levels;
    std::vector<Value> kept;
  };

  mutable std::shared_mutex mutex;
  std::deque<std::string> names;                 // by id; references stay good
  std::map<std::string, OpId, std::less<>> ids;  // names and aliases
  std::map<std::string, Group, std::less<>> groups;
  std::map<std::string, Cells, std::less<>> columns;

  void check(OpId op) const {
    if (op >= names.size())
      fail("op id " + std::to_string(op) + ", there are " + std::to_string(names.size()) + " ops");
  }
  Cells& cells(std::string_view attribute, std::type_index type);
  void put(OpId op, const Levelled& value);
};

Registry::State::Cells& Registry::State::cells(std::string_view attribute, std::type_index type) {
  auto at = columns.find(attribute);
  if (at == columns.end()) {
    if (attribute.empty()) fail("an attribute needs a name");
    at = columns.try_emplace(std::string(attribute), std::string(attribute), type).first;
  }
  if (at->second.column.type() != type)
    fail("attribute " + at->first + " is of type " + readable(at->second.column.type()) +
         ", asked for as " + readable(type));
  return at->second;
}

void Registry::State::put(OpId op, const Levelled& value) {
  Cells& column = cells(value.attribute, value.type);
  std::set<int>& levels = column.levels[op];
  if (levels.contains(value.level))
    fail("attribute " + value.attribute + " of op " + names[op] + " is set twice at level " +
         std::to_string(value.level));
  const bool highest = levels.empty() || *levels.rbegin() < value.level;
  column.kept.push_back(value.value);
  levels.insert(value.level);
  if (highest) column.column.store(op, value.value.get());
}

Registry::Registry() : state_(std::make_unique<State>()) {}
Registry::~Registry() = default;

Registry& Registry::global() {
  static Registry& registry = []() -> Registry& {
    static Registry filled;
    register_catalogue(filled);
    return filled;
  }();
  return registry;
}

OpId Registry::add(std::string_view name) {
  const std::unique_lock lock(state_->mutex);
  if (name.empty()) fail("an op needs a name");
  const auto known = state_->ids.find(name);
  if (known != state_->ids.end()) {
    if (state_->names[known->second] != name)
      fail("'" + std::string(name) + "' is an alias of op " + state_->names[known->second]);
    return known->second;
  }
  if (state_->names.size() == kMaxOps)
    fail("there are " + std::to_string(kMaxOps) + " ops already");
  const auto id = static_cast<OpId>(state_->names.size());
  state_->names.emplace_back(name);
  state_->ids.emplace(name, id);
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
  if (name.empty()) fail("an alias of op " + state_->names[op] + " is empty");
  const auto [at, is_new] = state_->ids.try_emplace(std::string(name), op);
  if (!is_new && at->second != op)
    fail("'" + std::string(name) + "' cannot be an alias of op " + state_->names[op] +
         ": it names op " + state_->names[at->second]);
}

void Registry::include(OpId op, std::string_view group) {
  const std::unique_lock lock(state_->mutex);
  state_->check(op);
  State::Group& g = state_->groups.try_emplace(std::string(group)).first->second;
  if (std::ranges::find(g.members, op) != g.members.end()) return;
  for (const State::Levelled& value : g.attributes) state_->put(op, value);
  g.members.push_back(op);
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
  state_->put(op, {std::string(attribute), type, std::move(value), level});
}

void Registry::store_group(std::string_view group, std::string_view attribute, std::type_index type,
                           Value value, int level) {
  const std::unique_lock lock(state_->mutex);
  State::Group& g = state_->groups.try_emplace(std::string(group)).first->second;
  const State::Levelled levelled{std::string(attribute), type, std::move(value), level};
  for (const OpId op : g.members) state_->put(op, levelled);
  g.attributes.push_back(levelled);
}

void Registry::missing(OpId op, const std::string& attribute) const {
  throw StatusError(MOTE_INVALID, "op " + name(op) + " has no attribute " + attribute);
}

}  // namespace mote
