// SPDX-License-Identifier: Apache-2.0
// The lengths of the rows of sequences: cuDNN takes them from the host, so a run waits for them.
// And the order of their steps.
#include <algorithm>

#include "cuda/device.h"
#include "recurrent.h"

namespace mote::cudnn {

RowLengths::RowLengths(const Reader& call, int k, const Layer& layer) : layer_(layer) {
  if (!call.has_input(k)) return;
  const Tensor lengths = call.input(k, "lengths", 1, DType::i64);
  nvidia::require_dims(lengths, {layer.batch});
  if (!nvidia::is_dense(lengths)) decline(lengths.text() + " has gaps");
  slot_ = lengths.slot;
  const std::vector<std::int64_t> dims = {1, 1, 1, layer.states};
  row_ = describe(
      {.name = "row", .dtype = layer.dtype, .dims = dims, .strides = packed_strides(dims)});
}

std::vector<int> RowLengths::read(const OnDevice& at) const {
  if (!slot_) return {};
  std::vector<std::int64_t> given(static_cast<std::size_t>(layer_.batch));
  const auto device = cuda::Device::open();
  const cuda::Driver& driver = device->driver();
  driver.check(
      driver.calls().copy_out(given.data(), reinterpret_cast<cuda::DevicePointer>(at.data[*slot_]),
                              given.size() * sizeof(std::int64_t), at.stream),
      "cuMemcpyDtoHAsync");
  driver.check(driver.calls().synchronize(at.stream), "cuStreamSynchronize");
  std::vector<int> lengths;
  for (const std::int64_t length : given)
    lengths.push_back(static_cast<int>(std::clamp<std::int64_t>(length, 0, layer_.steps)));
  return lengths;
}

void RowLengths::keep_states(Handle* handle, const std::vector<int>& lengths, const void* from,
                             void* to) const {
  const std::size_t bytes = static_cast<std::size_t>(layer_.states) * size_of(layer_.dtype);
  for (std::size_t row = 0; row < lengths.size(); ++row)
    if (lengths[row] == 0)
      calls().transform(handle, one(layer_.dtype), row_.get(),
                        static_cast<const char*>(from) + row * bytes, zero(layer_.dtype),
                        row_.get(), static_cast<char*>(to) + row * bytes);
}

void RowLengths::clear_states(Handle* handle, const std::vector<int>& lengths, void* states) const {
  const std::size_t bytes = static_cast<std::size_t>(layer_.states) * size_of(layer_.dtype);
  for (std::size_t row = 0; row < lengths.size(); ++row)
    if (lengths[row] == 0)
      calls().set_all(handle, row_.get(), static_cast<char*>(states) + row * bytes,
                      zero(layer_.dtype));
}

Reversal::Reversal(const Reader& call, const Layer& layer)
    : layer_(layer), is_asked_(call.integer("backwards", 0) != 0) {
  if (is_asked_ && layer.has_lengths)
    decline("rows with lengths go backwards from different steps");
}

void Reversal::copy(const OnDevice& at, const void* from, void* to, std::int64_t extent) const {
  const auto bytes = static_cast<std::size_t>(layer_.batch * extent) * size_of(layer_.dtype);
  const auto device = cuda::Device::open();
  const cuda::Driver& driver = device->driver();
  const auto first = reinterpret_cast<cuda::DevicePointer>(from);
  const auto target = reinterpret_cast<cuda::DevicePointer>(to);
  const auto steps = static_cast<std::size_t>(layer_.steps);
  for (std::size_t t = 0; t < steps; ++t)
    driver.check(
        driver.calls().copy(target + (steps - 1 - t) * bytes, first + t * bytes, bytes, at.stream),
        "cuMemcpyDtoDAsync");
}

bool are_empty(const std::vector<int>& lengths) {
  return !lengths.empty() && std::ranges::all_of(lengths, [](int length) { return length == 0; });
}

}  // namespace mote::cudnn
