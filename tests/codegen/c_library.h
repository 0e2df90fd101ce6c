// SPDX-License-Identifier: Apache-2.0
// C text as a shared library in a temporary folder, for calling what the emitter writes.
#pragma once

#include <string>
#include <vector>

namespace mote::test {

/// What the compiler says of the text under -std=c11 -Wall -Wextra -Wconversion -Werror -c, with
/// each text a file of its own: empty when it accepts them all.
std::string strict_complaints(const std::string& compiler, const std::vector<std::string>& texts);
/// Whether the command runs on this machine.
bool has_compiler(const std::string& compiler);

class CLibrary {
 public:
  /// Compiles with warnings as errors and loads. Throws Error with the compiler's words.
  explicit CLibrary(const std::string& text, const std::string& flags = "");
  ~CLibrary();
  CLibrary(const CLibrary&) = delete;
  CLibrary& operator=(const CLibrary&) = delete;

  template <typename Function>
  Function* function(const std::string& name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const std::string& name) const;

  std::string folder_;
  void* library_ = nullptr;
};

}  // namespace mote::test
