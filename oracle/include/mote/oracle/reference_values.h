// SPDX-License-Identifier: Apache-2.0
// The values that the reference computes for a case, as data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/case.h"

namespace MOTE_API mote {

struct TensorValues {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> elements;  ///< row-major, whatever layout the case has
  Number at(std::int64_t linear) const;
  std::int64_t count() const;
};

class Dense;
/// The elements of dense tensors; empty for those that the call leaves out.
std::vector<TensorValues> values_of(const std::vector<CaseTensor>& tensors,
                                    const std::vector<Dense>& dense);

struct ReferenceValues {
  std::vector<TensorValues> inputs;
  std::vector<TensorValues> outputs;  ///< the outputs that the call asks for
  std::string by;                     ///< "generated kernel", "C compiled by cc", "interpreter"
};

/// Throws Error for a case that does not fit into memory, and if the reference fails. memory_limit:
/// bytes, instead of the available memory.
ReferenceValues reference_values(const Case& c,
                                 std::optional<std::int64_t> memory_limit = std::nullopt);

}  // namespace mote
