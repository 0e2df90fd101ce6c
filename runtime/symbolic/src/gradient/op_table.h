// SPDX-License-Identifier: Apache-2.0
// The entries of the registry and of the table of rules, looked up once for each op.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gradient/op_rules.h"
#include "mote/base/tensor_mask.h"
#include "mote/runtime/command.h"

namespace mote {

/// The outputs and inputs of an op between which a gradient may flow.
struct OpFlow {
  TensorMask from = 0;
  TensorMask to = 0;
};

/// The parts of an op's gradient, from its row: what its inputs and outputs are of the op.
struct GradientRow {
  enum class Kind : std::uint8_t { gradient, input, output };
  struct Slot {
    Kind kind;
    std::size_t of;  ///< the output or input of the op
    bool reads;      ///< false: only its shape is needed
  };
  GradientRow(const mote_op_gradient& row, OpId gradient, const GeneratedKernels* kernels);

  const mote_op_gradient* row;
  OpId gradient;
  const GeneratedKernels* kernels;  ///< null: a plug-in's op, of which none are known
  std::vector<Slot> inputs;
  std::vector<std::size_t> outputs;  ///< the inputs of the op whose gradients they are

  /// Returns the gradient's output that is the gradient of input k of the op.
  std::optional<std::size_t> output_of(std::size_t k) const;
  /// Returns the gradient's input that is that tensor of the op.
  std::optional<std::size_t> input_of(Kind kind, std::size_t k) const;
  /// Returns the mask of the gradient's inputs that are gradients.
  TensorMask gradients() const;
};

/// The ops whose gradient is passed on without an op of its own, in any dtype.
enum class Passing : std::uint8_t { no, add, sub, cast };

struct OpFacts {
  std::optional<GradientRow> row;   ///< of its gradient
  std::optional<GradientRow> base;  ///< the row of which the op is the gradient
  const OpRule* base_rule = nullptr;
  Passing passing = Passing::no;
  OpFlow flow;
};

class OpTable {
 public:
  explicit OpTable(const Registry& registry);

  const OpFacts& facts(OpId op);
  const OpFacts& facts(const Command& command) { return facts(command.op()); }

 private:
  std::optional<GradientRow> row(const Column<OpGradient>& column, OpId op) const;
  OpFlow flow(OpId op, const OpFacts& facts) const;

  const Registry& registry_;
  Column<OpGradient> gradient_;
  Column<OpGradient> gradient_of_;
  Column<GeneratedKernels> generated_;
  Column<Definition> definition_;
  Column<bool> zero_;
  std::vector<std::unique_ptr<OpFacts>> facts_;
};

}  // namespace mote
