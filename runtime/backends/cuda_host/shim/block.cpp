// SPDX-License-Identifier: Apache-2.0
// Runs a block: a thread runs until it waits or ends; then the order chooses another that is ready.
#include "block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace mote::shim {
namespace {

/// The size of a stack: a GPU gives a thread up to 512 KiB of local memory. Untouched pages take no
/// memory.
constexpr std::size_t kStackBytes = std::size_t{640} << 10;
#if defined(__SANITIZE_THREAD__)
constexpr bool kReusesStacks = false;  // within a block: the sanitizer would report a write to
                                       // another thread's stack as a race
#else
constexpr bool kReusesStacks = true;
#endif
constexpr int kLanes = 32;
/// This byte makes a float and a double a NaN.
constexpr int kPoison = 0xff;

/// Fills memory, including ranges that sanitizers would not let be written as one object.
__attribute__((no_sanitize("address", "thread"))) void fill(char* begin, const char* end) {
  for (volatile char* at = begin; at < end; ++at) *at = static_cast<char>(kPoison);
}

}  // namespace

Block::Block(const Shape& shape, const Options& options, const std::function<void()>& kernel)
    : shape_(shape),
      options_(options),
      kernel_(kernel),
      threads_(std::size_t{shape.block.x} * shape.block.y * shape.block.z),
      warps_((threads_.size() + kLanes - 1) / kLanes),
      dynamic_(shape.dynamic_bytes),
      state_(options.seed * 0x9e3779b97f4a7c15ULL + 1) {
  position_.block_dim = shape.block;
  position_.grid_dim = shape.grid;
}

/// Returns the next number of xorshift64*.
std::uint64_t Block::random() {
  state_ ^= state_ >> 12U;
  state_ ^= state_ << 25U;
  state_ ^= state_ >> 27U;
  return state_ * 0x2545f4914f6cdd1dULL;
}

void ReadyThreads::add(int number) {
  words_[static_cast<std::size_t>(number / kWordBits)] |= std::uint64_t{1} << (number % kWordBits);
  ++count_;
}

void ReadyThreads::remove(int number) {
  words_[static_cast<std::size_t>(number / kWordBits)] &=
      ~(std::uint64_t{1} << (number % kWordBits));
  --count_;
}

int ReadyThreads::take_from(int number) {
  auto word = static_cast<std::size_t>(number / kWordBits);
  std::uint64_t bits = words_[word] & (~std::uint64_t{0} << (number % kWordBits));
  while (bits == 0) {
    word = (word + 1) % words_.size();
    bits = words_[word];
  }
  const int found = static_cast<int>(word) * kWordBits + std::countr_zero(bits);
  remove(found);
  return found;
}

int ReadyThreads::take_first() { return take_from(0); }

int ReadyThreads::take_last() {
  std::size_t word = words_.size() - 1;
  while (words_[word] == 0) --word;
  const int found =
      static_cast<int>(word) * kWordBits + kWordBits - 1 - std::countl_zero(words_[word]);
  remove(found);
  return found;
}

void Block::make_ready(std::vector<int>& threads) {
  for (const int number : threads) ready_.add(number);
  threads.clear();
}

/// Returns the next ready thread: the least number in forward order, the greatest in reverse, else
/// a random one.
int Block::next() {
  if (options_.order == Order::forward) return ready_.take_first();
  if (options_.order == Order::reverse) return ready_.take_last();
  return ready_.take_from(static_cast<int>(random() % threads_.size()));
}

void Block::poison() {
  if (shape_.shared_begin != nullptr) fill(shape_.shared_begin, shape_.shared_end);
  if (!dynamic_.empty()) fill(dynamic_.data(), dynamic_.data() + dynamic_.size());
}

void Block::entry(void* block) {
  Block& self = *static_cast<Block*>(block);
  self.kernel_();
  self.end();
}

std::string Block::run(uint3 block) {
  position_.block = block;
  const dim3 d = shape_.block;
  std::vector<int> all;
  for (unsigned k = 0; k < threads_.size(); ++k) {
    threads_[k] = {static_cast<int>(k), {k % d.x, k / d.x % d.y, k / (d.x * d.y)}};
    all.push_back(static_cast<int>(k));
  }
  for (Warp& w : warps_) w = Warp();
  live_ = static_cast<int>(threads_.size());
  make_ready(all);
  poison();
  while (!ready_.empty()) {
    current_ = &threads_[static_cast<std::size_t>(next())];
    position_.thread = current_->index;
    if (current_->fibre == nullptr) {
      if (free_.empty()) {
        fibres_.push_back(std::make_unique<Fibre>(options_.engine, kStackBytes));
        free_.push_back(fibres_.back().get());
      }
      current_->fibre = free_.back();
      free_.pop_back();
      current_->fibre->start(entry, this);
    }
    current_->fibre->resume();
    if (!error_.empty()) break;
    if (current_->done) (kReusesStacks ? free_ : ended_).push_back(current_->fibre);
  }
  free_.insert(free_.end(), ended_.begin(), ended_.end());
  ended_.clear();
  has_waited(&fibres_left);  // not before: threads that have not begun would wait for others too
  if (!error_.empty()) return error_;
  return live_ > 0 ? stuck() : "";
}

std::string Block::lane_text(const Thread& t) {
  return "thread " + std::to_string(t.index.x) + "," + std::to_string(t.index.y) + "," +
         std::to_string(t.index.z);
}

