// SPDX-License-Identifier: Apache-2.0
// Writes a real as the shortest text that reads back as the same value.
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace mote {

inline std::string real_text(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace mote
