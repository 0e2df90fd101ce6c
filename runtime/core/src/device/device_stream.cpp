// SPDX-License-Identifier: Apache-2.0
#include "device/device_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "device/device_call.h"

namespace mote {

DeviceEvent::DeviceEvent(const Device& device, void* stream) : device_(device) {
  const mote_device& d = device_.raw();
  device_call(d, d.create_event, &event_);
  try {
    device_call(d, d.record, event_, stream);
  } catch (...) {
    device_call_quietly(d.destroy_event, event_);
    throw;
  }
}

DeviceEvent::~DeviceEvent() { device_call_quietly(device_.raw().destroy_event, event_); }

void DeviceEvent::synchronize() const {
  device_call(device_.raw(), device_.raw().synchronize_event, event_);
}

bool DeviceEvent::is_over() const {
  std::int32_t over = 0;
  device_call(device_.raw(), device_.raw().is_over, event_, &over);
  return over != 0;
}

DeviceStream::DeviceStream(const Device& device) : device_(device) {
  device_call(device_.raw(), device_.raw().create_stream, &stream_);
}

DeviceStream::~DeviceStream() {
  device_call_quietly(device_.raw().synchronize, stream_);
  issued_.clear();
  device_call_quietly(device_.raw().destroy_stream, stream_);
}

void DeviceStream::issue(std::function<std::string()> what, const std::function<void()>& body) {
  forget_what_is_over();
  try {
    body();
    auto event = std::make_shared<const DeviceEvent>(device_, stream_);
    const std::lock_guard lock(mutex_);
    issued_.push_back({std::move(event), std::move(what)});
  } catch (...) {
    device_call_quietly(device_.raw().synchronize, stream_);
    throw;
  }
}

std::span<std::byte> DeviceStream::workspace(std::size_t bytes) {
  if (bytes == 0) return {};
  const auto wanted = static_cast<std::int64_t>(bytes);
  if (!workspace_ || workspace_->element_count() < wanted) {
    if (workspace_) device_call(device_.raw(), device_.raw().synchronize, stream_);
    workspace_.reset();
    workspace_.emplace(DType::u8, AxisList{wanted}, device_);
  }
  return {static_cast<std::byte*>(workspace_->data()),
          static_cast<std::size_t>(workspace_->element_count())};
}

void DeviceStream::wait(const DeviceEvent& event) {
  issue([] { return std::string("wait for an event"); },
        [&] { device_call(device_.raw(), device_.raw().wait, stream_, event.raw()); });
}

std::shared_ptr<const DeviceEvent> DeviceStream::latest() const {
  const std::lock_guard lock(mutex_);
  return issued_.empty() ? nullptr : issued_.back().event;
}

bool DeviceStream::is_idle() const {
  const std::shared_ptr<const DeviceEvent> last = latest();
  try {
    return last == nullptr || last->is_over();
  } catch (const StatusError&) {  // synchronize() throws it
    return true;
  }
}

std::size_t DeviceStream::issued_count() const {
  const std::lock_guard lock(mutex_);
  return issued_.size();
}

void DeviceStream::synchronize() {
  const std::shared_ptr<const DeviceEvent> last = latest();
  if (last == nullptr) return;
  try {
    last->synchronize();
  } catch (const StatusError& e) {
    fail(e);
  }
  forget_what_is_over();
}

/// Removes finished work. Tensors are destroyed outside of the lock: giving them back may wait for
/// the device.
void DeviceStream::forget_what_is_over() {
  while (true) {
    std::shared_ptr<const DeviceEvent> first;
    {
      const std::lock_guard lock(mutex_);
      if (issued_.empty()) return;
      first = issued_.front().event;
    }
    try {
      if (!first->is_over()) return;
    } catch (const StatusError& e) {
      fail(e);
    }
    Issued done;
    const std::lock_guard lock(mutex_);
    if (issued_.empty() || issued_.front().event != first) continue;
    done = std::move(issued_.front());
    issued_.pop_front();
  }
}

/// Waits for the work under way, if possible, forgets it, and throws the error; work that another
/// thread issues meanwhile stays.
void DeviceStream::fail(const StatusError& error) {
  const std::string of = under_way();
  const std::shared_ptr<const DeviceEvent> last = latest();
  device_call_quietly(device_.raw().synchronize, stream_);
  std::vector<Issued> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::ranges::find(issued_, last, &Issued::event);
    const auto end = at == issued_.end() ? issued_.begin() : std::next(at);
    gone.assign(std::move_iterator(issued_.begin()), std::move_iterator(end));
    issued_.erase(issued_.begin(), end);
  }
  throw StatusError(error.status(), of + (of.empty() ? "" : ": ") + error.what());
}

/// Names the first few works under way.
std::string DeviceStream::under_way() const {
  constexpr std::size_t kNamed = 4;
  std::deque<Issued> issued;
  {
    const std::lock_guard lock(mutex_);
    issued = issued_;
  }
  std::string text;
  for (std::size_t k = 0; k < issued.size() && k < kNamed; ++k)
    text += (k > 0 ? ", " : "") + issued[k].what();
  if (issued.size() > kNamed) text += ", " + std::to_string(issued.size() - kNamed) + " more";
  return text;
}

}  // namespace mote
