// SPDX-License-Identifier: Apache-2.0
// The gradient of a loop that keeps only what some iterations begin with. Its way back is a loop
// over the parts between them: each is run again, as a loop whose tape keeps what its gradient
// reads, and then its way back. With a number of checkpoints a part is one iteration: the way to it
// is computed again from the last state before it, and leaves states by the binomial schedule.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gradient/gradient_call.h"
#include "gradient/tape.h"
#include "gradient/wide_mask.h"
#include "mote/symbolic/control.h"

namespace mote {

class CheckpointedLoop {
 public:
  CheckpointedLoop(std::shared_ptr<const ControlInfo> control, const WideMask& wanted);

  const std::vector<std::size_t>& real() const { return real_; }    ///< of the carried inputs
  const std::vector<std::size_t>& added() const { return added_; }  ///< of the other inputs
  /// The inputs that the loop does not carry over.
  const std::vector<std::size_t>& rest() const { return rest_; }
  const std::shared_ptr<Tape>& tape() const { return tape_; }
  /// The position of the token among the outputs of the loop as it is; none if it has no tape yet.
  std::optional<std::size_t> token() const { return token_; }

  /// The loop with a body that keeps, now and then, what it begins with.
  std::shared_ptr<ControlInfo> recorded() const;
  /// The body of the way back. Its inputs: the gradients of real(), the sums of added(), the number
  /// of iterations left, the token, and rest().
  SymbolicGraph back() const;

 private:
  const TensorForm& form(std::size_t k) const { return body_.symbols()[inputs_[k]].form; }
  std::size_t carried() const { return token_ ? *token_ : result_count(control_); }
  bool read_kept();
  std::vector<bool> needed_by_parts() const;
  SymbolicGraph part(bool is_on_the_way = false) const;
  void go_on(SymbolicGraph& back, std::vector<TensorSymbol>& values,
             const std::vector<TensorSymbol>& given,
             const std::vector<TensorSymbol>& numbers) const;
  std::string free_name(std::string name) const;

  std::shared_ptr<const ControlInfo> owner_;
  const ControlInfo& control_;
  const SymbolicGraph& body_;
  std::vector<std::uint32_t> inputs_;
  std::optional<std::size_t> token_;
  std::optional<std::uint32_t> keep_;  ///< the node that keeps then
  std::shared_ptr<Tape> tape_;
  std::vector<std::size_t> real_, added_, rest_;
  std::vector<bool> kept_;  ///< by carried value: whether the way back begins with it
};

/// Forgets which values parts of loops begin with: it is found once for each loop that a gradient
/// meets, although all loops around that one ask for it.
void forget_kept_values();

}  // namespace mote
