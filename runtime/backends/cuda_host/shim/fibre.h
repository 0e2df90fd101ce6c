// SPDX-License-Identifier: Apache-2.0
// Fibres: stacks between which one OS thread switches. On x86-64 by six registers and the stack
// pointer, elsewhere, and where asked for, by ucontext, which is ten times slower.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace mote::shim {

enum class Engine { own, ucontext };

/// What this processor's switch is.
Engine best_engine();

/// A stack with a guard page below it, and what was running on it.
class Fibre {
 public:
  using Entry = void (*)(void*);

  Fibre(Engine engine, std::size_t stack_bytes);
  ~Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  /// resume() will call entry(argument) from its beginning; it must end in leave(), not return.
  void start(Entry entry, void* argument);
  /// Runs the fibre until it leaves. Called outside of fibres.
  void resume();
  /// Back to where resume() was called; `done`: this fibre's stack is not needed again as it is.
  void leave(bool done);

 private:
  struct Context;
  static void begin();
  void enter();

  Engine engine_;
  char* memory_ = nullptr;
  std::size_t bytes_;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  std::unique_ptr<Context> context_;
};

}  // namespace mote::shim
