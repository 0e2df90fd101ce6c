// SPDX-License-Identifier: Apache-2.0
// Texts that a function of mote_python.h gives away.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace mote::python {

/// Returns a copy of the text, which mote_py_text_free() frees. Throws std::bad_alloc.
inline char* copy_of(const std::string& text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace mote::python
