// SPDX-License-Identifier: Apache-2.0
// Starts this program's file again as a process in which nothing has run: the loader and
// constructors run, main() does not, and only constructors may start threads. It serves as a
// zygote, which a fork of a program with threads cannot always do.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace mote {
struct CLibrary;
}

namespace mote::isolate {

/// The descriptors and addresses that a relaunched process needs.
struct Inheritance {
  int socket = -1;  ///< questions to a zygote
  int arena_file = -1;
  char* arena_base = nullptr;  ///< the address of the arena in both processes
};

/// Starts a process that becomes a zygote.
class Starter {
 public:
  virtual ~Starter() = default;
  /// Starts the process. Throws Error if the system fails to.
  virtual pid_t start(const Inheritance& given) const = 0;
};

class Relauncher : public Starter {
 public:
  /// Makes the hook between the loader and main(). Throws Error if this program cannot be started
  /// like this: it is linked statically, its code is in no file, or there is no C compiler.
  Relauncher();
  pid_t start(const Inheritance& given) const override;

 private:
  std::shared_ptr<const CLibrary> hook_;
  std::string entry_;  ///< module and offset of the code called instead of main()
};

/// Executes a program with the environment and these variables ("NAME=value") in a fork, in which
/// the files of `given` stay open. Throws Error if the system fails to.
pid_t start_program(const char* file, std::vector<std::string> words,
                    const std::vector<std::string>& variables, const Inheritance& given);
/// The numbers of `given` and of this process as text, and back.
std::string to_text(const Inheritance& given);
struct Inherited {
  Inheritance given;
  pid_t parent = 0;
};
Inherited inheritance_in(const std::string& text);

}  // namespace mote::isolate
