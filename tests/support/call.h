// SPDX-License-Identifier: Apache-2.0
// Helpers to call a kernel directly: tensors with any strides, and a call around them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "mote/base/dlpack.h"
#include "mote/base/kernel.h"

namespace mote::test {

using Shape = std::vector<std::int64_t>;

/// A tensor in memory of its own; elements are read and written as doubles. Gaps between elements
/// keep the value that the memory was filled with.
class Tensor {
 public:
  Tensor(DType dtype, Shape shape, Shape strides, double initial = 0)
      : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)) {
    std::int64_t last = 0;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis)
      if (shape_[axis] > 0) last += (shape_[axis] - 1) * strides_[axis];
    values_.assign(static_cast<std::size_t>(last + 1), initial);
    floats_.assign(values_.begin(), values_.end());
  }
  Tensor(DType dtype, const Shape& shape) : Tensor(dtype, shape, contiguous_strides(shape)) {}

  const Shape& shape() const { return shape_; }
  std::int64_t extent(std::size_t axis) const { return shape_[axis]; }
  void* data() {
    return dtype_ == DType::f32 ? static_cast<void*>(floats_.data()) : values_.data();
  }
  double get(const Shape& index) const { return stored(offset(index)); }
  void set(const Shape& index, double value) {
    values_[offset(index)] = value;
    floats_[offset(index)] = static_cast<float>(value);
  }

  /// Fills with small integers, a pure function of the seed and the index.
  Tensor& fill_integers(std::uint32_t seed) {
    std::uint32_t state = seed * 2654435761U + 12345U;
    for_each_index(shape_, [&](const Shape& index) {
      state = state * 1664525U + 1013904223U;
      set(index, static_cast<double>((state >> 16U) % 7U) - 3);
    });
    return *this;
  }

  /// Counts the values in memory that belong to no element and differ from `initial`.
  int changed_gaps(double initial) const {
    std::vector<bool> is_element(values_.size(), false);
    for_each_index(shape_, [&](const Shape& index) { is_element[offset(index)] = true; });
    int changed = 0;
    for (std::size_t k = 0; k < values_.size(); ++k)
      if (!is_element[k] && stored(k) != initial) ++changed;
    return changed;
  }

  DLTensor view() {
    return {.data = data(),
            .device = {kDLCPU, 0},
            .ndim = static_cast<int>(shape_.size()),
            .dtype = to_dlpack(dtype_),
            .shape = shape_.data(),
            .strides = strides_.data(),
            .byte_offset = 0};
  }

  static void for_each_index(const Shape& shape, const std::function<void(const Shape&)>& visit) {
    for (const std::int64_t extent : shape)
      if (extent == 0) return;
    Shape index(shape.size(), 0);
    for (bool more = true; more;) {
      visit(index);
      more = false;
      for (std::size_t axis = shape.size(); axis-- > 0 && !more;) {
        more = ++index[axis] < shape[axis];
        if (!more) index[axis] = 0;
      }
    }
  }

 private:
  double stored(std::size_t k) const {
    return dtype_ == DType::f32 ? static_cast<double>(floats_[k]) : values_[k];
  }
  std::size_t offset(const Shape& index) const {
    std::int64_t sum = 0;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) sum += index[axis] * strides_[axis];
    return static_cast<std::size_t>(sum);
  }

  DType dtype_;
  Shape shape_, strides_;
  std::vector<double> values_;
  std::vector<float> floats_;
};

/// A call of one op; the tensors must outlive it. A null input is one that is absent.
class Call {
 public:
  Call(const char* op, const std::vector<Tensor*>& inputs, const std::vector<Tensor*>& outputs)
      : op_(op) {
    views_.reserve(inputs.size() + outputs.size());
    for (Tensor* t : inputs) inputs_.push_back(t == nullptr ? nullptr : &keep(*t));
    for (Tensor* t : outputs) outputs_.push_back(&keep(*t));
  }
  Call& integer(const char* name, std::int64_t value) {
    params_.push_back({.name = name, .is_real = 0, .integer = value, .real = 0});
    return *this;
  }
  Call& real(const char* name, double value) {
    params_.push_back({.name = name, .is_real = 1, .integer = 0, .real = value});
    return *this;
  }
  Call& workspace(void* memory, std::size_t bytes) {
    workspace_ = memory;
    workspace_bytes_ = bytes;
    return *this;
  }

  mote_call get() {
    message_.fill('\0');
    return {.size = sizeof(mote_call),
            .op = op_,
            .input_count = static_cast<std::int32_t>(inputs_.size()),
            .output_count = static_cast<std::int32_t>(outputs_.size()),
            .param_count = static_cast<std::int32_t>(params_.size()),
            .reserved = 0,
            .inputs = inputs_.data(),
            .outputs = outputs_.data(),
            .params = params_.data(),
            .workspace = workspace_,
            .workspace_bytes = workspace_bytes_,
            .message = message_.data(),
            .message_bytes = message_.size()};
  }
  mote_status can_run(const mote_kernel& kernel) {
    const mote_call call = get();
    return kernel.can_run(&call);
  }
  mote_status run(const mote_kernel& kernel) {
    const mote_call call = get();
    return kernel.run(&call, nullptr);
  }
  std::string message() const { return message_.data(); }

 private:
  DLTensor& keep(Tensor& tensor) { return views_.emplace_back(tensor.view()); }

  const char* op_;
  std::vector<DLTensor> views_;
  std::vector<const DLTensor*> inputs_;
  std::vector<DLTensor*> outputs_;
  std::vector<mote_param> params_;
  void* workspace_ = nullptr;
  std::size_t workspace_bytes_ = 0;
  std::array<char, 512> message_{};
};

/// Returns the kernel of a backend for an op; null if it has none.
inline const mote_kernel* kernel_of(const mote_backend& backend, const std::string& op) {
  for (std::int32_t k = 0; k < backend.kernel_count; ++k)
    if (op == backend.kernels[k].op) return &backend.kernels[k];
  return nullptr;
}

}  // namespace mote::test
