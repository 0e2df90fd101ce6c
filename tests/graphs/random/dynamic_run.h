// SPDX-License-Identifier: Apache-2.0
// Gives the nodes of a symbolic graph to a dynamic graph one by one, as a program would: as
// commands, calls and static functions, with variables that are freed, written to and used again at
// random.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/random/rng.h"
#include "graph_legs.h"
#include "mote/dynamic/dynamic_graph.h"
#include "mote/symbolic/binding.h"

namespace mote::test {

/// Percentages of what happens to a node or a variable.
struct DynamicHabits {
  std::uint64_t seed = 0;
  int parts = 0;        ///< some nodes in a row are one static function
  int checkpoints = 0;  ///< some nodes in a row are run by checkpoint()
  int calls = 0;        ///< a command is called as a function of the program's
  int rewrites = 0;     ///< a result is written to a variable that nothing needs any more
  int repeats = 0;      ///< a command is given twice
  int frees = 0;        ///< a variable that nothing needs any more is freed at once
  int looks = 0;        ///< a value is looked at as soon as it is there
  int no_gradient = 0;  ///< a node runs within a NoGradient
};

class DynamicRun {
 public:
  /// All must outlive the run. Inputs of `traced`, by index, are variables, others are constants or
  /// variables. `kept` are symbols whose variables stay to the end.
  DynamicRun(const SymbolicGraph& graph, DynamicGraph& g, const DynamicHabits& habits,
             Counts& counts);
  void give(const std::vector<TensorBinding>& inputs, const std::vector<TensorSymbol>& traced);
  void keep(const std::vector<TensorSymbol>& symbols);
  /// Runs all nodes.
  void run();
  /// Returns the values of the graph's outputs. Some may have been looked at long before.
  std::vector<Tensor> outputs();
  /// Returns the variable of the symbol, which is made when it is first needed.
  const Variable& variable(std::uint32_t symbol);

 private:
  void find_uses();
  void run_node(std::uint32_t node);
  void run_some(std::size_t begin, std::size_t end);
  void run_part(std::size_t begin, std::size_t end);
  void run_checkpoint(std::size_t begin, std::size_t end);
  std::size_t end_of_part(std::size_t begin, bool has_static);
  std::vector<std::uint32_t> written_by(std::size_t begin, std::size_t end) const;
  bool is_asked(std::uint32_t root) const;
  bool is_needed_behind(std::uint32_t root, std::size_t end) const;
  bool writes_whole(const NodeInfo& node) const;
  bool lacks_output(const NodeInfo& node) const;
  bool must_be_static(const NodeInfo& node) const;
  bool follows_from_inputs(const NodeInfo& node) const;
  bool may_be_seen(const TensorForm& form) const;
  std::vector<Variable> inputs_of(const NodeInfo& node);
  void run_command(const NodeInfo& node);
  bool rewrite(const NodeInfo& node, const std::vector<Variable>& inputs);
  std::vector<Variable> call(const NodeInfo& node, const std::vector<Variable>& inputs);
  void set(std::uint32_t output, const Variable& value);
  void forget(std::uint32_t root);
  void look_and_free(std::size_t begin, std::size_t end);
  void forget_unasked();
  Variable poisoned(const TensorForm& form);

  const SymbolicGraph& graph_;
  DynamicGraph& g_;
  const DynamicHabits habits_;
  Counts& counts_;
  Rng rng_;
  Rng forgets_;                ///< of its own, so that what else happens does not depend on it
  std::size_t forgotten_ = 0;  ///< steps, before
  std::vector<std::uint32_t> order_;
  std::vector<Variable> variables_;          ///< by symbol
  std::vector<std::size_t> last_read_;       ///< by root: the position in the order, or never
  std::vector<std::size_t> last_write_;      ///< likewise
  std::vector<bool> is_kept_;                ///< by root
  std::vector<bool> is_output_;              ///< by root
  std::vector<bool> is_traced_input_;        ///< by symbol
  std::vector<std::optional<Tensor>> seen_;  ///< by number of the output
  std::vector<std::uint32_t> unneeded_;      ///< roots that nothing needs and whose variables exist
  std::size_t position_ = 0;
};

}  // namespace mote::test
