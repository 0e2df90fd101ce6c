#include "mote/runtime/stream.h"

#include <utility>

#include "mote/runtime/context.h"
#include "mote/runtime/status.h"
#include "workers.h"

namespace mote {

using detail::ErrorPointer;
using detail::Mark;
using detail::StreamState;

/// What the event stands for now: null before the first record.
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
}

bool Event::is_over() const {
  const std::shared_ptr<Mark> mark = latest_->get();
  if (!mark) return true;
  const std::lock_guard lock(mark->mutex);
  return mark->is_over;
}

Stream::Stream(Context& context)
    : context_(&context), state_(std::make_shared<StreamState>(context.workers())) {}

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
}

void Stream::enqueue(std::function<void()> work) {
  if (!work) throw StatusError(MOTE_INVALID, "stream: the work is an empty function");
  StreamState& state = state_of(state_);
  state.workers.give(state, {.work = std::move(work), .recorded = nullptr, .awaited = nullptr});
}

void Stream::record(const Event& event) {
  StreamState& state = state_of(state_);
  auto mark = std::make_shared<Mark>();
  state.workers.give(state, {.work = nullptr, .recorded = mark, .awaited = nullptr});
  // Not before: whoever finds the mark waits for what is in a queue already.
  event.latest_->set(std::move(mark));
}

void Stream::wait(const Event& event) {
  StreamState& state = state_of(state_);
  std::shared_ptr<Mark> mark = event.latest_->get();
  if (!mark) return;
  state.workers.give(state, {.work = nullptr, .recorded = nullptr, .awaited = std::move(mark)});
}

void Stream::synchronize() {
  refuse_within_work("stream: synchronize");
  StreamState& state = state_of(state_);
  std::unique_lock lock(state.mutex);
  const std::uint64_t given = state.given;
  state.changed.wait(lock, [&] { return state.done >= given; });
  if (!state.error) return;
  StatusError error(state.error->status, state.error->text);  // may find no memory
  state.error = nullptr;
  throw StatusError(std::move(error));
}

bool Stream::is_idle() const {
  StreamState& state = state_of(state_);
  const std::lock_guard lock(state.mutex);
  return state.done == state.given;
}

void run(std::shared_ptr<PreparedCommand> prepared, Stream& stream) {
  if (!prepared) throw StatusError(MOTE_INVALID, "stream: the prepared command is null");
  stream.enqueue([prepared = std::move(prepared)] { prepared->run(); });
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
