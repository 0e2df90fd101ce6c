// SPDX-License-Identifier: Apache-2.0
// Checks UTF-8 by the table of the Unicode Standard: no surrogates, no overlong forms, nothing
// above U+10FFFF.
#include "mote/oracle/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mote {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// The number of bytes of the character at the front; 0 if there is none.
std::size_t character_at(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t k = 1; k < size; ++k)
    if (byte_at(text, k) < 0x80 || byte_at(text, k) > 0xbf) return 0;
  const unsigned char second = byte_at(text, 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : size;
}

/// The end of the line that begins with the text.
std::size_t end_of_line(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return text.size();
  const std::size_t most = bytes_of_columns(text, columns);
  if (text[most] == ' ') return most;
  if (const std::size_t blank = text.rfind(' ', most); blank != text.npos && blank > 0)
    return blank;
  const std::size_t separator = text.find_last_of("/,._-", most - 1);
  return separator == text.npos ? most : separator + 1;
}

}  // namespace

std::size_t bytes_of_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (; columns > 0 && at < text.size(); --columns)
    at += std::max<std::size_t>(character_at(text.substr(at)), 1);
  return at;
}

std::uint32_t code_point(std::string_view character) {
  const std::size_t size = character_at(character);
  std::uint32_t code = byte_at(character, 0) & (size > 1 ? 0x7fU >> size : 0x7fU);
  for (std::size_t k = 1; k < size; ++k) code = code << 6U | (byte_at(character, k) & 0x3fU);
  return code;
}

std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

std::string number_text(const Number& number) {
  return number.is_real() ? number_text(number.real()) : fmt::format("{}", number.integer());
}

std::string counted(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t size = character_at(text);
    valid +=
        size > 0 ? std::string(text.substr(0, size)) : fmt::format("\\x{:02x}", byte_at(text, 0));
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return valid;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = character_at(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size(); ++columns)
    at += std::max<std::size_t>(character_at(text.substr(at)), 1);
  return columns;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  width = std::max<std::size_t>(width, 1);
  if (indent >= width) indent = 0;
  std::string lines;
  while (true) {
    const std::size_t left = lines.empty() ? width : width - indent;
    const std::size_t end = end_of_line(text, left);
    lines += fmt::format("{:{}}{}\n", "", lines.empty() ? 0 : indent, text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return lines;
  }
}

}  // namespace mote
