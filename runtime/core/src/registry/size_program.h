// SPDX-License-Identifier: Apache-2.0
// The program of an axis's extent ("CO*$groups", "(H + $pads0 - KH)/$stride0 + 1"), as mote-gen
// writes it: sizes and parameters become indices into lists of names. Its value is a linear form in
// one size, so that a known extent can be solved for the size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mote/base/ops.h"

namespace mote {

/// The names that programs of one op mention, in the order of their first appearance.
struct SizeNames {
  std::vector<std::string> sizes;
  std::vector<std::string> params;
};

/// scale * (the size with that index) + offset; a number has the scale 0.
struct LinearForm {
  std::int64_t scale = 0;
  std::int64_t offset = 0;
  int size = -1;
};

/// Returns why the axis has no extent; nullptr if its program leaves one value, or it is a size.
const char* size_fault(const mote_op_tensor& tensor, int axis);

class SizeProgram {
 public:
  /// Throws StatusError MOTE_INVALID if there is a size_fault. The tensor must outlive the program.
  SizeProgram(const mote_op_tensor& tensor, int axis, SizeNames& names);

  /// Returns nothing if the value is no linear form in one unknown size. Throws StatusError
  /// MOTE_INVALID if it overflows 64 bits, or divides by less than 1.
  std::optional<LinearForm> evaluate(std::span<const std::optional<std::int64_t>> sizes,
                                     std::span<const std::int64_t> params) const;
  const char* text() const { return text_; }

 private:
  struct Step {
    std::int32_t code;   ///< mote_size_code
    std::int64_t value;  ///< the number, or the index of the name
  };

  LinearForm combined(std::int32_t code, const LinearForm& a, const LinearForm& b) const;
  [[noreturn]] void fail(const std::string& what) const;

  const char* text_;
  std::vector<Step> steps_;
};

}  // namespace mote
