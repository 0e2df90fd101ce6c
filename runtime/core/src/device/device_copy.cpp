// SPDX-License-Identifier: Apache-2.0
#include "device/device_copy.h"

#include <cstdint>
#include <span>
#include <string>

#include "device/device_call.h"
#include "mote/base/dlpack.h"
#include "tensor/lines.h"
#include "tensor/view.h"

namespace mote {
namespace {

std::size_t span_of(const Tensor& x) { return memory_of(x.dl()).size(); }

bool has_gaps(const Tensor& x) {
  const auto elements = static_cast<std::size_t>(x.element_count());
  return span_of(x) != elements * size_of(x.dtype());
}

/// True if a copy of the bytes is a copy of the elements: one dtype, the same strides, no gaps.
bool alike(const Tensor& x, const Tensor& y) {
  if (x.dtype() != y.dtype() || has_gaps(y) || !y.is_distinct()) return false;
  for (int axis = 0; axis < y.rank(); ++axis)
    if (y.extent(axis) != 1 && x.stride(axis) != y.stride(axis)) return false;
  return true;
}

void transfer(const Device& device, const Tensor& x, const Tensor& y, void* to, const void* from,
              std::size_t bytes, void* stream) {
  if (bytes == 0) return;
  device_call(device.raw(), device.raw().copy, to, y.device(), from, x.device(), bytes, stream);
}

/// Moves everything between the first and the last element of x; y has the same span.
void transfer_span(const Device& device, const Tensor& x, const Tensor& y, void* stream) {
  transfer(device, x, y, memory_of(y.dl()).data(), memory_of(x.dl()).data(), span_of(x), stream);
}

/// Moves lines, or single elements if they are not adjacent, so that gaps of y stay unchanged.
void transfer_lines(const Device& device, const Tensor& x, const Tensor& y, void* stream) {
  const auto size = static_cast<std::int64_t>(size_of(y.dtype()));
  each_line(x, y,
            [&](const std::byte* from, std::int64_t x_step, std::byte* to, std::int64_t y_step,
                std::int64_t count) {
              const bool adjacent = x_step == size && y_step == size;
              const std::int64_t parts = adjacent ? 1 : count;
              const std::int64_t bytes = adjacent ? count * size : size;
              for (std::int64_t k = 0; k < parts; ++k)
                transfer(device, x, y, to + k * y_step, from + k * x_step,
                         static_cast<std::size_t>(bytes), stream);
            });
}

}  // namespace

Device device_of(const Tensor& x, const char* op) {
  if (const std::optional<Device> device = Device::of(x.device())) return *device;
  throw StatusError(MOTE_UNSUPPORTED,
                    std::string("tensor: ") + op + " of " + describe(x) +
                        ": it is not in the host's memory, and no plug-in that was loaded offers "
                        "its device");
}

Tensor image_of(const Tensor& x, const std::optional<Device>& on) {
  const auto memory_for = [&](const AxisList& shape) {
    return on ? Tensor(x.dtype(), shape, *on) : Tensor(x.dtype(), shape);
  };
  const std::span<std::byte> memory = memory_of(x.dl());
  if (memory.empty()) return memory_for(x.shape());
  const auto size = static_cast<std::int64_t>(size_of(x.dtype()));
  const Tensor all = memory_for({static_cast<std::int64_t>(memory.size()) / size});
  const std::int64_t before = static_cast<std::byte*>(x.data()) - memory.data();
  return reshaped_view(all, x.shape(), x.strides(), before / size);
}

std::vector<Tensor> issue_copy(const Device& device, const Tensor& x, const Tensor& y,
                               void* stream) {
  if (y.element_count() == 0) return {};
  const bool within = is_on(x, device) && is_on(y, device);
  if (alike(x, y) && !(within && overlap(x, y))) {
    transfer_span(device, x, y, stream);
    return {x, y};
  }
  Tensor staged = x;
  if (is_on(x, device)) {
    staged = image_of(x);
    transfer_span(device, x, staged, stream);
    device_call(device.raw(), device.raw().synchronize, stream);
  }
  if (!is_on(y, device)) {
    copy(staged, y);
    return {};
  }
  const Tensor image = image_of(y);
  copy(staged, image);
  if (has_gaps(y))
    transfer_lines(device, image, y, stream);
  else
    transfer_span(device, image, y, stream);
  return {image, y};
}

void copy_by_device(const Tensor& x, const Tensor& y) {
  const Device device = device_of(is_on_host(x) ? y : x, "copy");
  const bool both = is_on(y, device) || is_on_host(y);
  if (!both) {  // the two are on different devices
    const Tensor between = image_of(x);
    copy_by_device(x, between);
    return copy_by_device(between, y);
  }
  const std::vector<Tensor> kept = issue_copy(device, x, y, nullptr);
  device_call(device.raw(), device.raw().synchronize, static_cast<void*>(nullptr));
}

}  // namespace mote
