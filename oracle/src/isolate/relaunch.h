// SPDX-License-Identifier: Apache-2.0
// Starts this program's file again as a process in which nothing has run: the loader and
// constructors run, main() does not, and only constructors may start threads. It serves as a
// zygote, which a fork of a program with threads cannot always do.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

namespace mote {
struct CLibrary;
}

namespace mote::isolate {

/// The descriptors and addresses that a relaunched process needs.
struct Inheritance {
  int socket = -1;  ///< questions to a zygote
  int arena_file = -1;
  const char* arena_base = nullptr;  ///< the address of the arena in both processes
};

class Relauncher {
 public:
  /// Makes the hook between the loader and main(). Throws Error if this program cannot be started
  /// like this: it is linked statically, its code is in no file, or there is no C compiler.
  Relauncher();
  /// Starts the process. Throws Error if the system fails to.
  pid_t start(const Inheritance& given) const;

 private:
  std::shared_ptr<const CLibrary> hook_;
  std::string entry_;  ///< module and offset of the code called instead of main()
};

}  // namespace mote::isolate
