// SPDX-License-Identifier: Apache-2.0
// The name of a C++ type, for messages.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <string>
#include <typeindex>

namespace mote {

/// Returns "std::vector<int, std::allocator<int> >".
inline std::string readable(std::type_index type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : type.name();
  std::free(text);
  return name;
}

}  // namespace mote
