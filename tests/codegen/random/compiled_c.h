// SPDX-License-Identifier: Apache-2.0
// Runs loop programs as compiled C: a batch becomes one shared library, and its functions are
// called through mote's kernel ABI on tensors in unusual layouts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"
#include "trial.h"

namespace mote::test {

enum class CVariant : std::uint8_t {
  reference,
  gen,
  drawn,  ///< gen, by steps that were drawn
};

class CBatch {
 public:
  CBatch();
  ~CBatch();
  CBatch(const CBatch&) = delete;
  CBatch& operator=(const CBatch&) = delete;

  /// Emits the program in all variants, for calls that may leave out any of several outputs;
  /// returns its number in the batch.
  int add(const LoopProgram& checked);
  /// Compiles the added programs and loads them. Throws Error with the compiler's message.
  void compile();
  /// Returns the outputs of program k, of that variant, on these inputs,
  /// which lie in memory with strides drawn from the seed; by one call, or by two that ask for some
  /// outputs each. Throws Error if the kernel refuses, or writes outside of an output's elements.
  std::vector<Array> run(int k, const Program& p, const std::vector<Array>& inputs, const Trial& t,
                         CVariant variant = CVariant::reference) const;

 private:
  std::string folder_;
  std::string source_;
  int count_ = 0;
  void* library_ = nullptr;
};

}  // namespace mote::test
