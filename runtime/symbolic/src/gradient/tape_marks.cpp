// SPDX-License-Identifier: Apache-2.0
// The states of a loop with a number of checkpoints: those that the loop has kept, and those that
// its way back leaves by the binomial schedule.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>

#include "checkpoint/segments.h"
#include "fail.h"
#include "gradient/tape_store.h"
#include "mote/symbolic/checkpoint.h"

namespace mote {

/// Frees all entries but the first, if the way back computes less again with free slots. Entries
/// that stay for another way back would take the slots of this one.
void TapeStore::thin(List& list, std::int64_t slots, bool stays) {
  const auto free_slots = static_cast<std::uint64_t>(slots) - 1;
  std::uint64_t steps = 0;
  std::int64_t end = list.count;
  for (std::size_t k = list.calls.size(); k-- > 0; end = list.calls[k])
    steps += binomial_steps(static_cast<std::uint64_t>(end - list.calls[k]),
                            free_slots - std::min<std::uint64_t>(free_slots, k));
  if (list.calls.empty() ||
      (!stays && steps <= binomial_steps(static_cast<std::uint64_t>(list.count), free_slots)))
    return;
  for (std::size_t k = 1; k < list.entries.size(); ++k) free_pushed(list.entries[k]);
  list.entries.resize(1);
  list.calls.resize(1);
}

void TapeStore::check_end(const List& list, std::int64_t end) {
  if (end < 1 || end > list.count)
    fail_graph("tape: expected 1 to " + std::to_string(list.count) + " iterations left, got " +
                   std::to_string(end),
               MOTE_FAILED);
}

std::int64_t TapeStore::reach(double token, std::int64_t slots, std::int64_t end, int readers,
                              std::span<const Tensor> outputs) {
  if (const auto of = other(token)) return of->reach(token, slots, end, readers, outputs);
  const std::lock_guard lock(mutex_);
  List& list = list_at(token);
  check_end(list, end);
  if (end == list.count) thin(list, slots, readers > 1 || number_ != 0);
  for (auto mark = list.marks.lower_bound(end); mark != list.marks.end();) {
    free(mark->second);
    mark = list.marks.erase(mark);
  }
  const std::int64_t k = std::ranges::lower_bound(list.calls, end) - list.calls.begin() - 1;
  Entry& entry = entry_at(token, k, kValuesPath);
  const std::int64_t call = list.calls[static_cast<std::size_t>(k)];
  std::vector<std::uint32_t> values(outputs.size());
  std::iota(values.begin(), values.end(), 0U);
  if (!list.marks.empty() && list.marks.rbegin()->first > call) {
    const auto mark = std::prev(list.marks.end());
    const std::int64_t marked = mark->first;
    read(mark->second, outputs);
    if (marked + 1 < end) return marked;
    free(mark->second);
    list.marks.erase(mark);
    return marked;
  }
  // It is read once more for each way from here, and by the way back of its own call at the end.
  if (call + 1 < end)
    read(*entry.pushed, outputs);
  else
    get(entry, kValuesPath, readers, values, outputs);
  return call;
}

void TapeStore::mark(double token, std::int64_t slots, std::int64_t end, std::int64_t call,
                     std::span<const Tensor> values) {
  if (const auto of = other(token)) return of->mark(token, slots, end, call, values);
  const std::lock_guard lock(mutex_);
  List& list = list_at(token);
  check_end(list, end);
  const auto kept_calls = std::ranges::lower_bound(list.calls, end) - list.calls.begin();
  const std::int64_t left = slots - kept_calls - static_cast<std::int64_t>(list.marks.size());
  if (left < 1 || kept_calls == 0) return;
  std::int64_t from = list.calls[static_cast<std::size_t>(kept_calls - 1)];
  if (!list.marks.empty()) from = std::max(from, list.marks.rbegin()->first);
  if (call <= from) return;
  WayToMark& way = list.way;
  if (way.from != from || way.end != end || way.slots != left)
    way = {from, end, left,
           from + static_cast<std::int64_t>(binomial_split(static_cast<std::size_t>(end - from),
                                                           static_cast<std::uint64_t>(left)))};
  if (call != way.next) return;
  Values& marked = list.marks[call];
  keep_copies(marked, values, {}, false);
}

}  // namespace mote
