// SPDX-License-Identifier: Apache-2.0
#include "memo.h"

#include <algorithm>
#include <utility>

#include "kernel.h"
#include "state.h"

namespace mote::trace {
namespace {

std::uint64_t id_of(const Value* value) { return value == nullptr ? 0 : value->id; }

std::size_t hash_of(const Kernel& kernel, std::span<Value* const> inputs) {
  std::size_t hash = kernel.id;
  for (const Value* value : inputs) hash = hash * 0x9E3779B97F4A7C15 + id_of(value);
  return hash;
}

}  // namespace

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
  entries_.push_front({.hash = hash_of(*kernel, inputs),
                       .kernel = kernel,
                       .inputs = {},
                       .results = {results.begin(), results.end()},
                       .bytes = bytes,
                       .is_traced = is_traced});
  const auto entry = entries_.begin();
  bytes_ += bytes;
  for (const Ref<Value>& result : results)
    if (result) result->state->pin(*result);
  by_hash_.emplace(entry->hash, entry);
  for (Value* input : inputs) {
    entry->inputs.push_back(id_of(input));
    if (input == nullptr) continue;
    input->is_in_memo = true;
    by_input_.emplace(input->id, entry);
  }
  while (bytes_ > limit_) remove(std::prev(entries_.end()));
}

void Memo::remove(Entries::iterator entry) noexcept {
  const auto erase_from = [&](auto& table, auto key) {
    auto [begin, end] = table.equal_range(key);
    while (begin != end) begin = begin->second == entry ? table.erase(begin) : std::next(begin);
  };
  erase_from(by_hash_, entry->hash);
  for (const std::uint64_t input : entry->inputs) erase_from(by_input_, input);
  bytes_ -= entry->bytes;
  Entries gone;  // it is out of the list before its results go, which may come here again
  gone.splice(gone.begin(), entries_, entry);
  for (const Ref<Value>& result : gone.front().results)
    if (result) result->state->unpin(*result);
}

void Memo::forget(const Value& input) noexcept {
  for (auto found = by_input_.find(input.id); found != by_input_.end();
       found = by_input_.find(input.id))
    remove(found->second);
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