/// Ends this fibre without leaking memory.
void Block::fail(std::string& what) {
  {
    const Unseen notes;
    const uint3 b = position_.block;
    error_ = "block " + std::to_string(b.x) + "," + std::to_string(b.y) + "," +
             std::to_string(b.z) + ", " + lane_text(*current_) + ": " + what;
    std::string().swap(what);
  }
  current_->fibre->leave(true);
  __builtin_unreachable();
}

void Block::wait() { current_->fibre->leave(false); }

/// Describes a block in which threads wait and none is ready.
std::string Block::stuck() const {
  const uint3 b = position_.block;
  std::string out = "block " + std::to_string(b.x) + "," + std::to_string(b.y) + "," +
                    std::to_string(b.z) + ": " + std::to_string(live_) + " threads wait for ever";
  if (!at_barrier_.empty())
    out += ", " + std::to_string(at_barrier_.size()) + " at the barrier in line " +
           std::to_string(barrier_line_);
  for (const Warp& w : warps_)
    if (!w.waiting.empty())
      out += ", " + std::to_string(w.waiting.size()) + " lanes of a warp in line " +
             std::to_string(w.line);
  return out;
}

void Block::end() {
  meet([&]() -> std::string {
    current_->done = true;
    --live_;
    Warp& w = warp();
    const unsigned lane = 1U << static_cast<unsigned>(current_->number % kLanes);
    w.ended |= lane;
    if (!current_->is_waited_for) return "ends before copies that it did not wait for";
    if (!w.waiting.empty() && (w.mask & lane) != 0)
      return "ends while lanes of its warp wait for it in line " + std::to_string(w.line);
    release_barrier();
    return "";
  });
  current_->fibre->leave(true);
}

/// Releases the barrier if all threads that have not ended are there.
void Block::release_barrier() {
  if (at_barrier_.empty() || static_cast<int>(at_barrier_.size()) != live_) return;
  any_released_ = std::exchange(any_coming_, false);
  ++barrier_round_;
  make_ready(at_barrier_);
}

std::string Block::come_to_barrier(int line) {
  if (!at_barrier_.empty() && line != barrier_line_)
    return "reaches the barrier in line " + std::to_string(line) +
           " while others wait at the one in line " + std::to_string(barrier_line_);
  barrier_line_ = line;
  at_barrier_.push_back(current_->number);
  release_barrier();
  return "";
}

void Block::barrier(int line) {
  void* const location = &barrier_locations_[barrier_round_ % 2];
  meet([&] { return come_to_barrier(line); });
  has_come(location);
  wait();
  has_waited(location);
}

/// The result of a release stays valid until all threads have come to the next barrier, and so have
/// read it.
bool Block::barrier_or(bool predicate, int line) {
  meet([&]() -> std::string {
    any_coming_ = any_coming_ || predicate;
    return "";
  });
  barrier(line);
  return any_released_;
}

Block::Warp& Block::warp() { return warps_[static_cast<std::size_t>(current_->number / kLanes)]; }

/// Notes that the caller's lane has come; if it is the last of the mask, all of them become ready.
std::string Block::come_to_warp(unsigned mask, int line) {
  Warp& w = warp();
  const unsigned lane = 1U << static_cast<unsigned>(current_->number % kLanes);
  const std::size_t first = static_cast<std::size_t>(&w - warps_.data()) * kLanes;
  const std::size_t lanes = std::min<std::size_t>(threads_.size() - first, kLanes);
  const unsigned there = lanes == kLanes ? ~0U : (1U << lanes) - 1;
  if ((mask & lane) == 0) return "is not in the mask that it gives in line " + std::to_string(line);
  if ((mask & ~there) != 0 || (mask & w.ended) != 0)
    return "gives a mask with lanes that are not there in line " + std::to_string(line);
  if (w.arrived != 0 && (w.mask != mask || w.line != line))
    return "is in line " + std::to_string(line) +
           " with another mask, or at another location, than " +
           "lanes of its warp that wait in line " + std::to_string(w.line);
  w.mask = mask;
  w.line = line;
  w.arrived |= lane;
  w.waiting.push_back(current_->number);
  if (w.arrived == mask) {
    w.arrived = 0;
    ++w.round;
    make_ready(w.waiting);
  }
  return "";
}

void Block::sync_warp(unsigned mask, int line) {
  void* const location = &warp().locations[warp().round % 2];
  meet([&] { return come_to_warp(mask, line); });
  has_come(location);
  wait();
  has_waited(location);
}

/// Shuffles and ballots do not order lanes' accesses to memory, as CUDA documents.
std::uint64_t Block::shuffle(unsigned mask, std::uint64_t value, int source, int line) {
  const auto& values = warp().values[warp().round % 2];
  meet([&]() -> std::string {
    warp().values[warp().round % 2][current_->number % kLanes] = value;
    std::string wrong = come_to_warp(mask, line);
    if (wrong.empty() &&
        (source < 0 || source >= kLanes || (mask >> static_cast<unsigned>(source) & 1U) == 0))
      wrong = "reads lane " + std::to_string(source) + ", which is not in the mask, in line " +
              std::to_string(line);
    return wrong;
  });
  wait();
  return values[source];
}

unsigned Block::ballot(unsigned mask, bool predicate, int line) {
  const auto& values = warp().values[warp().round % 2];
  meet([&] {
    warp().values[warp().round % 2][current_->number % kLanes] = predicate ? 1 : 0;
    return come_to_warp(mask, line);
  });
  wait();
  unsigned out = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if ((mask >> lane & 1U) != 0 && values[lane] != 0) out |= 1U << lane;
  return out;
}

}  // namespace mote::shim
