// SPDX-License-Identifier: Apache-2.0
#include "mote/runtime/stream.h"

#include <utility>

#include "device/device_copy.h"
#include "mote/runtime/context.h"
#include "mote/runtime/status.h"
#include "stream/workers.h"

namespace mote {

using detail::ErrorPointer;
using detail::Mark;
using detail::StreamState;

/// The event's latest mark; null before the first record.
struct Event::Latest {
  std::shared_ptr<Mark> get() const {
    const std::lock_guard lock(mutex);
    return mark;
  }
  void set(std::shared_ptr<Mark> to) {
    const std::lock_guard lock(mutex);
    mark = std::move(to);
  }

  mutable std::mutex mutex;
  std::shared_ptr<Mark> mark;
};

namespace {

void refuse_within_work(const char* what) {
  if (Workers::is_one())
    throw StatusError(MOTE_INVALID, std::string(what) + ": the work of a stream must not wait");
}

void throw_if(const ErrorPointer& error) {
  if (error) throw StatusError(error->status, error->text);
}

StreamState& state_of(const std::shared_ptr<StreamState>& state) {
  if (!state) throw StatusError(MOTE_INVALID, "stream: it was moved to another one");
  return *state;
}

}  // namespace

Event::Event() : latest_(std::make_shared<Latest>()) {}

void Event::synchronize() const {
  refuse_within_work("event: synchronize");
  const std::shared_ptr<Mark> mark = latest_->get();
  if (!mark) return;
  std::unique_lock lock(mark->mutex);
  mark->changed.wait(lock, [&] { return mark->is_over; });
  throw_if(mark->error);
  lock.unlock();
  if (mark->issued) mark->issued->synchronize();
}

bool Event::is_over() const {
  const std::shared_ptr<Mark> mark = latest_->get();
  if (!mark) return true;
  const std::lock_guard lock(mark->mutex);
  if (!mark->is_over || mark->issued == nullptr) return mark->is_over;
  try {
    return mark->issued->is_over();
  } catch (const StatusError&) {  // synchronize() throws it
    return true;
  }
}

Stream::Stream(Context& context)
    : context_(&context), state_(std::make_shared<StreamState>(context.workers(), std::nullopt)) {}

Stream::Stream(Context& context, const Device& device)
    : context_(&context), state_(std::make_shared<StreamState>(context.workers(), device)) {}

Stream::Stream(Stream&&) noexcept = default;

Stream& Stream::operator=(Stream&& other) noexcept {
  Stream taken(std::move(other));
  std::swap(context_, taken.context_);
  std::swap(state_, taken.state_);
  return *this;
}

Stream::~Stream() {
  if (!state_ || Workers::is_one()) return;
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->done == state_->given; });
  lock.unlock();
  try {
    if (state_->device) state_->device->synchronize();
  } catch (...) {  // NOLINT(bugprone-empty-catch): no caller waits for the error
  }
}

void Stream::enqueue(std::function<void()> work) {
  if (!work) throw StatusError(MOTE_INVALID, "stream: the work is an empty function");
  give(std::move(work), false);
}

void Stream::give(std::function<void()> work, bool issues) {
  StreamState& state = state_of(state_);
  state.workers.give(
      state, {.work = std::move(work), .issues = issues, .recorded = nullptr, .awaited = nullptr});
}

std::optional<Device> Stream::device() const {
  const StreamState& state = state_of(state_);
  if (!state.device) return std::nullopt;
  return state.device->device();
}

void Stream::record(const Event& event) {
  StreamState& state = state_of(state_);
  auto mark = std::make_shared<Mark>();
  state.workers.give(state,
                     {.work = nullptr, .issues = false, .recorded = mark, .awaited = nullptr});
  // The mark is published last: a thread that finds it waits for a task that is already in a queue.
  event.latest_->set(std::move(mark));
}

void Stream::wait(const Event& event) {
  StreamState& state = state_of(state_);
  std::shared_ptr<Mark> mark = event.latest_->get();
  if (!mark) return;
  state.workers.give(
      state, {.work = nullptr, .issues = false, .recorded = nullptr, .awaited = std::move(mark)});
}

void Stream::synchronize() {
  refuse_within_work("stream: synchronize");
  StreamState& state = state_of(state_);
  std::unique_lock lock(state.mutex);
  const std::uint64_t given = state.given;
  state.changed.wait(lock, [&] { return state.done >= given; });
  lock.unlock();
  std::optional<StatusError> late;
  try {
    if (state.device) state.device->synchronize();
  } catch (const StatusError& error) {
    late = error;
  }
  lock.lock();  // another thread may have taken the error meanwhile
  if (state.error) {
    StatusError first(state.error->status, state.error->text);  // may throw bad_alloc
    state.error = nullptr;
    throw StatusError(std::move(first));
  }
  if (late) throw StatusError(*std::move(late));
}

bool Stream::is_idle() const {
  StreamState& state = state_of(state_);
  const std::lock_guard lock(state.mutex);
  return state.done == state.given && (!state.device || state.device->is_idle());
}

void run(std::shared_ptr<PreparedCommand> prepared, Stream& stream) {
  if (!prepared) throw StatusError(MOTE_INVALID, "stream: the prepared command is null");
  const std::optional<Device> device = stream.device();
  if (!device || prepared->device() != device)
    return stream.enqueue([prepared = std::move(prepared)] { prepared->run(); });
  DeviceStream* const on = &*stream.state_->device;  // the state exists as long as its work does
  stream.give(
      [prepared = std::move(prepared), on] {
        on->issue([prepared] { return to_string(prepared->command()); },
                  [&] { prepared->run_in(on->raw(), on->workspace(prepared->workspace_bytes())); });
      },
      true);
}

void copy(const Tensor& x, const Tensor& y, Stream& stream) {
  const std::optional<Device> device = stream.device();
  check_copy(x, y);
  const bool there = device && (is_on(x, *device) || is_on(y, *device));
  const bool all =
      there && (is_on(x, *device) || is_on_host(x)) && (is_on(y, *device) || is_on_host(y));
  if (!all) return stream.enqueue([x, y] { copy(x, y); });
  DeviceStream* const on = &*stream.state_->device;
  stream.give(
      [x, y, on] {
        auto kept = std::make_shared<std::vector<Tensor>>();
        on->issue(
            [kept, x, y] { return "copy of " + describe(x) + " to " + describe(y); },
            [&] { *kept = issue_copy(on->device(), x.broadcast_to(y.shape()), y, on->raw()); });
      },
      true);
}

void run(const Command& command, std::span<const Tensor* const> inputs,
         std::span<Tensor* const> outputs, Stream& stream, const RunOptions& options) {
  RunOptions with_context = options;
  if (with_context.context == nullptr) with_context.context = &stream.context();
  run(std::make_shared<PreparedCommand>(command, inputs, outputs, with_context), stream);
}

void run(const Command& command, std::initializer_list<const Tensor*> inputs,
         std::initializer_list<Tensor*> outputs, Stream& stream, const RunOptions& options) {
  run(command, std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()),
      stream, options);
}

}  // namespace mote
