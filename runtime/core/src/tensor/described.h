// SPDX-License-Identifier: Apache-2.0
// Forms as DLTensors without data, as check_inputs() and kernels take them.
#pragma once

#include <span>
#include <vector>

#include "mote/base/dlpack.h"
#include "mote/runtime/tensor.h"
#include "mote/runtime/tensor_form.h"

namespace mote {

inline DLTensor described(const TensorForm& form) {
  return {.data = nullptr,
          .device = form.device,
          .ndim = form.rank(),
          .dtype = to_dlpack(form.dtype),
          // DLPack's pointers are not const; nothing writes through them.
          .shape = const_cast<std::int64_t*>(form.shape.begin()),
          .strides = const_cast<std::int64_t*>(form.strides.begin()),
          .byte_offset = 0};
}

/// Null stands for a tensor that is left out. The forms must outlive this. Throws StatusError for a
/// form that no tensor can have: its members are public.
class DescribedTensors {
 public:
  explicit DescribedTensors(std::span<const TensorForm* const> forms) : tensors_(forms.size()) {
    for (std::size_t k = 0; k < forms.size(); ++k) {
      if (forms[k] != nullptr) {
        checked_span(forms[k]->dtype, forms[k]->shape, forms[k]->strides);
        tensors_[k] = described(*forms[k]);
      }
      list_.push_back(forms[k] != nullptr ? &tensors_[k] : nullptr);
    }
  }
  DescribedTensors(const DescribedTensors&) = delete;
  DescribedTensors& operator=(const DescribedTensors&) = delete;

  std::span<const DLTensor* const> list() const { return list_; }
  DLTensor& operator[](std::size_t k) { return tensors_[k]; }

 private:
  std::vector<DLTensor> tensors_;
  std::vector<const DLTensor*> list_;
};

}  // namespace mote
