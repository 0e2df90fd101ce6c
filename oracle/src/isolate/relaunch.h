// SPDX-License-Identifier: Apache-2.0
// This program's file, started once more as a process in which nothing has run: what the loader and
// constructors do is done, main() is not called, and there are no threads but those that
// constructors start. It serves as a zygote, which a fork of a program with threads cannot always.
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
  const char* arena_base = nullptr;  ///< the arena lies there in that process too
};

class Relauncher {
 public:
  /// Makes what stands between the loader and main(). Throws Error where this program cannot be
  /// started so: it is linked statically, its code is in no file, or there is no C compiler.
  Relauncher();
  /// Starts the process. Throws Error where the system does not.
  pid_t start(const Inheritance& given) const;

 private:
  std::shared_ptr<const CLibrary> hook_;
  std::string entry_;  ///< module and offset of the code that is called in place of main()
};

}  // namespace mote::isolate
