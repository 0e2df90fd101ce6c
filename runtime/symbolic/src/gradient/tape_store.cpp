// SPDX-License-Identifier: Apache-2.0
#include "gradient/tape_store.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "fail.h"
#include "mote/base/error.h"
#include "mote/graph/control.h"
#include "mote/runtime/command.h"
#include "mote/symbolic/control.h"
#include "sequence/plain_copy.h"

namespace mote {
namespace {

std::atomic<std::int64_t> bytes_now{0};
std::atomic<std::int64_t> bytes_most{0};

void count_bytes(std::int64_t change) {
  const std::int64_t now = bytes_now += change;
  std::int64_t most = bytes_most.load();
  while (most < now && !bytes_most.compare_exchange_weak(most, now)) {
  }
}

std::int64_t bytes_of(const Tensor& tensor) {
  return tensor.element_count() * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

/// The stores of the runs under way.
struct Stores {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::shared_ptr<TapeStore>> by_owner;
};
Stores& stores() {
  static Stores all;
  return all;
}

}  // namespace

TapeBytes tape_bytes() { return {bytes_now.load(), bytes_most.load()}; }
void reset_tape_bytes() { bytes_most = bytes_now.load(); }

std::shared_ptr<TapeStore> TapeStore::of_run() {
  Stores& all = stores();
  const std::uint64_t owner = loop_owner();
  const std::lock_guard lock(all.mutex);
  if (const auto known = all.by_owner.find(owner); known != all.by_owner.end())
    return known->second;
  std::shared_ptr<TapeStore> store = TapeHold::new_store();
  all.by_owner.emplace(owner, store);
  try {
    at_end_of(owner, [owner] {
      Stores& known = stores();
      std::shared_ptr<TapeStore> last;  // what it keeps goes without the lock
      const std::lock_guard again(known.mutex);
      last = std::move(known.by_owner.at(owner));
      known.by_owner.erase(owner);
    });
  } catch (...) {  // nothing would end it
    all.by_owner.erase(owner);
    throw;
  }
  return store;
}

namespace {

/// The stores that are held, by number.
struct HeldStores {
  std::mutex mutex;
  std::uint64_t last = 0;
  std::vector<std::uint64_t> unused;  ///< there is room for all numbers
  std::unordered_map<std::uint64_t, std::weak_ptr<TapeStore>> by_number;
};
HeldStores& held_stores() {
  static HeldStores& all = *new HeldStores;  // stores may go when the program ends
  return all;
}

/// A token is a store's number times this and the number of a list, from 1.
constexpr std::uint64_t kMaxLists = std::uint64_t{1} << 24U;

thread_local TapeHold* hold_here = nullptr;

}  // namespace

TapeHold::TapeHold() : outer_(std::exchange(hold_here, this)), owner_(loop_owner()) {}
TapeHold::~TapeHold() { hold_here = outer_; }

std::shared_ptr<TapeStore> TapeHold::new_store() {
  if (hold_here == nullptr || loop_owner_around() != hold_here->owner_)
    return std::make_shared<TapeStore>();
  return hold_here->stores_.emplace_back(TapeStore::held());
}

std::shared_ptr<TapeStore> TapeStore::held() {
  auto store = std::make_shared<TapeStore>();
  HeldStores& all = held_stores();
  const std::lock_guard lock(all.mutex);
  const std::uint64_t number = all.unused.empty() ? all.last + 1 : all.unused.back();
  if (all.unused.capacity() < number) all.unused.reserve(2 * number);
  all.by_number[number] = store;
  if (all.unused.empty())
    all.last = number;
  else
    all.unused.pop_back();
  store->number_ = number;
  return store;
}

std::int64_t TapeStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

TapeStore::~TapeStore() {
  count_bytes(-bytes_);
  if (number_ == 0) return;
  HeldStores& all = held_stores();
  const std::lock_guard lock(all.mutex);
  all.by_number.erase(number_);
  all.unused.push_back(number_);
}

namespace {

[[noreturn]] void fail_token(double token, const std::string& expected) {
  fail_graph("tape: expected a token of " + expected + ", got " + std::to_string(token),
             MOTE_FAILED);
}

/// Returns the token as the number that it is.
std::uint64_t number_of(double token) {
  constexpr double kEnd = 9007199254740992;  // from here on not each integer is a double
  if (!(token >= 0 && token < kEnd) || token != std::floor(token)) fail_token(token, "a loop");
  return static_cast<std::uint64_t>(token);
}

}  // namespace

std::shared_ptr<TapeStore> TapeStore::other(double token) const {
  const std::uint64_t number = number_of(token) / kMaxLists;
  if (number == number_ || number == 0) return nullptr;
  HeldStores& all = held_stores();
  const std::lock_guard lock(all.mutex);
  const auto known = all.by_number.find(number);
  std::shared_ptr<TapeStore> store = known == all.by_number.end() ? nullptr : known->second.lock();
  if (store == nullptr) fail_graph("tape: the run that made the token is forgotten", MOTE_FAILED);
  return store;
}

namespace {

constexpr std::int64_t kBlockBytes = 32768;
constexpr std::size_t kRoom = 64;  ///< tensors

}  // namespace

/// Returns a tensor of the value's form in the newest block.
Tensor TapeStore::in_block(const Tensor& value, std::int64_t bytes) {
  constexpr auto kStep = static_cast<std::int64_t>(kAlignment);
  const std::int64_t room = (bytes + kStep - 1) / kStep * kStep;
  if (block_used_ + room > block_.element_count()) {
    block_ = Tensor(DType::u8, {kBlockBytes});
    block_used_ = 0;
  }
  const TensorForm form(value.dtype(), value.shape());
  Tensor own = Tensor::within(block_, block_used_, form);
  block_used_ += room;
  return own;
}

void TapeStore::make_room(Values& values, std::size_t count, bool in_blocks) {
  if (!in_blocks || count > kRoom / 4) {
    values.room = std::make_shared<Tensor[]>(count);
    values.tensors = {values.room.get(), count};
    return;
  }
  if (room_ == nullptr || room_used_ + count > kRoom) {
    room_ = std::make_shared<Tensor[]>(kRoom);
    room_used_ = 0;
  }
  values.room = room_;
  values.tensors = {room_.get() + room_used_, count};
  room_used_ += count;
}

/// Values that are freed in the order in which they come, or the other way round, may share blocks:
/// the memory of a block goes with the last of them.
Tensor TapeStore::copy_of(const Tensor& value, bool in_blocks) {
  const std::int64_t bytes = plain_bytes(value.dl());
  Tensor own = bytes < 0 ? clone(value)
               : in_blocks && bytes > 0 && bytes <= kBlockBytes / 4
                   ? in_block(value, bytes)
                   : Tensor(value.dtype(), value.shape());
  if (bytes >= 0) copy_plainly(value, own);
  bytes_ += bytes_of(own);
  count_bytes(bytes_of(own));
  return own;
}

void TapeStore::free(Values& values) {
  for (Tensor& tensor : values.tensors) {
    if (tensor.data() == nullptr) continue;
    bytes_ -= bytes_of(tensor);
    count_bytes(-bytes_of(tensor));
    tensor = Tensor();
  }
  values.tensors = {};
  values.room.reset();
}

void TapeStore::free_pushed(Entry& entry) {
  if (entry.pushed) free(*entry.pushed);
  entry.pushed.reset();
}

TapeStore::Values& TapeStore::values_at(Entry& entry, const std::string& path) {
  return path == kValuesPath && entry.pushed ? *entry.pushed : entry.added[path];
}

TapeStore::List& TapeStore::list_at(double token) {
  const std::size_t index = number_of(token) % kMaxLists;
  if (index < 1 || index > lists_.size() || number_of(token) / kMaxLists != number_)
    fail_token(token, "this run, 1 to " + std::to_string(lists_.size()));
  return lists_[index - 1];
}

TapeStore::Entry& TapeStore::entry_at(double token, std::int64_t position,
                                      const std::string& path) {
  std::vector<Entry>& list = list_at(token).entries;
  if (position < 0 || static_cast<std::size_t>(position) >= list.size())
    fail_graph("tape: expected an entry of 0 to " + std::to_string(list.size()) + " - 1, got " +
                   std::to_string(position),
               MOTE_FAILED);
  Entry& entry = list[static_cast<std::size_t>(position)];
  if (path == kValuesPath && !entry.pushed)
    fail_graph("tape: entry " + std::to_string(position) + " was read before and is freed",
               MOTE_FAILED);
  return entry;
}

double TapeStore::new_list() {
  if (lists_.size() + 1 >= kMaxLists)
    fail_graph("tape: a run has more than " + std::to_string(kMaxLists) + " lists", MOTE_FAILED);
  lists_.emplace_back();
  return static_cast<double>(number_ * kMaxLists + lists_.size());
}

double TapeStore::keep_object(std::shared_ptr<const void> object) {
  const std::lock_guard lock(mutex_);
  const double token = new_list();
  list_at(token).object = std::move(object);
  return token;
}

std::shared_ptr<const void> TapeStore::object(double token, int readers) {
  if (const auto of = other(token)) return of->object(token, readers);
  const std::lock_guard lock(mutex_);
  List& list = list_at(token);
  if (list.object == nullptr) fail_graph("tape: what was kept was read before", MOTE_FAILED);
  if (++list.object_reads < readers || number_ != 0) return list.object;
  return std::exchange(list.object, nullptr);
}

TapeStore::List& TapeStore::list_to_grow(double& token, bool has_calls) {
  if (token == 0) token = new_list();
  List& list = list_at(token);
  if (!list.entries.empty() && has_calls != !list.calls.empty())
    fail_graph("tape: a list of a loop with checkpoints and one of a loop without are not the same",
               MOTE_FAILED);
  return list;
}

void TapeStore::keep_copies(Values& kept, std::span<const Tensor> values,
                            const std::vector<bool>& are_kept, bool in_blocks) {
  make_room(kept, values.size(), in_blocks);
  for (std::size_t k = 0; k < values.size(); ++k)
    if (are_kept.empty() || are_kept[k]) kept.tensors[k] = copy_of(values[k], in_blocks);
}

double TapeStore::push(double token, std::span<const Tensor> values,
                       const std::vector<bool>& are_kept) {
  const std::lock_guard lock(mutex_);
  List& list = list_to_grow(token, false);
  Entry entry;
  keep_copies(entry.pushed.emplace(), values, are_kept, true);
  list.entries.push_back(std::move(entry));
  ++list.count;
  return token;
}

double TapeStore::keep(double token, std::int64_t checkpoints, std::span<const Tensor> values) {
  const std::lock_guard lock(mutex_);
  List& list = list_to_grow(token, true);
  const std::int64_t call = list.count++;
  if (call % list.stride != 0) return token;
  const auto most = static_cast<std::size_t>(checkpoints > 0 ? checkpoints : 2 * list.stride);
  if (list.entries.size() == most) {
    halve(list);
    if (call % list.stride != 0) return token;
  }
  Entry entry;
  keep_copies(entry.pushed.emplace(), values, {}, false);
  list.entries.push_back(std::move(entry));
  list.calls.push_back(call);
  return token;
}

/// Frees every other entry.
void TapeStore::halve(List& list) {
  list.stride *= 2;
  std::size_t count = 0;
  for (std::size_t k = 0; k < list.entries.size(); ++k) {
    if (list.calls[k] % list.stride != 0) {
      free_pushed(list.entries[k]);
      continue;
    }
    if (count != k) list.entries[count] = std::move(list.entries[k]);
    list.calls[count++] = list.calls[k];
  }
  list.entries.resize(count);
  list.calls.resize(count);
}

std::int64_t TapeStore::count(double token) {
  if (const auto of = other(token)) return of->count(token);
  const std::lock_guard lock(mutex_);
  return token == 0 ? 0 : list_at(token).count;
}

std::int64_t TapeStore::take(double token, std::int64_t end, int readers,
                             std::span<const Tensor> outputs) {
  if (const auto of = other(token)) return of->take(token, end, readers, outputs);
  const std::lock_guard lock(mutex_);
  const std::vector<std::int64_t>& calls = list_at(token).calls;
  const std::int64_t k = std::ranges::lower_bound(calls, end) - calls.begin() - 1;
  Entry& entry = entry_at(token, k, kValuesPath);
  std::vector<std::uint32_t> values(outputs.size());
  std::iota(values.begin(), values.end(), 0U);
  get(entry, kValuesPath, readers, values, outputs);
  return calls[static_cast<std::size_t>(k)];
}

void TapeStore::get(double token, std::int64_t position, const std::string& path, int readers,
                    std::span<const std::uint32_t> values, std::span<const Tensor> outputs) {
  const auto of = other(token);
  if (of && path == kValuesPath) return of->get(token, position, path, readers, values, outputs);
  const std::lock_guard lock(mutex_);
  Entry& entry = of ? of_others_[{token, position}] : entry_at(token, position, path);
  get(entry, path, readers, values, outputs);
}

void TapeStore::read(const Values& from, std::span<const std::uint32_t> values,
                     std::span<const Tensor> outputs, bool may_lack) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const bool is_known = values[k] < from.tensors.size();
    if (!is_known && !may_lack)
      fail_graph("tape: expected one of " + std::to_string(from.tensors.size()) +
                     " values, got value " + std::to_string(values[k]),
                 MOTE_FAILED);
    if (!is_known || from.tensors[values[k]].data() == nullptr) {
      fill(outputs[k], 0);
      continue;
    }
    const Tensor& value = from.tensors[values[k]];
    if (!has_same_dtype(value.dl(), outputs[k].dl()) ||
        !has_same_shape(value.dl(), outputs[k].dl()))
      fail_graph("tape: value " + std::to_string(values[k]) + " is " + to_string(value.form()) +
                     ", but " + to_string(outputs[k].form()) + " is read",
                 MOTE_FAILED);
    copy_plainly(value, outputs[k]);
  }
}

