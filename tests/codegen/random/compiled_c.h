// SPDX-License-Identifier: Apache-2.0
// Runs loop programs as compiled C: a batch becomes one shared library, and its functions are
// called through mote's kernel ABI on tensors in unusual layouts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mote/codegen/emit_c.h"
#include "mote/codegen/loops.h"
#include "mote/codegen/schedule.h"
#include "trial.h"

namespace mote::test {

enum class CVariant : std::uint8_t {
  reference,
  gen,
  drawn,  ///< gen, by steps that were drawn
  whole,  ///< gen, with the tiles of this processor's kernels, if it has any
};

class CBatch {
 public:
  /// `optimisation`: -Og compiles in half of the time and finds less.
  explicit CBatch(std::string optimisation = "-O1");
  ~CBatch();
  CBatch(const CBatch&) = delete;
  CBatch& operator=(const CBatch&) = delete;

  /// Emits the program in all variants, for calls that may leave out any of several outputs;
  /// returns its number in the batch.
  int add(const LoopProgram& checked);
  /// The schedules of program k that have amounts, and the options that they were made with: that
  /// of the variant gen, and that of the variant whole, if there is one.
  struct Scheduled {
    Schedule schedule;
    ScheduleOptions options;
  };
  const std::vector<Scheduled>& schedules(int k) const;
  /// Returns true if a version of that variant multiplies terms outside of a tensor by 0.
  bool multiplies_padding(int k, CVariant variant) const;
  /// Returns true if the program has the variant whole.
  bool has_whole(int k) const { return schedules(k).size() > 1; }
  /// Returns the names of the versions with tiles in registers that calls of program k have run.
  std::vector<std::string> tiles_that_ran(int k) const;
  /// Compiles the added programs and loads them. Throws Error with the compiler's message.
  void compile();
  /// Returns the outputs of program k, of that variant, on these inputs,
  /// which lie in memory with strides drawn from the seed; by one call, or by two that ask for some
  /// outputs each. Throws Error if the kernel refuses, or writes outside of an output's elements.
  std::vector<Array> run(int k, const Program& p, const std::vector<Array>& inputs, const Trial& t,
                         CVariant variant = CVariant::reference) const;

 private:
  std::string with_whole_tiles(const LoopProgram& p, EmitOptions how);

  std::string optimisation_;
  std::string folder_;
  std::string source_;
  int count_ = 0;
  std::vector<std::vector<Scheduled>> schedules_;
  std::vector<bool> drawn_multiplies_;
  std::vector<std::vector<std::string>> tiles_;  ///< names of versions that count their calls
  void* library_ = nullptr;
};

}  // namespace mote::test
