// SPDX-License-Identifier: Apache-2.0
// The functions of tapes for loops with checkpoints: they keep what some iterations begin with, and
// take it off again.
#include <utility>

#include "check_function.h"
#include "gradient/tape.h"
#include "gradient/tape_parts.h"
#include "gradient/tape_store.h"

namespace mote {
namespace {

using Tensors = std::span<const Tensor>;
using Forms = std::span<const TensorForm>;

/// The function that keeps values now and then.
struct Keep {
  std::shared_ptr<Tape> tape;
  std::int64_t checkpoints;
  void operator()(Tensors inputs, Tensors outputs) const {
    outputs[0].set(
        {}, TapeStore::of_run()->keep(inputs[0].real_at({}), checkpoints, inputs.subspan(1)));
  }
};

}  // namespace

NamedFunction tape_keep(std::shared_ptr<Tape> tape, std::int64_t checkpoints) {
  return {.name = name_of(kTapeKeep, *tape) + " " +
                  (checkpoints == kKeepSquareRoot ? std::string(kTapeSquareRoot)
                                                  : std::to_string(checkpoints)),
          .run = Keep{tape, checkpoints},
          .shapes =
              [tape](Forms inputs) {
                note_kept_shapes(*tape, inputs);
                return std::vector<AxisList>{AxisList{}};
              },
          .counts = {{{1, kAnyCount}, {1, 1}}},
          .check =
              [](Forms inputs, Forms outputs) {
                expect_token(inputs[0]);
                expect_token(outputs[0]);
              }};
}

NamedFunction tape_take(std::shared_ptr<Tape> tape) {
  tape->count_reader(kValuesPath);
  return {.name = name_of(kTapeTake, *tape),
          .run =
              [tape](Tensors inputs, Tensors outputs) {
                const std::int64_t start =
                    TapeStore::of_run()->take(inputs[0].real_at({}), inputs[1].integer_at({}),
                                              tape->readers(kValuesPath), outputs.subspan(1));
                outputs[0].set({}, start);
              },
          .shapes =
              [tape](Forms) {
                std::vector<AxisList> shapes = {AxisList{}};
                const std::span<const AxisList> kept = kept_shapes(*tape);
                shapes.insert(shapes.end(), kept.begin(), kept.end());
                return shapes;
              },
          .counts = {{{2, 2}, {1, kAnyCount}}},
          .check =
              [](Forms inputs, Forms outputs) {
                expect_position(inputs);
                expect_number("the number of the iteration", outputs[0], DType::i64);
              }};
}

NamedFunction tape_reach(std::shared_ptr<Tape> tape, std::int64_t checkpoints) {
  NamedFunction function = tape_take(tape);
  function.name = name_of(kTapeReach, *tape) + " " + std::to_string(checkpoints);
  function.run = [tape, checkpoints](Tensors inputs, Tensors outputs) {
    const std::int64_t start =
        TapeStore::of_run()->reach(inputs[0].real_at({}), checkpoints, inputs[1].integer_at({}),
                                   tape->readers(kValuesPath), outputs.subspan(1));
    outputs[0].set({}, start);
  };
  return function;
}

NamedFunction tape_mark(std::shared_ptr<Tape> tape, std::int64_t checkpoints) {
  return {
      .name = name_of(kTapeMark, *tape) + " " + std::to_string(checkpoints),
      .run =
          [checkpoints](Tensors inputs, Tensors outputs) {
            const double token = inputs[0].real_at({});
            TapeStore::of_run()->mark(token, checkpoints, inputs[1].integer_at({}),
                                      inputs[2].integer_at({}), inputs.subspan(3));
            outputs[0].set({}, token);
          },
      // A mark has no gradient, since `tape reach`, which reads it, has none.
      .gradient = [](SymbolicGraph&, const FunctionCall&) { return std::vector<TensorSymbol>(); },
      .shapes = [](Forms) { return std::vector<AxisList>{AxisList{}}; },
      .counts = {{{3, kAnyCount}, {1, 1}}},
      .check =
          [](Forms inputs, Forms outputs) {
            expect_position(inputs);
            expect_number("the number of the iteration", inputs[2], DType::i64);
            expect_token(outputs[0]);
          }};
}

std::optional<std::uint32_t> keep_of(const SymbolicGraph& body) { return node_of<Keep>(body); }

std::shared_ptr<Tape> tape_of_keep(const NodeInfo& node) {
  const Keep* const keep = node.function->run.target<Keep>();
  return keep == nullptr ? nullptr : keep->tape;
}

}  // namespace mote
