// SPDX-License-Identifier: Apache-2.0
#include "device_queue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "mote/runtime/status.h"
#include "pool.h"

namespace mote::trace {
namespace {

/// Devices place memory at multiples of this number of bytes.
constexpr std::size_t kLeastBytes = 256;

bool is_free(const Tensor& block) { return block.owners() == 1; }

}  // namespace

Tensor DeviceQueue::allocate(const TensorForm& form) {
  const auto bytes = static_cast<std::size_t>(form.bytes());
  if (bytes == 0) return Tensor::within(Tensor(DType::u8, {0}, device()), 0, form);
  return Tensor::within(take_block(block_bytes(std::max(bytes, kLeastBytes))), 0, form);
}

/// Looks at all blocks of a size for free ones, but only after an eighth of them was taken since:
/// a block costs the same however many there are.
Tensor DeviceQueue::take_block(std::size_t bytes) {
  Class& all = classes_[bytes];
  if (all.free.empty() && all.to_make == 0) {
    for (std::size_t k = all.blocks.size(); k-- > 0;)
      if (is_free(all.blocks[k])) all.free.push_back(k);
    const std::size_t wanted = all.blocks.size() / 8;
    all.to_make = wanted - std::min(wanted, all.free.size());
  }
  if (!all.free.empty()) {
    const std::size_t k = all.free.back();
    all.free.pop_back();
    return all.blocks[k];
  }
  // There is room before a block is made: nothing fails behind that.
  if (all.blocks.size() == all.blocks.capacity()) all.blocks.reserve(2 * all.blocks.size() + 1);
  Tensor block = make_block(bytes);
  if (all.to_make > 0) --all.to_make;
  all.blocks.push_back(block);
  return block;
}

Tensor DeviceQueue::make_block(std::size_t bytes) {
  if (bytes_ + bytes > limit_) {
    if (bytes_ > kKeptBytes) trim();
    limit_ = 2 * bytes_ + std::max(bytes, kKeptBytes);
  }
  const auto make = [&] { return Tensor(DType::u8, {static_cast<std::int64_t>(bytes)}, device()); };
  std::optional<Tensor> made;
  try {
    made.emplace(make());
  } catch (const StatusError& error) {
    if (error.status() != MOTE_OUT_OF_MEMORY) throw;
  }
  if (!made) {
    trim();
    made.emplace(make());
  }
  blocks_of_.insert(made->raw().storage);
  bytes_ += bytes;
  return *std::move(made);
}

void DeviceQueue::trim() noexcept {
  wait();
  for (auto& [bytes, all] : classes_) {
    all.free.clear();
    all.to_make = 0;
    const auto gone =
        std::ranges::partition(all.blocks, [](const Tensor& x) { return !is_free(x); });
    for (const Tensor& block : gone) blocks_of_.erase(block.raw().storage);
    bytes_ -= bytes * gone.size();
    all.blocks.erase(gone.begin(), gone.end());
  }
}

std::size_t DeviceQueue::free_bytes() const {
  std::size_t sum = 0;
  for (const auto& [bytes, all] : classes_)
    sum += bytes * static_cast<std::size_t>(std::ranges::count_if(all.blocks, is_free));
  return sum;
}

std::uint64_t DeviceQueue::issue(std::function<std::string()> what, std::size_t workspace_bytes,
                                 const std::function<void(void*, std::span<std::byte>)>& body) {
  failures_.reserve(failures_.size() + 1);
  while (true) {
    bool has_begun = false;
    try {
      stream_.issue(what, [&] {
        has_begun = true;
        body(stream_.raw(), stream_.workspace(workspace_bytes));
      });
      break;
    } catch (const StatusError&) {
      if (has_begun) throw;
      note_failure(std::current_exception());  // an earlier command's: none is under way now
    }
  }
  ++issued_;
  first_under_way_ = issued_ + 1 - stream_.issued_count();
  return issued_;
}

void DeviceQueue::wait() noexcept {
  try {
    stream_.synchronize();
  } catch (...) {
    note_failure(std::current_exception());
  }
  first_under_way_ = issued_ + 1;
}

void DeviceQueue::note_failure(std::exception_ptr error) noexcept {
  if (first_under_way_ <= issued_)
    failures_.push_back({first_under_way_, issued_, std::move(error)});  // there is room for it
  first_under_way_ = issued_ + 1;
}

void DeviceQueue::check(std::uint64_t command) {
  for (Failure& failure : failures_) {
    if (command < failure.first || command > failure.last) continue;
    failure.is_thrown = true;
    std::rethrow_exception(failure.error);
  }
}

void DeviceQueue::check_all() {
  for (Failure& failure : failures_)
    if (!std::exchange(failure.is_thrown, true)) std::rethrow_exception(failure.error);
}

}  // namespace mote::trace
