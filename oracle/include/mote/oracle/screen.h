// SPDX-License-Identifier: Apache-2.0
// The screen that shows a report: its width, and whether it has colours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mote/base/export.h"

namespace MOTE_API mote {

constexpr std::size_t kMaxColumns = 100;  ///< the maximum of a report, however wide the screen

struct Screen {
  std::size_t columns = kMaxColumns;
  bool colour = false;
};

enum class Colour : std::uint8_t { none, bold, red, green, yellow };

/// The text in that colour, if the screen has colours.
std::string painted(std::string_view text, Colour colour, const Screen& screen);

}  // namespace mote
