// SPDX-License-Identifier: Apache-2.0
#include "memo.h"

#include <algorithm>
#include <utility>

#include "kernel.h"
#include "state.h"

namespace mote::trace {
namespace {

std::uint64_t id_of(const Value* value) { return value == nullptr ? 0 : value->id; }

/// True if a command can have the value as an input.
bool is_named(const Value& value) {
  return value.handles > 0 || value.is_memo_result ||
         std::ranges::any_of(value.state->scalars,
                             [&](const auto& one) { return one.second.get() == &value; });
}

}  // namespace

std::size_t hash_of(const Kernel& kernel, std::span<Value* const> inputs) {
  std::size_t hash = kernel.id;
  for (const Value* value : inputs) hash = hash * 0x9E3779B97F4A7C15 + id_of(value);
  return hash;
}

const std::vector<Ref<Value>>* Memo::find(const Kernel& kernel, std::span<Value* const> inputs,
                                          bool is_traced) {
  const auto [begin, end] = by_hash_.equal_range(hash_of(kernel, inputs));
  for (auto known = begin; known != end; ++known) {
    const Entries::iterator entry = known->second;
    if (entry->kernel.get() != &kernel || entry->is_traced != is_traced ||
        !std::ranges::equal(entry->inputs, inputs, {}, {}, id_of))
      continue;
    entries_.splice(entries_.begin(), entries_, entry);
    ++hits_;
    return &entry->results;
  }
  return nullptr;
}

void Memo::add(const Ref<Kernel>& kernel, std::span<Value* const> inputs,
               std::span<const Ref<Value>> results, bool is_traced) {
  std::size_t bytes = 0;
  for (const Ref<Value>& result : results) bytes += result ? result->form->bytes : 0;
  if (bytes > limit_) return;
  Entries made;
  made.push_front({.hash = hash_of(*kernel, inputs),
                   .kernel = kernel,
                   .inputs = {},
                   .results = {results.begin(), results.end()},
                   .bytes = bytes,
                   .is_traced = is_traced});
  const auto entry = made.begin();
  entry->inputs.reserve(inputs.size());
  for (const Value* input : inputs) entry->inputs.push_back(id_of(input));
  try {
    by_hash_.emplace(entry->hash, entry);
    for (const Value* input : inputs)
      if (input != nullptr) by_input_.emplace(input->id, entry);
  } catch (...) {
    erase_from_tables(entry);
    throw;
  }
  entries_.splice(entries_.begin(), made);
  bytes_ += bytes;
  for (const Ref<Value>& result : results) {
    if (!result) continue;
    result->state->pin(*result);
    result->is_memo_result = true;
  }
  for (Value* input : inputs)
    if (input != nullptr) input->is_in_memo = true;
  while (bytes_ > limit_) remove(std::prev(entries_.end()));
}

/// Makes the entry one that nothing finds.
void Memo::erase_from_tables(Entries::iterator entry) noexcept {
  const auto erase_from = [&](auto& table, auto key) {
    auto [begin, end] = table.equal_range(key);
    while (begin != end) begin = begin->second == entry ? table.erase(begin) : std::next(begin);
  };
  erase_from(by_hash_, entry->hash);
  for (const std::uint64_t input : entry->inputs) erase_from(by_input_, input);
}

/// Moves an entry to those that are dropped.
void Memo::take_out(Entries::iterator entry, Entries& gone) noexcept {
  erase_from_tables(entry);
  bytes_ -= entry->bytes;
  gone.splice(gone.end(), entries_, entry);
}

void Memo::take_out_readers(const Value& input, Entries& gone) noexcept {
  for (auto found = by_input_.find(input.id); found != by_input_.end();
       found = by_input_.find(input.id))
    take_out(found->second, gone);
}

/// Drops the entries, and those that read only their results. No recursion, since they may be many.
void Memo::drop(Entries& gone) noexcept {
  for (const Entry& entry : gone) {
    for (const Ref<Value>& result : entry.results) {
      if (!result) continue;
      result->is_memo_result = false;
      if (result->is_in_memo && !is_named(*result)) take_out_readers(*result, gone);
      result->state->unpin(*result);
    }
  }
}

void Memo::remove(Entries::iterator entry) noexcept {
  Entries gone;
  take_out(entry, gone);
  drop(gone);
}

void Memo::forget(const Value& input) noexcept {
  Entries gone;
  take_out_readers(input, gone);
  drop(gone);
}

void Memo::forget_if_unnamed(const Value& input) noexcept {
  if (!is_named(input)) forget(input);
}

void Memo::clear() noexcept {
  while (!entries_.empty()) remove(entries_.begin());
}

std::vector<Value*> Memo::values() const {
  std::vector<Value*> values;
  for (const Entry& entry : entries_)
    for (const Ref<Value>& result : entry.results)
      if (result) values.push_back(result.get());
  return values;
}

}  // namespace mote::trace
