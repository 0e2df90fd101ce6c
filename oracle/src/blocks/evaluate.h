// Evaluates a program without compiling it: node by node over blocks of elements, so that what an
// element costs is arithmetic, not the choice of what to do. Many times faster than evaluate() and
// interpret(), and ready at once; the same results, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "../buffer.h"
#include "plan.h"

namespace mote::blocks {

/// Whether elements that do not count are left out (thin.h); the results are the same.
enum class Thinning : std::uint8_t { where_faster, always };

/// A program that is ready to be evaluated.
class Evaluator {
 public:
  explicit Evaluator(const std::shared_ptr<const Program>& program,
                     Thinning thinning = Thinning::where_faster);

  /// Of a case of the program, or of one with the same inputs and sizes. Outputs are rounded to
  /// their dtypes.
  void run(const Case& c, const std::vector<Dense>& inputs, std::vector<Dense>& outputs) const;
  /// Memory that it takes beside inputs and outputs; the greatest std::size_t where that overflows.
  std::size_t bytes(const Case& c) const;

 private:
  const Plan& plan(const Case& c) const;

  std::shared_ptr<const Program> program_;
  Plan plan_;
  Thinning thinning_;
  std::optional<Plan> thin_;  ///< the same, faster where few elements of its regions count
};

}  // namespace mote::blocks