void TapeStore::read(const Values& from, std::span<const Tensor> outputs) {
  std::vector<std::uint32_t> values(outputs.size());
  std::iota(values.begin(), values.end(), 0U);
  read(from, values, outputs, false);
}

void TapeStore::get(Entry& entry, const std::string& path, int readers,
                    std::span<const std::uint32_t> values, std::span<const Tensor> outputs) {
  Values& of_path = values_at(entry, path);
  read(of_path, values, outputs, path != kValuesPath);
  if (++of_path.reads < readers || (number_ != 0 && path == kValuesPath)) return;
  if (path == kValuesPath && entry.pushed) return free_pushed(entry);
  free(of_path);
  entry.added.erase(path);
}

void TapeStore::add(double token, std::int64_t position, const std::string& path,
                    std::span<const std::uint32_t> values, std::span<const Tensor> terms) {
  static const Command sum("add");
  const auto of = other(token);
  const std::lock_guard lock(mutex_);
  Entry& entry = of ? of_others_[{token, position}] : entry_at(token, position, path);
  Values& of_path = values_at(entry, path);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (of_path.tensors.size() <= values[k]) {
      Values longer{.reads = of_path.reads};
      make_room(longer, values[k] + 1, false);
      std::ranges::copy(of_path.tensors, longer.tensors.begin());
      of_path = std::move(longer);
    }
    Tensor& total = of_path.tensors[values[k]];
    if (total.data() == nullptr)
      total = copy_of(terms[k], false);
    else
      run(sum, {&total, &terms[k]}, {&total});
  }
}

}  // namespace mote
