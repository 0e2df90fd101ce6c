// SPDX-License-Identifier: Apache-2.0
// The tuning table: open addressing over atomic pointers. A writer publishes an entry, or a larger
// set of buckets, after it is complete; memory that a reader may still hold is freed with the
// table.
#include <algorithm>
#include <vector>

#include "command/signature.h"
#include "mote/runtime/tune.h"

namespace mote {

struct TuningTable::Buckets {
  /// The count must be a power of two.
  explicit Buckets(std::size_t count) : slots(count) {}
  /// Returns the slot of that entry, or the empty one where it would be. Some slot is always empty.
  std::atomic<const TuningEntry*>& slot(const Command& command,
                                        std::span<const std::uint64_t> words,
                                        std::uint64_t hash) const {
    for (std::size_t k = hash & (slots.size() - 1);; k = (k + 1) & (slots.size() - 1)) {
      const TuningEntry* entry = slots[k].load(std::memory_order_acquire);
      if (entry == nullptr ||
          (std::ranges::equal(entry->signature, words) && entry->command == command))
        return slots[k];
    }
  }

  mutable std::vector<std::atomic<const TuningEntry*>> slots;
};

TuningTable::TuningTable() {
  all_buckets_.push_back(std::make_unique<Buckets>(64));
  buckets_ = all_buckets_.back().get();
}

TuningTable::~TuningTable() = default;

const mote_kernel* TuningTable::find(const Command& command, const CallTensors& tensors) const {
  if (size() == 0) return nullptr;
  const Signature signature(command, tensors);
  const Buckets* buckets = buckets_.load(std::memory_order_acquire);
  const TuningEntry* entry =
      buckets->slot(command, signature.words(), signature.hash()).load(std::memory_order_acquire);
  return entry != nullptr ? entry->fastest : nullptr;
}

const TuningEntry* TuningTable::find(const Command& command,
                                     std::span<const std::uint64_t> signature) const {
  const Buckets* buckets = buckets_.load(std::memory_order_acquire);
  return buckets->slot(command, signature, hash_of(command, signature))
      .load(std::memory_order_acquire);
}

void TuningTable::put(TuningEntry entry) {
  const std::lock_guard lock(mutex_);
  if (2 * (size() + 1) > buckets_.load(std::memory_order_relaxed)->slots.size()) grow();
  const std::uint64_t hash = hash_of(entry.command, entry.signature);
  all_.push_back(std::make_unique<const TuningEntry>(std::move(entry)));
  const TuningEntry* added = all_.back().get();
  auto& slot =
      buckets_.load(std::memory_order_relaxed)->slot(added->command, added->signature, hash);
  const bool is_new = slot.load(std::memory_order_relaxed) == nullptr;
  slot.store(added, std::memory_order_release);
  if (is_new) size_.fetch_add(1, std::memory_order_release);
}

void TuningTable::grow() {
  const Buckets& old = *buckets_.load(std::memory_order_relaxed);
  auto larger = std::make_unique<Buckets>(4 * old.slots.size());
  for (const auto& slot : old.slots)
    if (const TuningEntry* entry = slot.load(std::memory_order_relaxed))
      larger->slot(entry->command, entry->signature, hash_of(entry->command, entry->signature))
          .store(entry, std::memory_order_relaxed);
  all_buckets_.push_back(std::move(larger));
  buckets_.store(all_buckets_.back().get(), std::memory_order_release);
}

std::vector<const TuningEntry*> TuningTable::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<const TuningEntry*> current;
  for (const auto& entry : all_)
    if (find(entry->command, entry->signature) == entry.get()) current.push_back(entry.get());
  return current;
}

}  // namespace mote
