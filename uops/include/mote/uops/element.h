// SPDX-License-Identifier: Apache-2.0
// Reads and writes elements of tensors in memory as numbers, by dtype.
#pragma once

#include "mote/base/export.h"
#include "mote/uops/uop.h"

namespace MOTE_API mote {

/// Returns element k of an array of dtype; the memory need not be aligned.
Number load_element(const void* data, DType dtype, std::int64_t k);
/// Stores n as element k, rounded or wrapped to dtype (store_as).
void store_element(void* data, DType dtype, std::int64_t k, const Number& n);

}  // namespace mote
