// SPDX-License-Identifier: Apache-2.0
// The form of a tensor: dtype, extents, strides and device, without memory. Shapes are inferred,
// calls are checked and kernels are chosen by forms alone.
#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/runtime/axes.h"

namespace MOTE_API mote {

class Device;

/// Strides count elements. Two forms are equal if all four members are, so a row-major form differs
/// from one whose axis of extent 1 has another stride.
struct TensorForm {
  /// f32[0], on the host.
  TensorForm() = default;
  /// Row-major, on the host. Throws StatusError "tensor: …" for a dtype that is none, negative
  /// extents, and sizes beyond 2^63-1 bytes.
  TensorForm(DType dtype, const AxisList& shape);
  TensorForm(DType dtype, const AxisList& shape, const Device& device);  ///< row-major, there
  /// Throws StatusError also if the strides are not as many as the extents.
  TensorForm(DType dtype, const AxisList& shape, const AxisList& strides,
             DLDevice device = {kDLCPU, 0});

  int rank() const { return shape.size(); }
  std::int64_t element_count() const;
  /// Returns the number of bytes from the lowest element to the end of the highest; 0 if there is
  /// none.
  std::int64_t bytes() const;
  bool is_row_major() const;  ///< without gaps; the strides are the ones of the first constructor
  bool is_on_host() const { return device.device_type == kDLCPU; }
  std::size_t hash() const;

  friend bool operator==(const TensorForm& a, const TensorForm& b) {
    return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides &&
           a.device.device_type == b.device.device_type && a.device.device_id == b.device.device_id;
  }

  DType dtype = DType::f32;
  AxisList shape = {0};
  AxisList strides = {1};
  DLDevice device = {kDLCPU, 0};
};

/// Returns "f32[2,3]"; strides that are not row-major follow as ":1,2", and a device that is not
/// the host as "@2:0", its DLPack type and number.
std::string to_string(const TensorForm& form);

}  // namespace mote

template <>
struct std::hash<mote::TensorForm> {
  std::size_t operator()(const mote::TensorForm& form) const { return form.hash(); }
};
