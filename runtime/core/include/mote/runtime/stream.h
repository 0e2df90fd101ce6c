// SPDX-License-Identifier: Apache-2.0
// Streams: work that runs in the order in which it was given, one after the other, on threads that
// all streams of a context share; events order one stream behind another.
//
// - A stream's work never waits for a thread that waits: a stream that waits for an event gives its
//   thread back, so that any number of streams run on any number of threads.
// - An event stands for the work that was in a stream when it was recorded last. To wait for an
//   event binds to that record, which came before; so whatever events are recorded and waited for,
//   in whatever order, no cycle arises. An event that was never recorded is over. A stream that
//   waits for an event of its own loses nothing: that work is before it anyway.
// - The first error of a stream is kept, and what is behind it is skipped, up to the next
//   synchronize(), which throws it and starts anew. It spreads: an event recorded behind it is
//   over, with that error; a stream that waits for such an event has it from there on; whoever
//   waits for that one, too.
// - Work may give more work to any stream, but not wait: synchronize() from within is an error.
// - A stream of a device (device.h) gives commands and copies of the device's tensors to the
// device,
//   in order, and does not wait for them; all other work of it begins when those before it are
//   done. A stream of the same device that waits for an event leaves that to the device as well.
//   What fails there is found by synchronize(), or by what waits: the error says what was under
//   way.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "mote/base/export.h"
#include "mote/runtime/command.h"
#include "mote/runtime/device.h"
#include "mote/runtime/prepared.h"

namespace MOTE_API mote {

class Context;

namespace detail {
struct StreamState;
}  // namespace detail

/// A copy stands for the same event. Safe from any thread.
class Event {
 public:
  Event();
  /// Waits for the work that was recorded last. Throws the error that came with it, each time.
  /// StatusError MOTE_INVALID from within a stream's work.
  void synchronize() const;
  /// Without waiting, and without its error.
  bool is_over() const;

 private:
  friend class Stream;
  struct Latest;
  std::shared_ptr<Latest> latest_;
};

/// Safe from any thread; what two threads give at once comes in either order.
class Stream {
 public:
  /// On the context's threads, which the first stream starts; the context outlives it. StatusError
  /// MOTE_FAILED where the system has no thread.
  explicit Stream(Context& context);
  /// The same, on a device. StatusError where that has no stream.
  Stream(Context& context, const Device& device);
  /// Waits for the work, but from within work, which cannot wait: then it goes on by itself. An
  /// error that nobody has asked for is dropped.
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  /// Some work of the caller's. What it throws is the stream's error, as a StatusError: of its own
  /// status if it is one, MOTE_OUT_OF_MEMORY for std::bad_alloc, else MOTE_FAILED.
  void enqueue(std::function<void()> work);
  /// Everything said so far is the event's, from now on.
  void record(const Event& event);
  /// What comes next waits for what was recorded in the event.
  void wait(const Event& event);
  /// Waits for the work that was given before. Throws the stream's first error since the last
  /// synchronize(), after which the stream takes new work.
  void synchronize();
  bool is_idle() const;
  Context& context() const { return *context_; }
  /// None: it is the host's.
  std::optional<Device> device() const;

 private:
  friend void copy(const Tensor& x, const Tensor& y, Stream& stream);
  friend void run(std::shared_ptr<PreparedCommand> prepared, Stream& stream);
  void give(std::function<void()> work, bool issues);

  Context* context_;
  std::shared_ptr<detail::StreamState> state_;  ///< null once moved from
};

/// run() on a stream. Checks are made and the kernel is chosen before this returns, with run()'s
/// errors; the kernel's own error is the stream's. The tensors' memory is kept until the work is
/// done; memory that a tensor does not own, the caller keeps. The context of the options, and their
/// workspace, outlive the work; without a context it is the stream's.
void run(const Command& command, std::span<const Tensor* const> inputs,
         std::span<Tensor* const> outputs, Stream& stream, const RunOptions& options = {});
void run(const Command& command, std::initializer_list<const Tensor*> inputs,
         std::initializer_list<Tensor*> outputs, Stream& stream, const RunOptions& options = {});
/// copy() on a stream: what it refuses is thrown now, what a device fails at is the stream's error.
/// The tensors' memory is kept until the copy is done.
void copy(const Tensor& x, const Tensor& y, Stream& stream);
/// The same for what is prepared. It is not run or rebound elsewhere before that work is done.
void run(std::shared_ptr<PreparedCommand> prepared, Stream& stream);

}  // namespace mote
