// SPDX-License-Identifier: Apache-2.0
// The threads that a context's streams run on, and the queue of each stream. A stream is in at most
// one state: a thread runs it, it is in the list of ready streams, or it is in the list of streams
// that wait for a mark. Both lists are linked through the streams themselves, so that no thread
// needs memory to continue.
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

/// An error that is passed between threads.
struct StreamError {
  mote_status status;
  std::string text;
};
using ErrorPointer = std::shared_ptr<const StreamError>;

/// One record of an event. On a stream of a device it is over when all earlier work has been
/// issued; `issued` is over when that work is done.
struct Mark {
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  std::shared_ptr<const DeviceEvent> issued;  ///< null: nothing is under way
  ErrorPointer error;                         ///< the error of earlier work
  std::shared_ptr<StreamState> waiting;       ///< the first stream of a list
};

/// A task is work, or else the record of a mark, or the wait for one.
struct Task {
  std::function<void()> work;
  bool issues = false;  ///< the work is given to the stream's device; else it waits first for the
                        ///< device
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
  std::deque<Task> tasks;  ///< only the thread that runs the stream removes tasks
  bool is_scheduled = false;
  std::uint64_t given = 0;
  std::uint64_t done = 0;
  ErrorPointer error;
  std::shared_ptr<StreamState> next;  ///< the next stream in the list that it is in
};

}  // namespace detail

class Workers {
 public:
  /// Throws StatusError MOTE_FAILED if the system has no thread.
  explicit Workers(int count);
  /// Waits until all work is done.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void give(detail::StreamState& stream, detail::Task task);
  /// True if this thread runs work of some stream; then it must not wait for another.
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
  Streams first_, last_;          ///< the list of ready streams
  std::size_t busy_streams_ = 0;  ///< streams that have work, including waiting ones
  bool closing_ = false;
  detail::ErrorPointer no_memory_;  ///< allocated while there is memory
  std::vector<std::thread> threads_;
};

}  // namespace mote
