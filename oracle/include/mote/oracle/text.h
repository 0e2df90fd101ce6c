// SPDX-License-Identifier: Apache-2.0
// Formats numbers, counts and foreign bytes for reports, and wraps text to a width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mote/base/export.h"
#include "mote/uops/uop.h"

namespace MOTE_API mote {

/// The shortest text that reads back to the same bits; "nan" for every NaN, whatever its sign.
std::string number_text(double value);
std::string number_text(const Number& number);

/// "1 element", "5 elements".
std::string counted(std::int64_t count, std::string_view thing);

/// The text with each byte that is not part of valid UTF-8 replaced by \xNN.
std::string valid_utf8(std::string_view text);
bool is_utf8(std::string_view text);

/// The number of columns of a text on a terminal: one for each character of UTF-8.
std::size_t columns_of(std::string_view text);

/// The number of bytes of the text's first characters that fit into that number of columns.
std::size_t bytes_of_columns(std::string_view text, std::size_t columns);
/// The code point of the text, which is one character.
std::uint32_t code_point(std::string_view character);

/// The text in lines of at most `width` columns, each with its newline; all but the first begin
/// with `indent` blanks. Lines break at blanks, and a word longer than a line breaks behind the
/// last of "/,._-" that fits, or else anywhere.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace mote
