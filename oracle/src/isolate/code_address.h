// SPDX-License-Identifier: Apache-2.0
// The location of code in a file, so that another process that loads the file finds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mote::isolate {

struct CodeAddress {
  std::string module;         ///< the path of the library; empty: the program itself
  std::uintptr_t offset = 0;  ///< its distance from the address at which the module is loaded
};

/// The location of an address; nullopt if it is in no file: code generated at run time.
std::optional<CodeAddress> locate(const void* address);

/// The C (GNU) text of `char* mote_address(const char* module, uintptr_t offset)`: it loads the
/// module if needed, and returns NULL if that fails.
extern const char* const kAddressInC;
/// A C string literal for the text.
std::string c_literal(const std::string& text);

}  // namespace mote::isolate
