// SPDX-License-Identifier: Apache-2.0
// Helpers of all fuzz targets: the input as text, and the report of a broken promise (a line on
// standard error, then abort, which libFuzzer turns into a reproducer).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mote/base/error.h"

namespace mote::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string_view()
                   : std::string_view(reinterpret_cast<const char*>(data), size);
}

[[noreturn]] inline void broken(const std::string& what) {
  std::fprintf(stderr, "broken promise: %s\n", what.c_str());
  std::abort();
}

/// Requires that the parsed value equals the one read back from its print.
inline void require(bool equal, const std::string& printed, const std::string& again) {
  if (!equal) broken("printed as\n" + printed + "\nwhich reads back as\n" + again);
}

/// Requires that the text of an Error is one line.
inline void require_one_line(const Error& error) {
  const std::string what = error.what();
  if (what.empty() || what.find('\n') != std::string::npos) broken("an Error of '" + what + "'");
}

/// Runs a check on printed text, which must be readable: here an Error is a bug too.
template <typename F>
void must_not_throw(F&& check) {
  try {
    check();
  } catch (const Error& error) {
    broken(std::string("what was printed does not parse: ") + error.what());
  }
}

}  // namespace mote::fuzz
