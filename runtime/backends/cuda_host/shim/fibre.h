// SPDX-License-Identifier: Apache-2.0
// Fibres: stacks between which one OS thread switches. The switch uses six registers and the stack
// pointer on x86-64; elsewhere, or on request, it uses ucontext, which is ten times slower.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace mote::shim {

enum class Engine { own, ucontext };

/// Returns the faster switch that this processor has.
Engine best_engine();

/// A stack with a guard page below it, and the function that runs on it.
class Fibre {
 public:
  using Entry = void (*)(void*);

  Fibre(Engine engine, std::size_t stack_bytes);
  ~Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  /// Makes the next resume() call entry(argument) from its beginning; it must end in leave(), not
  /// return.
  void start(Entry entry, void* argument);
  /// Runs the fibre until it leaves. It must be called outside of fibres.
  void resume();
  /// Returns to the caller of resume(); if `done`, this fibre's stack is not needed again.
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
