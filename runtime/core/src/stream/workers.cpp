// SPDX-License-Identifier: Apache-2.0
#include "stream/workers.h"

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "mote/runtime/status.h"

namespace mote {

using detail::ErrorPointer;
using detail::Mark;
using detail::StreamError;
using detail::StreamState;
using detail::Task;

namespace {

thread_local bool is_worker = false;

/// The number of tasks of one stream before the next stream's turn.
constexpr int kTurn = 16;

/// Returns the exception that is being handled in the form that crosses threads.
ErrorPointer current_error(const ErrorPointer& no_memory) {
  try {
    try {
      throw;
    } catch (const StatusError& e) {
      return std::make_shared<StreamError>(StreamError{e.status(), e.what()});
    } catch (const std::bad_alloc&) {
      return no_memory;
    } catch (const std::exception& e) {
      return std::make_shared<StreamError>(StreamError{MOTE_FAILED, e.what()});
    } catch (...) {
      return std::make_shared<StreamError>(
          StreamError{MOTE_FAILED, "stream: work threw what is no std::exception"});
    }
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}

ErrorPointer error_of(StreamState& stream) {
  const std::lock_guard lock(stream.mutex);
  return stream.error;
}

}  // namespace

bool Workers::is_one() { return is_worker; }

Workers::Workers(int count)
    : no_memory_(std::make_shared<StreamError>(
          StreamError{MOTE_OUT_OF_MEMORY, "stream: there was no memory for its work"})) {
  if (count == 0) count = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  threads_.reserve(static_cast<std::size_t>(count));
  try {
    for (int k = 0; k < count; ++k) threads_.emplace_back([this] { loop(); });
  } catch (const std::system_error& e) {  // fewer threads are enough
    if (threads_.empty())
      throw StatusError(MOTE_FAILED, std::string("stream: the system has no thread: ") + e.what());
  } catch (const std::bad_alloc&) {
    if (threads_.empty()) throw;
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::loop() {
  is_worker = true;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return first_ || (closing_ && busy_streams_ == 0); });
    if (!first_) return;
    const Streams stream = std::exchange(first_, nullptr);
    first_ = std::exchange(stream->next, nullptr);
    if (!first_) last_ = nullptr;
    lock.unlock();
    run_some(stream);
    lock.lock();
  }
}

/// Appends the stream to the list of ready streams.
void Workers::make_ready(Streams stream) {
  {
    const std::lock_guard lock(mutex_);
    (last_ ? last_->next : first_) = stream;
    last_ = std::move(stream);
  }
  changed_.notify_one();
}

void Workers::give(StreamState& stream, Task task) {
  {
    const std::lock_guard lock(stream.mutex);
    stream.tasks.push_back(std::move(task));
    ++stream.given;
    if (std::exchange(stream.is_scheduled, true)) return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++busy_streams_;
  }
  make_ready(stream.shared_from_this());
}

void Workers::run_some(const Streams& stream) {
  for (int k = 0; k < kTurn; ++k) {
    Task* front = nullptr;
    {
      const std::lock_guard lock(stream->mutex);
      if (!stream->tasks.empty()) front = &stream->tasks.front();
      stream->is_scheduled = front != nullptr;
    }
    if (front == nullptr) {
      bool last = false;
      {
        const std::lock_guard lock(mutex_);
        last = --busy_streams_ == 0 && closing_;
      }
      if (last) changed_.notify_all();
      return;
    }
    if (!run_front(stream, *front)) return;
  }
  make_ready(stream);
}

/// Runs a stream's first task. False if the stream waits for a mark: then this thread must leave
/// the stream alone.
bool Workers::run_front(const Streams& stream, Task& task) {
  if (task.awaited && park(stream, *task.awaited)) return false;
  if (task.awaited) {
    follow(*stream, *task.awaited);
  } else if (task.recorded) {
    fire(*task.recorded, *stream, error_of(*stream));
  } else {
    do_work(*stream, task);
  }
  task = {};  // its tensors are freed before any thread is told that it is done
  const std::lock_guard lock(stream->mutex);
  stream->tasks.pop_front();
  ++stream->done;
  stream->changed.notify_all();
  return true;
}

void Workers::do_work(StreamState& stream, const Task& task) {
  if (error_of(stream)) return;
  try {
    if (stream.device && !task.issues) stream.device->synchronize();
    task.work();
  } catch (...) {
    fail(stream, current_error(no_memory_));
  }
}

/// Orders later work of the stream after the mark, which is over. Between streams of one device
/// this is left to the device; else this thread waits.
void Workers::follow(StreamState& stream, const Mark& mark) {
  if (mark.error || error_of(stream)) return fail(stream, mark.error);
  if (mark.issued == nullptr) return;
  try {
    if (stream.device && stream.device->device() == mark.issued->device())
      stream.device->wait(*mark.issued);
    else
      mark.issued->synchronize();
  } catch (...) {
    fail(stream, current_error(no_memory_));
  }
}

/// Sets the stream's error unless it has one.
void Workers::fail(StreamState& stream, const ErrorPointer& error) {
  const std::lock_guard lock(stream.mutex);
  if (!stream.error) stream.error = error;
}

void Workers::fire(Mark& mark, const StreamState& stream, const ErrorPointer& error) {
  Streams waiting;
  {
    const std::lock_guard lock(mark.mutex);
    mark.is_over = true;
    mark.error = error;
    if (stream.device) mark.issued = stream.device->latest();
    waiting = std::exchange(mark.waiting, nullptr);
  }
  mark.changed.notify_all();
  while (waiting) {
    Streams stream = std::exchange(waiting, nullptr);
    waiting = std::exchange(stream->next, nullptr);
    Workers& workers = stream->workers;
    workers.make_ready(std::move(stream));
  }
}

/// Adds the stream to the mark's list and returns true, unless the mark is over.
bool Workers::park(const Streams& stream, Mark& mark) {
  const std::lock_guard lock(mark.mutex);
  if (mark.is_over) return false;
  stream->next = std::exchange(mark.waiting, stream);
  return true;
}

}  // namespace mote
