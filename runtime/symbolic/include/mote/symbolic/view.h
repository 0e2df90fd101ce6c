// SPDX-License-Identifier: Apache-2.0
// Views of symbols: the same memory through other extents and strides, as the views of a Tensor.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mote/base/export.h"
#include "mote/runtime/tensor.h"
#include "mote/runtime/tensor_form.h"

namespace MOTE_API mote {

enum class ViewKind : std::uint8_t { slice, select, permute, broadcast, reshape };

/// One step from a tensor to a view of it. `numbers` are those of Tensor's function of that name:
/// slice axis, begin, count, step; select axis, index; permute order; broadcast and reshape shape.
struct ViewStep {
  ViewKind kind = ViewKind::reshape;
  AxisList numbers;

  friend bool operator==(const ViewStep&, const ViewStep&) = default;
};

/// "slice", "select", "permute", "broadcast", "reshape".
const char* name(ViewKind kind);

/// A part of a tensor's memory: a form, and where it begins in elements from the tensor's first.
struct ViewRegion {
  TensorForm form;
  std::int64_t offset = 0;

  friend bool operator==(const ViewRegion&, const ViewRegion&) = default;
};

/// Returns the region of the view. Throws StatusError as Tensor's function does.
ViewRegion apply(const ViewStep& step, const ViewRegion& region);
/// Returns the view of the tensor.
Tensor apply(const ViewStep& step, const Tensor& x);

/// True if an element of one region is an element of the other, in one tensor's memory
/// (share_bytes(), mote/runtime/overlap.h).
bool overlap(const ViewRegion& a, const ViewRegion& b);
std::int64_t element_count(const TensorForm& form);

}  // namespace mote
