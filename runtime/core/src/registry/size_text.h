// SPDX-License-Identifier: Apache-2.0
// The extent of an axis as text ("CO*$groups", "(H + $pads0 - KH)/$stride0 + 1"), compiled once:
// sizes and parameters become indices into lists of names. Its value is a linear form in one size,
// so that a known extent can be solved for the size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mote {

/// The names that texts of one op mention, in the order of their first appearance.
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

class SizeText {
 public:
  /// Parses sums, differences, products, floor division, remainders, min, max and parentheses over
  /// names, $parameters and numbers. Throws StatusError MOTE_INVALID for anything else.
  SizeText(std::string_view text, SizeNames& names);

  /// Returns nothing if the value is no linear form in one unknown size. Throws StatusError
  /// MOTE_INVALID if it overflows 64 bits, or divides by less than 1.
  std::optional<LinearForm> evaluate(std::span<const std::optional<std::int64_t>> sizes,
                                     std::span<const std::int64_t> params) const;
  const std::string& text() const { return text_; }

 private:
  friend class SizeTextParser;
  enum class Kind : std::uint8_t { number, size, param, add, sub, mul, div, mod, min, max };
  struct Step {  // in postfix order
    Kind kind;
    std::int64_t value;
  };

  LinearForm joined(Kind kind, const LinearForm& a, const LinearForm& b) const;

  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace mote
