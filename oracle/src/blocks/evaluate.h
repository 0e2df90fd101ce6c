// SPDX-License-Identifier: Apache-2.0
// Evaluates a program without compiling it: node by node over blocks of elements, so that what an
// element costs is arithmetic, not the choice of what to do. Many times faster than evaluate() and
// interpret(), and ready at once; the same results, bit for bit.
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

/// How a program is evaluated: elements that do not count are left out (thin.h), what is read is
/// computed where it is read (inline.h), or both. The results are the same.
enum class Way : std::uint8_t { plain, thin, inlined, inlined_thin };

/// A program that is ready to be evaluated.
class Evaluator {
 public:
  /// In the way that seems to be the fastest for a case, or always in that way if the program
  /// allows it.
  explicit Evaluator(const std::shared_ptr<const Program>& program, std::optional<Way> way = {});
  ~Evaluator();

  /// Of a case of the program, or of one with the same inputs and sizes. Outputs are rounded to
  /// their dtypes.
  void run(const Case& c, const std::vector<Dense>& inputs, std::vector<Dense>& outputs) const;
  /// Memory that it takes beside inputs and outputs; the greatest std::size_t where that overflows.
  std::size_t bytes(const Case& c) const;

 private:
  /// The program, or one that gives the same.
  struct Body;
  const Plan& plan(const Case& c) const;

  std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<Body>> bodies_;
  mutable std::mutex mutex_;
};

}  // namespace mote::blocks
