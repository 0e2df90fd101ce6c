// SPDX-License-Identifier: Apache-2.0
// The form of a tensor: all that can be known of it before it has memory. Forms are what shape
// inference takes and gives.
#pragma once

#include <string>

#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/runtime/axes.h"

namespace MOTE_API mote {

struct TensorForm {
  TensorForm() = default;
  /// A row-major form on the host. Throws StatusError for negative extents, and if a size
  /// overflows.
  TensorForm(DType dtype, const AxisList& shape);
  TensorForm(DType dtype, const AxisList& shape, const AxisList& strides,
             DLDevice device = {kDLCPU, 0});

  DType dtype = DType::f32;
  AxisList shape = {0};
  AxisList strides = {1};  ///< count elements
  DLDevice device = {kDLCPU, 0};

  friend bool operator==(const TensorForm& a, const TensorForm& b) {
    return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides &&
           a.device.device_type == b.device.device_type && a.device.device_id == b.device.device_id;
  }
};

/// Returns "f32[2,3]"; strides that are not row-major follow as ":1,2", and a device that is not
/// the host as "@2:0", its DLPack type and number.
std::string to_string(const TensorForm& form);

}  // namespace mote
