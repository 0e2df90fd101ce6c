// SPDX-License-Identifier: Apache-2.0
// The tensors of a graph of the fake cuDNN while it runs.
#pragma once

#include <cmath>
#include <map>
#include <memory>

#include "fake_cudnn_graph.h"

namespace fake::cudnn {

constexpr int kInt32 = 4, kBoolean = 11;

inline double as_float(double value) { return static_cast<double>(static_cast<float>(value)); }

inline TensorDesc described(const BackendDesc& t) {
  return {t.value<int>(901), t.values<std::int64_t>(902), t.values<std::int64_t>(903)};
}

/// A value as an element of that type.
inline double rounded(int type, double value) {
  if (type == kInt32 || type == kBoolean) return value;
  if (type == 2) return mote::from_f16(mote::to_f16(value));
  return type == 9 ? mote::from_bf16(mote::to_bf16(value)) : as_float(value);
}

inline bool is_packed(const TensorDesc& t) {
  std::int64_t inner = 1;
  for (std::size_t k = t.dims.size(); k-- > 0; inner *= t.dims[k])
    if (t.dims[k] != 1 && t.strides[k] != inner) return false;
  return true;
}

inline void require(bool is_legal, int status = kBadParam) {
  if (!is_legal) throw Unsupported(status);
}

/// One tensor of the graph while it runs: in the GPU's memory, a number of the caller's, or within
/// the graph.
class Slot {
 public:
  Slot(const BackendDesc& tensor, void* data)
      : desc_(described(tensor)), is_virtual_(tensor.value<bool>(907)) {
    if (tensor.value<bool>(908)) {
      number_ = static_cast<double>(*static_cast<const float*>(data));
      is_number_ = true;
    } else if (!is_virtual_) {
      const auto alignment = static_cast<std::uint64_t>(tensor.value<std::int64_t>(900));
      require(data != nullptr && alignment != 0 &&
              reinterpret_cast<std::uint64_t>(data) % alignment == 0);
      elements_ = std::make_unique<View>(desc_, data);
    }
  }
  const TensorDesc& desc() const { return desc_; }
  double get(const Dims& index) const {
    const Dims at = repeated(index, desc_.dims);
    return is_number_ ? number_ : is_virtual_ ? held_.at(at) : elements_->get(at);
  }
  void set(const Dims& index, double value) {
    if (is_virtual_)
      held_[index] = rounded(desc_.type, value);
    else
      elements_->set(index, value);
  }

 private:
  TensorDesc desc_;
  bool is_virtual_, is_number_ = false;
  double number_ = 0;
  std::unique_ptr<View> elements_;
  std::map<Dims, double> held_;
};

/// Those of a graph, by their ids.
class Slots {
 public:
  explicit Slots(const std::map<std::int64_t, void*>& data) : data_(data) {}
  /// The tensor of that attribute; there is one.
  Slot& of(const BackendDesc& op, int name) {
    const BackendDesc& tensor = *op.link(name);
    const auto id = tensor.value<std::int64_t>(906);
    const auto at = data_.find(id);
    require(at != data_.end() || tensor.value<bool>(907));
    return slots_.try_emplace(id, tensor, at == data_.end() ? nullptr : at->second).first->second;
  }

 private:
  const std::map<std::int64_t, void*>& data_;
  std::map<std::int64_t, Slot> slots_;
};

inline Dims sum(const Dims& a, const Dims& b) {
  Dims at = a;
  for (std::size_t k = 0; k < at.size(); ++k) at[k] += b[k];
  return at;
}

/// Convolutions, by their attributes.
void run_convolution(const BackendDesc& operation, Slots& slots);
/// Throws Unsupported where the manual forbids the operation.
void check_convolution(const BackendDesc& operation);
/// Norms, by their attributes.
void run_norm(const BackendDesc& operation, Slots& slots);
void run_norm_gradient(const BackendDesc& operation, Slots& slots);
/// Throw Unsupported where the manual forbids the operation.
void check_norm(const BackendDesc& operation);
void check_norm_gradient(const BackendDesc& operation);

}  // namespace fake::cudnn
