// SPDX-License-Identifier: Apache-2.0
#include "mote/runtime/operation.h"

#include <utility>

#include "device/device_copy.h"
#include "mote/base/overloaded.h"

namespace mote {
namespace {

std::vector<const Tensor*> pointers(const std::vector<std::optional<Tensor>>& tensors) {
  std::vector<const Tensor*> list;
  for (const std::optional<Tensor>& x : tensors) list.push_back(x ? &*x : nullptr);
  return list;
}

PreparedCommand prepared(const RunOperation& operation, Context& context) {
  RunOptions options = operation.options;
  if (options.context == nullptr) options.context = &context;
  std::vector<std::optional<Tensor>> outputs = operation.outputs;  // views of the same memory
  std::vector<Tensor*> written;
  for (std::optional<Tensor>& y : outputs) written.push_back(y ? &*y : nullptr);
  return {operation.command, pointers(operation.inputs), written, options};
}

/// Returns the fill as a copy of one element, which a stream of a device takes.
std::unique_ptr<const CopyOperation> of_one_element(const FillOperation& operation) {
  const Tensor one(operation.y.dtype(), {});
  std::visit([&](auto value) { fill(one, value); }, operation.value);
  return std::make_unique<const CopyOperation>(CopyOperation{one, operation.y});
}

std::vector<Tensor> present_of(const std::vector<std::optional<Tensor>>& tensors) {
  std::vector<Tensor> list;
  for (const std::optional<Tensor>& x : tensors)
    if (x) list.push_back(*x);
  return list;
}

}  // namespace

std::string to_string(const Operation& operation) {
  return std::visit(Overloaded{[](const RunOperation& o) { return to_string(o.command); },
                               [](const CopyOperation& o) {
                                 return "copy of " + describe(o.x) + " to " + describe(o.y);
                               },
                               [](const FillOperation& o) { return "fill of " + describe(o.y); },
                               [](const CallOperation&) { return std::string("call"); }},
                    operation);
}

Accesses accesses(const Operation& operation) {
  return std::visit(
      Overloaded{
          [](const RunOperation& o) {
            return Accesses{.reads = present_of(o.inputs), .writes = present_of(o.outputs)};
          },
          [](const CopyOperation& o) { return Accesses{.reads = {o.x}, .writes = {o.y}}; },
          [](const FillOperation& o) { return Accesses{.reads = {}, .writes = {o.y}}; },
          [](const CallOperation& o) { return Accesses{.reads = o.reads, .writes = o.writes}; }},
      operation);
}

PreparedOperation prepare(const Operation& operation, Context& context) {
  using Work = PreparedOperation::Work;
  return PreparedOperation(
      std::visit(Overloaded{[&](const RunOperation& o) { return Work(prepared(o, context)); },
                            [](const CopyOperation& o) {
                              check_copy(o.x, o.y);
                              return Work(std::make_unique<const CopyOperation>(o));
                            },
                            [](const FillOperation& o) {
                              check_fill(o.y);
                              if (is_on_host(o.y))
                                return Work(std::make_unique<const FillOperation>(o));
                              return Work(of_one_element(o));
                            },
                            [](const CallOperation& o) {
                              if (!o.function)
                                throw StatusError(MOTE_INVALID, "call: the function is empty");
                              return Work(std::make_unique<const CallOperation>(o));
                            }},
                 operation));
}

PreparedOperation::PreparedOperation(BoundCall call) : work_(std::move(call)) {}
PreparedOperation::PreparedOperation(PreparedCommand command) : work_(std::move(command)) {}
PreparedOperation::PreparedOperation(Work work) : work_(std::move(work)) {}
PreparedOperation::PreparedOperation(PreparedOperation&&) noexcept = default;
PreparedOperation& PreparedOperation::operator=(PreparedOperation&&) noexcept = default;
PreparedOperation::~PreparedOperation() = default;

void PreparedOperation::run() {
  if (auto* call = std::get_if<BoundCall>(&work_)) [[likely]]
    return call->run();
  if (auto* command = std::get_if<PreparedCommand>(&work_)) return command->run();
  run_other();
}

/// Runs what no kernel does. A pointer is null after a move.
void PreparedOperation::run_other() {
  const auto there = []<typename T>(const std::unique_ptr<T>& work) -> T& {
    if (work == nullptr) throw StatusError(MOTE_INVALID, "operation: it was moved to another one");
    return *work;
  };
  std::visit(
      Overloaded{
          [](BoundCall& call) { call.run(); }, [](PreparedCommand& command) { command.run(); },
          [&](const std::unique_ptr<const CopyOperation>& o) { copy(there(o).x, there(o).y); },
          [&](const std::unique_ptr<const FillOperation>& o) {
            std::visit([&](auto value) { fill(there(o).y, value); }, there(o).value);
          },
          [&](const std::unique_ptr<const CallOperation>& o) { there(o).function(); }},
      work_);
}

std::string PreparedOperation::text() const {
  if (!own_text_.empty()) return own_text_;
  return std::visit(
      Overloaded{[](const BoundCall& call) { return to_string(call.plan().command()); },
                 [](const PreparedCommand& command) { return to_string(command.command()); },
                 [](const auto& o) {
                   return o != nullptr ? to_string(Operation(*o)) : std::string("moved");
                 }},
      work_);
}

OperationError::OperationError(std::size_t index, mote_status status, const std::string& what)
    : StatusError(status, "operation " + std::to_string(index) + ": " + what), index_(index) {}

void run(std::span<PreparedOperation* const> operations) {
  std::size_t at = 0;
  try {
    for (; at < operations.size(); ++at) {
      if (operations[at] == nullptr) [[unlikely]]
        throw StatusError(MOTE_INVALID, "it is null");
      operations[at]->run();
    }
  } catch (const StatusError& error) {
    throw OperationError(at, error.status(), error.what());
  } catch (const std::bad_alloc&) {
    throw OperationError(at, MOTE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    throw OperationError(at, MOTE_FAILED, error.what());
  } catch (...) {
    throw OperationError(at, MOTE_FAILED, "an exception of an unknown type");
  }
}

}  // namespace mote
