// SPDX-License-Identifier: Apache-2.0
// Compiles C text into a shared library in a temporary folder, so that tests can call emitted code.
#pragma once

#include <string>
#include <vector>

namespace mote::test {

/// Returns the compiler's messages for the texts, each as a file of its own, under -std=c11 -Wall
/// -Wextra -Wconversion -Werror -c: empty if it accepts them all.
std::string strict_complaints(const std::string& compiler, const std::vector<std::string>& texts);
/// True if the command runs on this machine.
bool has_compiler(const std::string& compiler);

class CLibrary {
 public:
  /// Compiles with warnings as errors and loads. Throws Error with the compiler's message.
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
