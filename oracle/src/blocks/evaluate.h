// SPDX-License-Identifier: Apache-2.0
// Evaluates a program without compiling it: node by node over blocks of elements, so that the time
// goes into arithmetic and not into dispatch. It is many times faster than evaluate() and
// interpret(), needs no compiler, and gives the same results, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "plan.h"
#include "run/buffer.h"

namespace mote::blocks {

/// The variants of evaluation: elements that do not count are left out (masked.h), reads of
/// computed tensors become computations (inline.h), or both. The results are the same.
enum class Way : std::uint8_t { plain, masked, inlined, inlined_masked };

/// A program that is ready to be evaluated.
class Evaluator {
 public:
  /// Chooses the variant that seems fastest for each case, or always uses `way` if the program
  /// allows it.
  explicit Evaluator(const std::shared_ptr<const Program>& program, std::optional<Way> way = {});
  ~Evaluator();

  /// Evaluates a case of the program, or of one with the same inputs and sizes. Outputs are rounded
  /// to their dtypes.
  void run(const Case& c, const std::vector<Dense>& inputs, std::vector<Dense>& outputs) const;
  /// The memory that it takes in addition to inputs and outputs; the greatest std::size_t on
  /// overflow.
  std::size_t bytes(const Case& c) const;

 private:
  /// The program, or an equivalent one, with its plans.
  struct Body;
  const Plan& plan(const Case& c) const;

  std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<Body>> bodies_;
  mutable std::mutex mutex_;
};

}  // namespace mote::blocks
