// SPDX-License-Identifier: Apache-2.0
// The gradients of LSTM and GRU cells, and of sequences of the steps of a cell: cuDNN's layer
// again, in training mode, which keeps the data that its gradient needs; then the gradients of x
// and the states, and after them those of the weights.
#include <limits>
#include <optional>
#include <utility>

#include "ops.h"
#include "recurrent.h"

namespace mote::cudnn {
namespace {

using Slot = std::optional<std::size_t>;
constexpr int kNone = std::numeric_limits<int>::max();  ///< the number of no input

void* if_any(const OnDevice& at, const Slot& slot) { return slot ? at.data[*slot] : nullptr; }

/// The tensors that the library's calls pass to each other, and their descriptors.
struct LayerGradient {
  Layer layer;
  std::shared_ptr<RecurrentDesc> cell;
  RowLengths lengths;
  std::optional<Reversal> reversal;              ///< of a way backwards
  std::shared_ptr<TensorDesc> states, c_states;  ///< c_states: none if there is no c
  std::shared_ptr<TensorDesc> inputs, results;   ///< of x and y as a whole
  std::shared_ptr<TensorDesc> gradients_desc;    ///< the whole gradient buffer
  WeightBuffer buffer;
  std::vector<Linear> weights, gradients;
  std::size_t work_bytes = 0, reserve_bytes = 0;
  bool wants_weights = false;
  /// The gradients of the results, and of the last states; a cell's result is its last state.
  Slot gy = {};
  Slot gh_next = {}, gc_next = {};
  std::size_t x = 0, h = 0;
  Slot c = {};
  Slot gx = {}, gh = {}, gc = {};
  Slot given_gy = {}, given_x = {}, given_gx = {};  ///< of the call, where these are copies
  // These are in the workspace.
  bool gy_is_zero = false;
  std::size_t y = 0, weight_space = 0, gradient_space = 0, reserve = 0;
  Slot c_next = {};
};

/// The descriptors of sequences whose rows have these lengths.
struct Sequences {
  std::shared_ptr<SequenceDesc> x, y;
};
Sequences sequences_of(const Layer& layer, const std::vector<int>& lengths) {
  return {describe_sequences(layer, layer.inputs, lengths),
          describe_sequences(layer, layer.states, lengths)};
}

void run_steps(Handle* handle, const LayerGradient& g, const Sequences& of, const OnDevice& at) {
  g.buffer.fill(handle, g.weights, at.data[g.weight_space], at);
  calls().recur(handle, g.cell.get(), kTrainingMode, nullptr, of.x.get(), at.data[g.x], of.y.get(),
                at.data[g.y], g.states.get(), at.data[g.h], nullptr, g.c_states.get(),
                if_any(at, g.c), if_any(at, g.c_next), g.buffer.bytes(), at.data[g.weight_space],
                g.work_bytes, at.workspace, g.reserve_bytes, at.data[g.reserve]);
}

void run_gradient(Handle* handle, const LayerGradient& g, const Sequences& of, const OnDevice& at) {
  calls().recurrent_data_gradient(
      handle, g.cell.get(), nullptr, of.y.get(), at.data[g.y], at.data[*g.gy], of.x.get(),
      if_any(at, g.gx), g.states.get(), at.data[g.h], if_any(at, g.gh_next), if_any(at, g.gh),
      g.c_states.get(), if_any(at, g.c), if_any(at, g.gc_next), if_any(at, g.gc), g.buffer.bytes(),
      at.data[g.weight_space], g.work_bytes, at.workspace, g.reserve_bytes, at.data[g.reserve]);
  if (!g.wants_weights) return;
  calls().recurrent_weight_gradient(
      handle, g.cell.get(), kAddGradients, nullptr, of.x.get(), at.data[g.x], g.states.get(),
      at.data[g.h], of.y.get(), at.data[g.y], g.buffer.bytes(), at.data[g.gradient_space],
      g.work_bytes, at.workspace, g.reserve_bytes, at.data[g.reserve]);
}

void run(Handle* handle, const LayerGradient& g, const OnDevice& at) {
  const std::vector<int> lengths = g.lengths.read(at);
  // The library adds to the buffer, so it begins with zeros.
  if (g.wants_weights)
    calls().set_all(handle, g.gradients_desc.get(), at.data[g.gradient_space], zero(g.layer.dtype));
  if (g.gy_is_zero) calls().set_all(handle, g.results.get(), at.data[*g.gy], zero(g.layer.dtype));
  if (g.given_x) g.reversal->copy(at, at.data[*g.given_x], at.data[g.x], g.layer.inputs);
  if (g.given_gy) g.reversal->copy(at, at.data[*g.given_gy], at.data[*g.gy], g.layer.states);
  if (are_empty(lengths)) {
    calls().set_all(handle, g.inputs.get(), at.data[*g.gx], zero(g.layer.dtype));
  } else {
    const Sequences of = sequences_of(g.layer, lengths);
    run_steps(handle, g, of, at);
    run_gradient(handle, g, of, at);
  }
  if (g.given_gx) g.reversal->copy(at, at.data[*g.gx], at.data[*g.given_gx], g.layer.inputs);
  if (g.wants_weights) g.buffer.give(handle, g.gradients, at.data[g.gradient_space], at);
  const auto give = [&](const Slot& of_first, const Slot& of_last) {
    if (!of_first) return;
    if (of_last)
      g.lengths.keep_states(handle, lengths, at.data[*of_last], at.data[*of_first]);
    else
      g.lengths.clear_states(handle, lengths, at.data[*of_first]);
  };
  give(g.gh, g.gh_next);
  give(g.gc, g.gc_next);
}

/// Reads the gradients that the call wants, from its output `first` on; extents of others are those
/// of the weights.
Weights gradients_of(const Reader& call, int first, const Weights& weights) {
  Weights g = weights;
  g.has_w = call.has_output(first);
  g.has_r = call.has_output(first + 1);
  g.has_b = call.has_output(first + 2);
  if (g.has_w) g.w = call.output(first, "gw", 3);
  if (g.has_r) g.r = call.output(first + 1, "gr", 3);
  if (g.has_b) g.b = call.output(first + 2, "gb", 2);
  nvidia::require_dims(g.w, weights.w.dims);
  nvidia::require_dims(g.r, weights.r.dims);
  nvidia::require_dims(g.b, weights.b.dims);
  return g;
}

/// Returns the slot for the gradient of a state, if the call wants it.
Slot gradient_slot(const Reader& call, int k, const char* name, const Layer& layer) {
  if (!call.has_output(k)) return {};
  return slot_of_states(call.output(k, name, 2), layer);
}

/// Reads the inputs and outputs of the call. Its inputs begin with the gradients of the results.
LayerGradient read_gradient(const Reader& call, const Cell& cell, Handle* handle,
                            bool are_sequences) {
  const bool is_lstm = cell.mode == kLstmCell;
  const int first_state = are_sequences ? 1 : 0;  // among the gradients of the results
  const int first = first_state + (is_lstm ? 2 : 1);
  const int rank = are_sequences ? 3 : 2;
  const Tensor x = call.input(first, "x", rank);
  const int first_weight = first + (is_lstm ? 3 : 2);
  const Weights weights = weights_of(call, first_weight);
  const Weights gradients = gradients_of(call, is_lstm ? 3 : 2, weights);
  Layer layer = layer_of(call, cell, x, weights);
  const RowLengths lengths(call, are_sequences ? first_weight + 3 : kNone, layer);
  layer.has_lengths = lengths.are_given();
  const auto desc = describe(cell, layer);
  const WeightBuffer buffer(handle, cell, layer, desc);
  const auto states = describe_states(layer);
  LayerGradient g{.layer = layer,
                  .cell = desc,
                  .lengths = lengths,
                  .reversal = {},
                  .states = states,
                  .c_states = is_lstm ? states : nullptr,
                  .inputs = describe(with_axis(x, 0)),
                  .results = nullptr,
                  .gradients_desc = nullptr,
                  .buffer = buffer,
                  .weights = buffer.linear_layers(weights),
                  .gradients = buffer.linear_layers(gradients),
                  .wants_weights = gradients.has_w || gradients.has_r || gradients.has_b,
                  .x = slot_of_inputs(x, layer),
                  .h = slot_of_states(call.input(first + 1, "h", 2), layer),
                  .gh = gradient_slot(call, 1, "gh", layer)};
  if (are_sequences) {
    const Reversal reversal(call, layer);
    if (reversal.is_asked()) g.reversal = reversal;
    if (call.has_input(0)) g.gy = slot_of_results(call.input(0, "gy", 3), layer);
    if (call.has_input(1)) g.gh_next = slot_of_states(call.input(1, "gh_next", 2), layer);
  } else {
    g.gy = slot_of_states(call.input(0, "gh_next", 2), layer);
  }
  if (call.has_output(0)) g.gx = slot_of_inputs(call.output(0, "gx", rank), layer);
  if (!is_lstm) return g;
  g.c = slot_of_states(call.input(first + 2, "c", 2), layer);
  const int c_state = first_state + 1;
  if (call.has_input(c_state)) g.gc_next = slot_of_states(call.input(c_state, "gc_next", 2), layer);
  g.gc = gradient_slot(call, 2, "gc", layer);
  return g;
}

/// Allocates copies of the call's sequences with the last step first.
void reverse(LayerGradient& g, Between& between) {
  const std::vector<std::int64_t> inputs = {g.layer.steps, g.layer.batch, g.layer.inputs};
  g.given_x = std::exchange(g.x, between.tensor(g.layer.dtype, inputs).slot);
  if (g.gx) g.given_gx = std::exchange(g.gx, between.tensor(g.layer.dtype, inputs).slot);
  if (g.gy)
    g.given_gy = std::exchange(
        g.gy, between.tensor(g.layer.dtype, {g.layer.steps, g.layer.batch, g.layer.states}).slot);
}

/// Allocates in the workspace the tensors that the library's calls pass to each other, and x's
/// gradient if the call does not want it, since cuDNN always writes it.
void location_gradient(LayerGradient& g, Handle* handle, Between& between) {
  calls().recurrent_work_bytes(handle, g.cell.get(), kTrainingMode,
                               sequences_of(g.layer, {}).x.get(), &g.work_bytes, &g.reserve_bytes);
  const DType dtype = g.layer.dtype;
  const auto of_bytes = [&](std::size_t bytes) {
    const auto count = static_cast<std::int64_t>((bytes + size_of(dtype) - 1) / size_of(dtype));
    return between.tensor(dtype, {1, 1, 1, count});
  };
  const std::vector<std::int64_t> states = {g.layer.batch, g.layer.states};
  const std::vector<std::int64_t> results = {g.layer.steps, g.layer.batch, g.layer.states};
  const Tensor y = between.tensor(dtype, results);
  g.y = y.slot;
  if (g.reversal) reverse(g, between);
  g.results = describe(with_axis(y, 0));
  g.gy_is_zero = !g.gy;
  if (!g.gy) g.gy = between.tensor(dtype, results).slot;
  if (g.c) g.c_next = between.tensor(dtype, states).slot;
  if (!g.gx) g.gx = between.tensor(dtype, {g.layer.steps, g.layer.batch, g.layer.inputs}).slot;
  g.weight_space = of_bytes(g.buffer.bytes()).slot;
  const Tensor gradients = of_bytes(g.buffer.bytes());
  g.gradient_space = gradients.slot;
  g.gradients_desc = describe(gradients);
  g.reserve = of_bytes(g.reserve_bytes).slot;
}

Work gradient_of(const Reader& call, bool are_sequences) {
  auto handle = Cudnn::library().take();
  LayerGradient g = read_gradient(call, cell_of(call.op()), handle.get(), are_sequences);
  Between between(call);
  location_gradient(g, handle.get(), between);
  const Step step{g.work_bytes, [g](Handle* with, const OnDevice& at) { run(with, g, at); }};
  return between.work_of(std::move(handle), {step});
}

}  // namespace

Work recurrent_gradient(const Reader& call) { return gradient_of(call, false); }

Work recurrent_sequence_gradient(const Reader& call) { return gradient_of(call, true); }

}  // namespace mote::cudnn
