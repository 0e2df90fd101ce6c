// SPDX-License-Identifier: Apache-2.0
// Gives operations to a stream: one task on the host; on a device one for each run of operations of
// one kind, those that its stream takes and those that the host does.
#include <memory>
#include <vector>

#include "device/device_copy.h"
#include "device/device_stream.h"
#include "mote/base/overloaded.h"
#include "mote/runtime/operation.h"
#include "mote/runtime/stream.h"
#include "stream/workers.h"

namespace mote {
namespace {

bool are_for(const Device& device, const Tensor& x, const Tensor& y) {
  return (is_on(x, device) || is_on(y, device)) && (is_on(x, device) || is_on_host(x)) &&
         (is_on(y, device) || is_on_host(y));
}

}  // namespace

/// True if the work can be put into a stream of the device, without a wait.
bool PreparedOperation::may_issue(const Device& device) const {
  return std::visit(
      Overloaded{[&](const BoundCall& call) { return call.plan().device() == device; },
                 [&](const PreparedCommand& command) { return command.device() == device; },
                 [&](const std::unique_ptr<const CopyOperation>& o) {
                   return o != nullptr && are_for(device, o->x, o->y);
                 },
                 [](const auto&) { return false; }},
      work_);
}

/// Puts the work into the stream of the device; adds what must live until it is done.
void PreparedOperation::issue(DeviceStream& stream, std::vector<Tensor>& kept) {
  std::visit(Overloaded{[&](BoundCall& call) {
                          call.run_in(stream.raw(),
                                      stream.workspace(call.plan().workspace_bytes()));
                        },
                        [&](PreparedCommand& command) {
                          command.run_in(stream.raw(), stream.workspace(command.workspace_bytes()));
                        },
                        [&](const std::unique_ptr<const CopyOperation>& o) {
                          const std::vector<Tensor> needed = issue_copy(
                              stream.device(), o->x.broadcast_to(o->y.shape()), o->y, stream.raw());
                          kept.insert(kept.end(), needed.begin(), needed.end());
                        },
                        [&](const auto&) { run(); }},
             work_);
}

/// Part of a list, with the position of its first operation.
class OperationList {
 public:
  OperationList(std::span<PreparedOperation* const> all, std::size_t begin, std::size_t end)
      : all_(all), begin_(begin), end_(end) {}

  static bool may_issue(const PreparedOperation& operation, const Device& device) {
    return operation.may_issue(device);
  }
  void run_on_host() const {
    try {
      mote::run(all_.subspan(begin_, end_ - begin_));
    } catch (const OperationError& error) {
      if (begin_ == 0) throw;
      const std::string what = error.what();
      throw OperationError(begin_ + error.index(), error.status(),
                           what.substr(what.find(": ") + 2));
    }
  }
  void issue(DeviceStream& stream) const {
    auto kept = std::make_shared<std::vector<Tensor>>();
    stream.issue([kept, list = *this] { return list.text(); },
                 [&] {
                   for (std::size_t k = begin_; k < end_; ++k) issue_one(k, stream, *kept);
                 });
  }

 private:
  void issue_one(std::size_t k, DeviceStream& stream, std::vector<Tensor>& kept) const {
    try {
      all_[k]->issue(stream, kept);
    } catch (const StatusError& error) {
      const std::string& own = all_[k]->own_text_;
      if (!own.empty()) throw StatusError(error.status(), own + ": " + error.what());
      throw OperationError(k, error.status(), error.what());
    }
  }
  std::string text() const {
    const PreparedOperation& operation = *all_[begin_];
    const bool is_one = end_ - begin_ == 1;
    if (is_one && !operation.own_text_.empty()) return operation.own_text_;
    const std::string first = "operation " + std::to_string(begin_);
    if (is_one) return first + " (" + operation.text() + ")";
    return "operations " + std::to_string(begin_) + ".." + std::to_string(end_ - 1);
  }

  std::span<PreparedOperation* const> all_;
  std::size_t begin_, end_;
};

void run(std::span<PreparedOperation* const> operations, Stream& stream) {
  const std::optional<Device> device = stream.device();
  for (std::size_t k = 0; k < operations.size(); ++k)
    if (operations[k] == nullptr) throw OperationError(k, MOTE_INVALID, "it is null");
  if (operations.empty()) return;
  if (!device) return stream.enqueue([operations] { run(operations); });
  DeviceStream* const on = &*stream.state_->device;  // the state exists as long as its work does
  for (std::size_t begin = 0, end = 0; begin < operations.size(); begin = end) {
    const bool issues = OperationList::may_issue(*operations[begin], *device);
    while (end < operations.size() && OperationList::may_issue(*operations[end], *device) == issues)
      ++end;
    const OperationList list(operations, begin, end);
    if (issues)
      stream.give([list, on] { list.issue(*on); }, true);
    else
      stream.give([list] { list.run_on_host(); }, false);
  }
}

}  // namespace mote
