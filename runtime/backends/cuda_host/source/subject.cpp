// SPDX-License-Identifier: Apache-2.0
// Runs a file's kernels in several orders. In: their launches; out: the first error in any order.
#include "subject.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "mote/base/dlpack.h"
#include "shim/launch.h"
#include "support/call.h"

// The shim runs the user's text; the declarations that it shares with mote_launch.h are repeated
// here, since that header is for the text.
struct mote_host_grid {
  dim3 grid, block;
  std::size_t shared_bytes;
  char *shared_begin, *shared_end;
  std::size_t static_bytes;
};

namespace mote::shim {
namespace {

constexpr int kOutOfMemory = 2;      // cudaErrorMemoryAllocation
constexpr int kLaunchFailure = 719;  // cudaErrorLaunchFailure

/// Larger outputs are made in one order, to save time: see subject.h.
constexpr std::size_t kManyBytes = std::size_t{32} << 10;

/// The current call, in one order.
struct Running {
  Options options;
  std::string error;
};
Running running;
std::mutex one_call;

/// The outputs of a call, with their content before it. The content of large ones, which may span
/// gigabytes of gaps, is not kept, as they are made once.
class Outputs {
 public:
  explicit Outputs(const mote_call& call) {
    for (std::int32_t k = 0; k < call.output_count; ++k)
      if (call.outputs[k] != nullptr) memory_.push_back(memory_of(*call.outputs[k]));
    for (const auto memory : memory_) bytes_ += memory.size();
    if (bytes_ > kManyBytes) memory_.clear();
    before_ = contents();
  }
  std::vector<std::byte> contents() const {
    std::vector<std::byte> all;
    for (const auto memory : memory_) all.insert(all.end(), memory.begin(), memory.end());
    return all;
  }
  std::size_t bytes() const { return bytes_; }
  void restore() const {
    auto from = before_.begin();
    for (const auto memory : memory_) {
      const auto end = from + std::ssize(memory);
      std::copy(from, end, memory.begin());
      from = end;
    }
  }

 private:
  std::vector<std::span<std::byte>> memory_;
  std::vector<std::byte> before_;
  std::size_t bytes_ = 0;
};

Order by_turns(std::uint64_t number) {
  return number % 3 == 0 ? Order::forward : number % 3 == 1 ? Order::reverse : Order::random;
}

backend::Check run_in_orders(mote_status (*run)(const mote_call*, void*), const mote_call& call,
                             bool compares) {
  static std::atomic<std::uint64_t> calls = 0;
  const std::lock_guard lock(one_call);
  const Outputs outputs(call);
  std::vector<char> message(512);
  mote_status status = MOTE_OK;
  const auto once = [&](const Options& options) -> Run {
    running = {options, ""};
    outputs.restore();
    mote_call own = call;
    own.message = message.data();
    own.message_bytes = message.size();
    status = run(&own, nullptr);
    if (!running.error.empty()) return {running.error, {}};
    if (status != MOTE_OK) return {message.data(), {}};
    return {"", outputs.contents()};
  };
  const std::uint64_t number = calls++;
  const Order other = number % 2 == 0 ? Order::reverse : Order::random;
  const std::string found = !compares || outputs.bytes() > kManyBytes
                                ? once({by_turns(number), number, best_engine()}).error
                                : find_race(number, once, best_engine(), {&other, 1});
  if (found.empty()) return {};
  const bool is_wrong = !running.error.empty() || status == MOTE_OK;
  return backend::Refusal{is_wrong ? MOTE_FAILED : status, found};
}

}  // namespace
}  // namespace mote::shim

using mote::shim::running;

mote_status mote_host_run(mote_status (*run)(const mote_call*, void*), const mote_call* call,
                          int compares_orders) {
  return mote::backend::guarded(
      *call, [&] { return mote::shim::run_in_orders(run, *call, compares_orders != 0); });
}

int mote_host_returned(int status) {
  if (status != 0 && status != mote::shim::kOutOfMemory && running.error.empty())
    running.error = "the function returned " + std::to_string(status);
  return status;
}

const mote_host_calls* mote_host_shim() { return mote::shim::calls(); }

int mote_host_launch(const mote_host_grid* grid, void (*body)(void*), void* context) {
  if (!running.error.empty()) return mote::shim::kLaunchFailure;
  mote::shim::Shape shape;
  shape.grid = grid->grid;
  shape.block = grid->block;
  shape.dynamic_bytes = grid->shared_bytes;
  shape.shared_begin = grid->shared_begin;
  shape.shared_end = grid->shared_end;
  shape.static_bytes = grid->static_bytes;
  running.error = mote::shim::launch(shape, running.options, [&] { body(context); });
  return mote_host_error();
}

int mote_host_error() { return running.error.empty() ? 0 : mote::shim::kLaunchFailure; }
