// SPDX-License-Identifier: Apache-2.0
// The threads that a context's streams run on, and the queue of each stream. A stream is in at most
// one place: a thread runs it, it is in the list of those that are ready, or it waits in the list
// of a mark. Both lists are made of the streams themselves, so that no thread needs memory to go
// on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device/device_stream.h"
#include "mote/base/kernel.h"

namespace mote {

class Workers;

namespace detail {

struct StreamState;

/// An error on its way between threads.
struct StreamError {
  mote_status status;
  std::string text;
};
using ErrorPointer = std::shared_ptr<const StreamError>;

/// One record of an event. On a stream of a device it is over when all before it has been issued;
/// `issued` is over when that is done.
struct Mark {
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  std::shared_ptr<const DeviceEvent> issued;  ///< null: nothing is under way
  ErrorPointer error;                         ///< that came before it
  std::shared_ptr<StreamState> waiting;       ///< a list
};

/// Work; or the record of a mark, or the wait for it, where there is one.
struct Task {
  std::function<void()> work;
  bool issues = false;  ///< the work is given to the stream's device; else it waits for that first
  std::shared_ptr<Mark> recorded;
  std::shared_ptr<Mark> awaited;
};

struct StreamState : std::enable_shared_from_this<StreamState> {
  StreamState(Workers& w, const std::optional<Device>& on) : workers(w) {
    if (on) device.emplace(*on);
  }

  Workers& workers;
  std::optional<DeviceStream> device;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;  ///< taken away by the thread that runs the stream only
  bool is_scheduled = false;
  std::uint64_t given = 0;
  std::uint64_t done = 0;
  ErrorPointer error;
  std::shared_ptr<StreamState> next;  ///< in the list that it is in
};

}  // namespace detail

class Workers {
 public:
  /// StatusError MOTE_FAILED where not even one thread can be had.
  explicit Workers(int count);
  /// When all work is done.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void give(detail::StreamState& stream, detail::Task task);
  /// This thread runs work of some stream, and must not wait for another.
  static bool is_one();

 private:
  using Streams = std::shared_ptr<detail::StreamState>;

  void loop();
  void run_some(const Streams& stream);
  bool run_front(const Streams& stream, detail::Task& task);
  void do_work(detail::StreamState& stream, const detail::Task& task);
  void follow(detail::StreamState& stream, const detail::Mark& mark);
  void fail(detail::StreamState& stream, const detail::ErrorPointer& error);
  void fire(detail::Mark& mark, const detail::StreamState& stream,
            const detail::ErrorPointer& error);
  bool park(const Streams& stream, detail::Mark& mark);
  void make_ready(Streams stream);

  std::mutex mutex_;
  std::condition_variable changed_;
  Streams first_, last_;          ///< those that are ready
  std::size_t busy_streams_ = 0;  ///< that have work, waiting ones too
  bool closing_ = false;
  detail::ErrorPointer no_memory_;  ///< made while there is some
  std::vector<std::thread> threads_;
};

}  // namespace mote
