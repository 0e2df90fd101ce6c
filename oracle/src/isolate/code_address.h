// SPDX-License-Identifier: Apache-2.0
// Where code of this process lies in a file, so that another process which loads the file finds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mote::isolate {

struct CodeAddress {
  std::string module;         ///< the path of the library; empty: the program itself
  std::uintptr_t offset = 0;  ///< from where the module is loaded
};

/// Nothing where the address is in no file: code that was made at run time.
std::optional<CodeAddress> locate(const void* address);

/// C (GNU) of `char* mote_address(const char* module, uintptr_t offset)`: loads the module where it
/// is not loaded; NULL where that fails.
extern const char* const kAddressInC;
/// A string literal of C.
std::string c_literal(const std::string& text);

}  // namespace mote::isolate
