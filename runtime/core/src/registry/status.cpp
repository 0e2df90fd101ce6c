// SPDX-License-Identifier: Apache-2.0
#include "mote/runtime/status.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>

#include "mote/runtime/error_under_way.h"

namespace mote {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::string one_line(const std::string& text) {
  if (std::ranges::none_of(text, is_control)) return text;
  std::string line;
  for (const char c : text) {
    if (!is_control(c)) {
      line += c;
      continue;
    }
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "\\x%02X", static_cast<unsigned>(c));
    line += code.data();
  }
  return line;
}

}  // namespace

StatusError::StatusError(mote_status status, const std::string& what)
    : Error(one_line(what)), status_(status) {}

std::pair<mote_status, std::string> error_under_way() {
  try {
    throw;
  } catch (const StatusError& e) {
    return {e.status(), e.what()};
  } catch (const std::bad_alloc&) {
    return {MOTE_OUT_OF_MEMORY, "there is no memory"};
  } catch (const std::exception& e) {
    return {MOTE_FAILED, e.what()};
  } catch (...) {
    return {MOTE_FAILED, "it threw what is no std::exception"};
  }
}

}  // namespace mote
