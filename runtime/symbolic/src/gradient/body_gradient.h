// SPDX-License-Identifier: Apache-2.0
// A loop's body and its gradient, as one graph and taken apart: the way forward, which keeps what
// the way back reads, and the way back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gradient/tape.h"
#include "gradient/wide_mask.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"

namespace mote {

class WrittenParts;

class BodyGradient {
 public:
  /// `given` has the outputs of the loop whose gradients come, `wanted` its inputs whose gradients
  /// are asked for. `sums_are_zero`: the sums of added() begin with 0. Throws StatusError if one
  /// cannot be computed.
  BodyGradient(const ControlInfo& control, const WideMask& given, const WideMask& wanted,
               bool sums_are_zero);

  const std::vector<std::size_t>& real() const { return real_; }    ///< of the carried inputs
  const std::vector<std::size_t>& added() const { return added_; }  ///< of the other inputs
  /// The inputs that the loop does not carry over and that the way back reads.
  const std::vector<std::size_t>& rest() const { return rest_; }
  const std::shared_ptr<Tape>& tape() const { return tape_; }

  /// The loop with a body that keeps what the way back reads: the last input that it carries over
  /// is its token.
  std::shared_ptr<ControlInfo> recorded() const;
  /// The position of the token among the outputs of the loop as it is; none if it has no tape yet.
  std::optional<std::size_t> token() const { return token_; }

  /// The body of the way back. Its inputs: the gradients of real(), the sums of added(), the number
  /// of iterations left, the token, and rest().
  SymbolicGraph back() const;

 private:
  struct Read {
    std::vector<std::uint32_t> symbols = {};  ///< without repeats
    std::vector<std::uint32_t> shapes = {};   ///< of which only the shape is needed
  };
  /// A branch of the way back that reads a root: by what decision, and its number.
  using Reader = std::pair<std::uint32_t, std::uint32_t>;

  const TensorForm& form(std::size_t k) const { return body_.symbols()[inputs_[k]].form; }
  TensorSymbol new_input(const std::string& name, const TensorForm& form);
  void differentiate(const WideMask& wanted, bool sums_are_zero);
  TensorSymbol sum_with(TensorSymbol sum, TensorSymbol gradient, bool sum_is_zero);
  bool differs_in_each_iteration(std::uint32_t symbol) const;
  bool puts_each_step_once(std::size_t k) const;
  void find_kept();
  void find_rest();
  bool is_in_way_back(std::uint32_t node) const;
  void note_read(std::uint32_t symbol, bool reads_data);
  void note_reads(const NodeInfo& node);
  std::vector<KeptIf> rules(std::vector<std::uint32_t>& decisions) const;
  bool is_made_forward(std::uint32_t root) const;
  bool is_at_hand(std::uint32_t symbol) const;
  void compute_again(std::uint32_t symbol);
  void keep(std::uint32_t root, const Read& read, WrittenParts& parts);
  void take_off(SymbolicGraph& back, TensorSymbol token, TensorSymbol position,
                std::vector<TensorSymbol>& symbols) const;

  const ControlInfo& control_;
  const SymbolicGraph& body_;
  std::vector<std::uint32_t> inputs_;
  std::optional<std::size_t> token_;   ///< the carried input that is the token, if there is one
  std::optional<std::uint32_t> push_;  ///< the node that pushes then
  std::shared_ptr<Tape> tape_;
  std::vector<std::size_t> real_, added_, rest_;
  SymbolicGraph joint_;
  std::uint32_t first_node_ = 0;  ///< of the way back, in joint_
  std::vector<TensorSymbol> seeds_, sums_, gradients_;
  std::vector<bool> needed_;  ///< by node: the gradients need it
  std::vector<bool> again_;   ///< by node: it is part of the way back too
  IndexLists written_;
  std::map<std::uint32_t, Read> read_;  ///< by root of the way forward: what the way back reads
  std::set<std::uint32_t> always_;      ///< roots that more than branches read
  std::map<std::uint32_t, std::set<Reader>> readers_;  ///< of other roots
  std::vector<std::uint32_t> pushed_;                  ///< symbols, in the order of the tape
  std::vector<std::uint32_t> kept_;                    ///< those that the way back takes off
  std::vector<std::uint32_t> only_shapes_;  ///< symbols of which only the shape is needed
};

}  // namespace mote
