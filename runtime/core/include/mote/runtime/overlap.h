// SPDX-License-Identifier: Apache-2.0
// Decides whether two strided views of one memory share a byte, by their locations alone.
#pragma once

#include <cstdint>

#include "mote/base/export.h"
#include "mote/runtime/axes.h"
#include "mote/runtime/tensor_form.h"

namespace MOTE_API mote {

/// The locations of a view's elements: at first + stride[0]·i[0] + stride[1]·i[1] + …, in bytes,
/// each of `element_bytes` bytes. `first` counts from any origin that is common to the views
/// compared.
struct ViewPlaces {
  ViewPlaces() = default;
  ViewPlaces(const TensorForm& form, std::int64_t first_byte);

  std::int64_t first = 0;
  std::int64_t element_bytes = 1;
  AxisList shape = {0};
  AxisList strides = {1};
  std::int64_t low = 0;   ///< the lowest byte
  std::int64_t high = 0;  ///< the byte after the highest; equal to low if there is no element

  /// True if the elements fill everything between low and high.
  bool is_dense() const;
  friend bool operator==(const ViewPlaces&, const ViewPlaces&) = default;
};

/// True if some byte belongs to an element of both. It decides a bounded linear equation of at most
/// one unknown for each axis: exact, except that it says true after 2^20 steps of a search, which
/// needs many axes whose strides have nothing in common.
bool share_bytes(const ViewPlaces& a, const ViewPlaces& b);

}  // namespace mote
