// SPDX-License-Identifier: Apache-2.0
// Streams: work that runs in the order in which it was given, one task after the other, on threads
// that all streams of a context share; events order one stream after another.
//
// - A stream that waits for an event which is still to come gives its thread back, so any number of
//   streams run on any number of threads.
// - An event stands for the work that was in a stream when it was last recorded. A wait for an
//   event refers to that record, which came earlier; so no order of records and waits makes a
//   cycle. An event that was never recorded is over. A stream that waits for an event of its own
//   continues: that work comes before the wait anyway.
// - The first error of a stream is kept, and later work is skipped, up to the next synchronize(),
//   which throws it and starts anew. Errors spread: an event recorded after it is over, with that
//   error; a stream that waits for such an event has the error from then on; a stream that waits
//   for that one does, too.
// - Work may give more work to any stream, but may not wait: synchronize() from within work is an
//   error.
// - A stream of a device (device.h) gives commands and copies of the device's tensors to the
//   device, in order, and does not wait for them; its other work begins when all earlier tasks are
//   done. A stream of the same device that waits for an event leaves that to the device as well.
//   synchronize(), or work that waits, finds the device's failures: the error says which work was
//   under way.
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
class PreparedOperation;

namespace detail {
struct StreamState;
}  // namespace detail

/// An event; a copy stands for the same event. It is safe from any thread.
class Event {
 public:
  Event();
  /// Waits for the work that was recorded last. Throws its error, each time. Throws StatusError
  /// MOTE_INVALID from within a stream's work.
  void synchronize() const;
  /// Returns whether the recorded work is done, without waiting and without throwing its error.
  bool is_over() const;

 private:
  friend class Stream;
  struct Latest;
  std::shared_ptr<Latest> latest_;
};

/// A stream, safe from any thread; work that two threads give at once comes in either order.
class Stream {
 public:
  /// Creates a stream on the context's threads, which the first stream starts; the context must
  /// outlive it. Throws StatusError MOTE_FAILED if the system has no thread.
  explicit Stream(Context& context);
  /// Creates a stream on a device. Throws StatusError if the device has no stream.
  Stream(Context& context, const Device& device);
  /// Waits for the work, except from within work, which cannot wait: then the work continues by
  /// itself. An error that no synchronize() has thrown is dropped.
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  /// Adds work of the caller. An exception that it throws becomes the stream's error, as a
  /// StatusError: with its own status if it is one, MOTE_OUT_OF_MEMORY for std::bad_alloc, else
  /// MOTE_FAILED.
  void enqueue(std::function<void()> work);
  /// Makes the event stand for all work that the stream has been given so far.
  void record(const Event& event);
  /// Makes later work wait for the work that was recorded in the event.
  void wait(const Event& event);
  /// Waits for the work that was given earlier. Throws the stream's first error since the last
  /// synchronize(), after which the stream takes new work.
  void synchronize();
  bool is_idle() const;
  Context& context() const { return *context_; }
  /// Returns the stream's device; none if it is the host's.
  std::optional<Device> device() const;

 private:
  friend void copy(const Tensor& x, const Tensor& y, Stream& stream);
  friend void run(std::shared_ptr<PreparedCommand> prepared, Stream& stream);
  friend void run(std::span<PreparedOperation* const> operations, Stream& stream);
  void give(std::function<void()> work, bool issues);

  Context* context_;
  std::shared_ptr<detail::StreamState> state_;  ///< null after a move
};

/// Calls run() on a stream. Checks are made and the kernel is chosen before this returns, with
/// run()'s errors; the kernel's own error is the stream's. The tensors' memory is kept until the
/// work is done; the caller keeps memory that a tensor does not own. The context of the options,
/// and their workspace, must outlive the work; without a context it is the stream's.
void run(const Command& command, std::span<const Tensor* const> inputs,
         std::span<Tensor* const> outputs, Stream& stream, const RunOptions& options = {});
void run(const Command& command, std::initializer_list<const Tensor*> inputs,
         std::initializer_list<Tensor*> outputs, Stream& stream, const RunOptions& options = {});
/// Calls copy() on a stream: invalid arguments throw now, a failure of a device is the stream's
/// error. The tensors' memory is kept until the copy is done.
void copy(const Tensor& x, const Tensor& y, Stream& stream);
/// Runs a prepared command on a stream. It must not run or be rebound elsewhere before that work is
/// done.
void run(std::shared_ptr<PreparedCommand> prepared, Stream& stream);

}  // namespace mote
