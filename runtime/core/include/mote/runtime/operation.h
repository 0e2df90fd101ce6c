// SPDX-License-Identifier: Apache-2.0
// Operations, of which graphs are made: a command on tensors, a copy, a fill, or a function of the
// caller's. prepare() checks one once; then a run costs a few nanoseconds beyond the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mote/base/export.h"
#include "mote/runtime/bound_call.h"
#include "mote/runtime/command.h"
#include "mote/runtime/context.h"
#include "mote/runtime/prepared.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"

namespace MOTE_API mote {

class DeviceStream;
class Stream;

/// run(command, inputs, outputs, options). A tensor that is left out is none.
struct RunOperation {
  Command command;
  std::vector<std::optional<Tensor>> inputs;
  std::vector<std::optional<Tensor>> outputs;
  RunOptions options = {};
};
/// y = x, as copy() computes it.
struct CopyOperation {
  Tensor x, y;
};
/// y[i] = value, as fill() computes it.
struct FillOperation {
  Tensor y;
  std::variant<std::int64_t, double> value;
};
/// A call of the function, which reads and writes the memory of these tensors.
struct CallOperation {
  std::function<void()> function;
  std::vector<Tensor> reads = {};
  std::vector<Tensor> writes = {};
};
using Operation = std::variant<RunOperation, CopyOperation, FillOperation, CallOperation>;

/// Returns "softmax axis=1", "copy of f32[2] to f64[2]", "fill of f32[2]", "call".
std::string to_string(const Operation& operation);

/// The tensors whose memory an operation reads and writes, in the order of its members.
struct Accesses {
  std::vector<Tensor> reads, writes;
};
Accesses accesses(const Operation& operation);

/// An operation that was checked. It keeps the memory of its tensors; that of a bound call is the
/// caller's to keep. Two threads must not run it at once.
class PreparedOperation {
 public:
  explicit PreparedOperation(BoundCall call);
  explicit PreparedOperation(PreparedCommand command);
  PreparedOperation(PreparedOperation&&) noexcept;
  PreparedOperation& operator=(PreparedOperation&&) noexcept;
  ~PreparedOperation();

  /// Runs and waits. Throws the errors of run(), copy() and fill(), and whatever the function
  /// throws.
  void run();

  /// Returns the call, to bind it to other memory; null if it is none.
  BoundCall* bound_call() { return std::get_if<BoundCall>(&work_); }
  /// Returns the prepared command, to rebind it to other tensors; null if it is none.
  PreparedCommand* command() { return std::get_if<PreparedCommand>(&work_); }
  /// Gives the operation a text of its own, by which errors of a device's stream name it: "node 7
  /// 'h' (matmul)". It must not be under way.
  void set_text(std::string text) { own_text_ = std::move(text); }
  std::string text() const;  ///< its own text, or else to_string() of the operation

 private:
  friend PreparedOperation prepare(const Operation& operation, Context& context);
  friend class OperationList;
  using Work =
      std::variant<BoundCall, PreparedCommand, std::unique_ptr<const CopyOperation>,
                   std::unique_ptr<const FillOperation>, std::unique_ptr<const CallOperation>>;
  explicit PreparedOperation(Work work);
  void run_other();
  bool may_issue(const Device& device) const;
  void issue(DeviceStream& stream, std::vector<Tensor>& kept);

  Work work_;
  std::string own_text_;
};

/// Checks the operation, and chooses the kernel of a command. The options' context is `context` if
/// they have none. Throws StatusError: what run(), copy() and fill() throw before they touch data,
/// and MOTE_INVALID for an empty function.
PreparedOperation prepare(const Operation& operation, Context& context);

/// The failure of one operation among several: "operation 3: relu: …".
class OperationError : public StatusError {
 public:
  OperationError(std::size_t index, mote_status status, const std::string& what);
  std::size_t index() const { return index_; }

 private:
  std::size_t index_;
};

/// Runs the operations one after the other, up to the first that fails. Throws OperationError; an
/// exception of a caller's function becomes one of status MOTE_FAILED, or MOTE_OUT_OF_MEMORY for
/// std::bad_alloc. If none fails, nothing is allocated.
void run(std::span<PreparedOperation* const> operations);

/// Runs the operations in a stream, as one task; on a stream of a device, one task for each run of
/// operations that the device's stream can take, or that it cannot. The list and the operations
/// must stay as they are until that work is done. The stream's error is the OperationError's text.
/// Throws StatusError MOTE_INVALID for a null operation.
void run(std::span<PreparedOperation* const> operations, Stream& stream);

}  // namespace mote
