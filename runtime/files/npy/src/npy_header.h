// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: a Python dictionary of three entries.
#pragma once

#include <string>
#include <string_view>

#include "mote/base/dtype.h"
#include "mote/runtime/axes.h"

namespace mote {

struct NpyHeader {
  DType dtype = DType::f32;
  bool big_endian = false;
  bool fortran_order = false;
  AxisList shape;
};

/// Reads "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" with keys in any order.
/// Throws StatusError "npy: header: …".
NpyHeader parse_npy_header(std::string_view text);
std::string to_string(const NpyHeader& header);

}  // namespace mote
