// SPDX-License-Identifier: Apache-2.0
// Sequences of the steps of a cell: cuDNN's layer of one direction, in one call; the way backwards
// is that of copies with the last step first.
#include <optional>

#include "ops.h"
#include "recurrent.h"

namespace mote::cudnn {
namespace {

/// A state, before the first step and behind the last.
struct State {
  std::size_t first = 0, last = 0;
};

/// The work of a call, as it is known before it runs.
struct AllSteps {
  Layer layer;
  std::shared_ptr<RecurrentDesc> cell;
  std::shared_ptr<TensorDesc> states, results;
  RowLengths lengths;
  Reversal reversal;
  WeightBuffer buffer;
  std::vector<Linear> linear;
  std::size_t work_bytes = 0;
  std::size_t x = 0, y = 0;  ///< of the call, or backwards of the copies
  std::size_t given_x = 0, given_y = 0;
  State h;
  std::optional<State> c;
};

void run_all_steps(Handle* handle, const AllSteps& f, const std::vector<int>& lengths,
                   const OnDevice& at) {
  char* const space = static_cast<char*>(at.workspace);
  f.buffer.fill(handle, f.linear, space, at);
  const auto x = describe_sequences(f.layer, f.layer.inputs, lengths);
  const auto y = describe_sequences(f.layer, f.layer.states, lengths);
  calls().recur(handle, f.cell.get(), kInference, nullptr, x.get(), at.data[f.x], y.get(),
                at.data[f.y], f.states.get(), at.data[f.h.first], at.data[f.h.last],
                f.c ? f.states.get() : nullptr, f.c ? at.data[f.c->first] : nullptr,
                f.c ? at.data[f.c->last] : nullptr, f.buffer.bytes(), space, f.work_bytes,
                space + aligned(f.buffer.bytes()), 0, nullptr);
}

void run(Handle* handle, const AllSteps& f, const OnDevice& at) {
  const std::vector<int> lengths = f.lengths.read(at);
  if (f.reversal.is_asked()) f.reversal.copy(at, at.data[f.given_x], at.data[f.x], f.layer.inputs);
  if (are_empty(lengths))
    calls().set_all(handle, f.results.get(), at.data[f.y], zero(f.layer.dtype));
  else
    run_all_steps(handle, f, lengths, at);
  if (f.reversal.is_asked()) f.reversal.copy(at, at.data[f.y], at.data[f.given_y], f.layer.states);
  f.lengths.keep_states(handle, lengths, at.data[f.h.first], at.data[f.h.last]);
  if (f.c) f.lengths.keep_states(handle, lengths, at.data[f.c->first], at.data[f.c->last]);
}

State state_of(const Reader& call, int input, int output, const char* name, const Layer& layer) {
  return {slot_of_states(call.input(input, name, 2), layer),
          slot_of_states(call.output(output, name, 2), layer)};
}

}  // namespace

Work recurrent_sequence(const Reader& call) {
  const Cell& cell = cell_of(call.op());
  const bool is_lstm = cell.mode == kLstmCell;
  const int first_weight = is_lstm ? 3 : 2;
  const Tensor x = call.input(0, "x", 3);
  const Weights weights = weights_of(call, first_weight);
  Layer layer = layer_of(call, cell, x, weights);
  const RowLengths lengths(call, first_weight + 3, layer);
  layer.has_lengths = lengths.are_given();
  const Tensor y = call.output(0, "y", 3);
  const auto desc = describe(cell, layer);
  auto handle = Cudnn::library().take();
  const WeightBuffer buffer(handle.get(), cell, layer, desc);
  AllSteps f{.layer = layer,
             .cell = desc,
             .states = describe_states(layer),
             .results = describe(with_axis(y, 0)),
             .lengths = lengths,
             .reversal = {call, layer},
             .buffer = buffer,
             .linear = buffer.linear_layers(weights),
             .x = slot_of_inputs(x, layer),
             .y = slot_of_results(y, layer),
             .h = state_of(call, 1, 1, "h", layer),
             .c = {}};
  if (is_lstm) f.c = state_of(call, 2, 2, "c", layer);
  f.given_x = f.x;
  f.given_y = f.y;
  Between between(call);
  if (f.reversal.is_asked()) {
    f.x = between.tensor(layer.dtype, x.dims).slot;
    f.y = between.tensor(layer.dtype, y.dims).slot;
  }
  std::size_t reserve = 0;
  calls().recurrent_work_bytes(handle.get(), desc.get(), kInference,
                               describe_sequences(layer, layer.inputs).get(), &f.work_bytes,
                               &reserve);
  const Step step{aligned(buffer.bytes()) + f.work_bytes,
                  [f](Handle* with, const OnDevice& at) { run(with, f, at); }};
  return between.work_of(std::move(handle), {step});
}

}  // namespace mote::cudnn
