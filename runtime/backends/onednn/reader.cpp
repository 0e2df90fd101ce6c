// SPDX-License-Identifier: Apache-2.0
// Converts DLTensors to descs: they are row-major if there are no strides, and strides of axes of
// extent 1, which mean nothing, are set so that oneDNN recognises a dense tensor.
#include "reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mote/base/dlpack.h"

namespace mote::onednn {
namespace {

/// Returns the type, which is never i32: oneDNN's maximum of it goes through f32, which holds 24
/// bits.
memory::data_type type_of(const DLTensor& tensor, bool any_type, const std::string& name) {
  const std::optional<DType> dtype = from_dlpack(tensor.dtype);
  if (dtype == DType::f32) return memory::data_type::f32;
  if (any_type && dtype == DType::bf16) return memory::data_type::bf16;
  if (any_type && dtype == DType::i8) return memory::data_type::s8;
  if (any_type && (dtype == DType::u8 || dtype == DType::boolean)) return memory::data_type::u8;
  decline(fmt::format("{} is of a dtype that this kernel does not take", name));
}

memory::dims tidy_strides(const memory::dims& dims, memory::dims strides) {
  memory::dim inner = 1;
  for (std::size_t k = dims.size(); k-- > 0;) {
    if (dims[k] == 1) strides[k] = inner;
    inner = strides[k] * dims[k];
  }
  return strides;
}

/// Sets the strides of axes of extent 1 to the span of the whole tensor, which suits any other
/// strides.
memory::dims far_strides(const memory::dims& dims, memory::dims strides) {
  memory::dim span = 1;
  for (std::size_t k = 0; k < dims.size(); ++k)
    if (dims[k] != 1) span = std::max(span, dims[k] * strides[k]);
  for (std::size_t k = 0; k < dims.size(); ++k)
    if (dims[k] == 1) strides[k] = span;
  return strides;
}

}  // namespace

void decline(std::string why) { throw Declined{backend::unsupported(std::move(why))}; }

View View::permuted(std::initializer_list<std::size_t> order) const {
  View v = *this;
  std::size_t to = 0;
  for (const std::size_t from : order) {
    v.dims[to] = dims[from];
    v.strides[to++] = strides[from];
  }
  return v;
}

View View::split(std::size_t axis, memory::dim outer) const {
  if (dims[axis] % outer != 0)
    decline(fmt::format("axis {} of {} is no multiple of {}", axis, name, outer));
  View v = *this;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  v.dims[axis] /= outer;
  v.dims.insert(v.dims.begin() + at, outer);
  v.strides.insert(v.strides.begin() + at, v.dims[axis + 1] * strides[axis]);
  return v;
}

View View::with_axis(std::size_t axis) const {
  View v = *this;
  v.dims.insert(v.dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  v.strides.insert(v.strides.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return v;
}

Argument View::as(int number) const {
  const auto desc_with = [&](const memory::dims& by) {
    return memory::desc(dims, type, by, /*allow_empty=*/true);
  };
  memory::desc desc = desc_with(tidy_strides(dims, strides));
  if (desc.is_zero()) desc = desc_with(far_strides(dims, strides));
  if (desc.is_zero())
    decline(fmt::format("{} has strides {}, which oneDNN does not take", name,
                        fmt::join(strides, ",")));
  return {.number = number, .lies = desc, .data = data, .is_output = is_output};
}

View Reader::input(int k, int rank, bool any_type) const {
  return view(k < call_.input_count ? call_.inputs[k] : nullptr, rank, any_type,
              fmt::format("input {}", k));
}

View Reader::output(int k, int rank, bool any_type) const {
  View v = view(k < call_.output_count ? call_.outputs[k] : nullptr, rank, any_type,
                fmt::format("output {}", k));
  v.is_output = true;
  return v;
}

View Reader::view(const DLTensor* tensor, int rank, bool any_type, std::string name) {
  if (tensor == nullptr) throw Declined{backend::invalid(name + " is missing")};
  if (tensor->ndim > rank || tensor->ndim < 0)
    throw Declined{
        backend::invalid(fmt::format("{} has {} axes, expected {}", name, tensor->ndim, rank))};
  if (tensor->device.device_type != kDLCPU) decline(name + " is not in the host's memory");
  View v{.name = std::move(name), .type = {}, .dims = {}, .strides = {}};
  v.type = type_of(*tensor, any_type, v.name);
  v.dims.assign(static_cast<std::size_t>(rank - tensor->ndim), 1);
  v.strides.assign(v.dims.size(), 1);
  const auto own = strides_of(*tensor);
  for (std::size_t k = 0; k < own.size(); ++k) {
    const std::int64_t extent = tensor->shape[k];
    if (extent < 0)
      throw Declined{backend::invalid(fmt::format("axis {} of {} is negative", k, v.name))};
    if (extent == 0) decline(v.name + " is empty");
    if (own[k] < 0 && extent > 1) decline(v.name + " has a negative stride");
    v.dims.push_back(extent);
    v.strides.push_back(own[k]);
  }
  if (tensor->data != nullptr) v.data = static_cast<char*>(tensor->data) + tensor->byte_offset;
  return v;
}

memory::dim Reader::integer(const std::string& name, memory::dim otherwise,
                            memory::dim least) const {
  std::int64_t value = otherwise;
  if (auto no = backend::read_integer(call_, name.c_str(), least, value)) throw Declined{*no};
  return value;
}

float Reader::real(const char* name, double otherwise, bool exact) const {
  double value = otherwise;
  if (auto no = backend::read_real(call_, name, value)) throw Declined{*no};
  const auto narrow = static_cast<float>(value);
  if (exact && static_cast<double>(narrow) != value)
    decline(fmt::format("parameter {} is {}, which is no float", name, value));
  return narrow;
}

}  // namespace mote::onednn
