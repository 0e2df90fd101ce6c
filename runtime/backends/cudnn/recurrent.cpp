// SPDX-License-Identifier: Apache-2.0
// Cells of RNN, LSTM and GRU: cuDNN's layer of one direction over sequences of one vector.
#include "recurrent.h"

#include <array>
#include <utility>

#include "ops.h"

namespace mote::cudnn {
namespace {

constexpr int kLayers = 1;
constexpr std::array kOneGate = {0};
/// The gates input, forget, new memory, output.
constexpr std::array kLstmGates = {0, 1, 2, 3};
/// The catalogue's order is update, reset, new; cuDNN's is reset, update, new.
constexpr std::array kGruGates = {1, 0, 2};
constexpr Cell kRnn = {kTanhCell, kInputBias, kOneGate};
constexpr Cell kLstm = {kLstmCell, kInputBias, kLstmGates};
// The reset gate multiplies r h + b3, and not b2: two biases are needed.
constexpr Cell kGru = {kGruCell, kBothBiases, kGruGates};

/// The slots and descriptors of a call's tensors.
struct Recurrent {
  std::shared_ptr<RecurrentDesc> cell;
  std::shared_ptr<SequenceDesc> x, y;
  std::shared_ptr<TensorDesc> states;
  std::vector<Linear> linear;
  std::size_t x_slot = 0, h_slot = 0, h_next_slot = 0;
  std::optional<std::pair<std::size_t, std::size_t>> c_slots;  ///< c, c_next
};

Step step_of(Handle* handle, const Recurrent& r, const WeightBuffer& buffer) {
  std::size_t bytes = 0, reserve = 0;
  calls().recurrent_work_bytes(handle, r.cell.get(), kInference, r.x.get(), &bytes, &reserve);
  const std::size_t weights = aligned(buffer.bytes());
  return {weights + bytes, [=](Handle* with, const OnDevice& at) {
            char* const space = static_cast<char*>(at.workspace);
            buffer.fill(with, r.linear, space, at);
            const auto slots = r.c_slots.value_or(std::pair<std::size_t, std::size_t>());
            const bool has_c = r.c_slots.has_value();
            calls().recur(with, r.cell.get(), kInference, nullptr, r.x.get(), at.data[r.x_slot],
                          r.y.get(), at.data[r.h_next_slot], r.states.get(), at.data[r.h_slot],
                          nullptr, has_c ? r.states.get() : nullptr,
                          has_c ? at.data[slots.first] : nullptr,
                          has_c ? at.data[slots.second] : nullptr, buffer.bytes(), space, bytes,
                          space + weights, 0, nullptr);
          }};
}

}  // namespace

const Cell& cell_of(const std::string& op) {
  return op.starts_with("lstm") ? kLstm : op.starts_with("gru") ? kGru : kRnn;
}

std::shared_ptr<RecurrentDesc> describe(const Cell& cell, const Layer& layer) {
  auto desc = made(calls().create_recurrent, calls().destroy_recurrent);
  const int type = type_of(layer.dtype), states = static_cast<int>(layer.states);
  calls().set_recurrent(desc.get(), kStandardAlgorithm, cell.mode, cell.biases, kOneDirection,
                        kLinearInput, type, type, layer.math, static_cast<int>(layer.inputs),
                        states, states, kLayers, nullptr,
                        layer.has_lengths ? kWithPads : kWithoutPads);
  return desc;
}

std::shared_ptr<SequenceDesc> describe_sequences(const Layer& layer, std::int64_t extent,
                                                 const std::vector<int>& lengths) {
  auto desc = made(calls().create_sequences, calls().destroy_sequences);
  const int steps = static_cast<int>(layer.steps);
  const std::vector<int> all(static_cast<std::size_t>(layer.batch), steps);
  // Sequences of all steps have no pads, whichever the layout. Pads are 0.
  calls().set_sequences(desc.get(), type_of(layer.dtype), layer.has_lengths ? kStepMajor : kPacked,
                        steps, static_cast<int>(layer.batch), static_cast<int>(extent),
                        lengths.empty() ? all.data() : lengths.data(),
                        layer.has_lengths ? const_cast<void*>(zero(layer.dtype)) : nullptr);
  return desc;
}

std::shared_ptr<TensorDesc> describe_states(const Layer& layer) {
  const std::int64_t row = layer.states;
  return describe({.name = "states",
                   .dtype = layer.dtype,
                   .dims = {kLayers, layer.batch, row},
                   .strides = {layer.batch * row, row, 1}});
}

Layer layer_of(const Reader& call, const Cell& cell, const Tensor& x, const Weights& weights) {
  const auto gates = static_cast<std::int64_t>(cell.gates.size());
  const std::size_t row = x.rank() - 2;
  Layer layer{.dtype = x.dtype,
              .math = call.kind() == Kind::f32 ? kFmaMath : kDefaultMath,
              .batch = x.dims[row],
              .inputs = x.dims[row + 1],
              .states = weights.w.dims[1],
              .steps = row == 0 ? 1 : x.dims[0]};
  if (x.rank() == 3) describe(with_axis(x, 0));  // declines what does not fit into 32 bits
  nvidia::require_dims(weights.w, {gates, layer.states, layer.inputs});
  nvidia::require_dims(weights.r, {gates, layer.states, layer.states});
  nvidia::require_dims(weights.b, {gates + (cell.mode == kGruCell ? 1 : 0), layer.states});
  return layer;
}

Weights weights_of(const Reader& call, int first) {
  return {.w = call.input(first, "w", 3),
          .r = call.input(first + 1, "r", 3),
          .b = call.input(first + 2, "b", 2)};
}

namespace {

std::size_t slot_of(const Tensor& t, const std::vector<std::int64_t>& dims) {
  nvidia::require_dims(t, dims);
  if (!nvidia::is_dense(t)) decline(t.text() + " has gaps");
  return t.slot;
}

}  // namespace

std::size_t slot_of_states(const Tensor& t, const Layer& layer) {
  return slot_of(t, {layer.batch, layer.states});
}

std::size_t slot_of_inputs(const Tensor& t, const Layer& layer) {
  if (t.rank() == 3) return slot_of(t, {layer.steps, layer.batch, layer.inputs});
  return slot_of(t, {layer.batch, layer.inputs});
}

std::size_t slot_of_results(const Tensor& t, const Layer& layer) {
  describe(with_axis(t, 0));  // declines what does not fit into 32 bits
  return slot_of(t, {layer.steps, layer.batch, layer.states});
}

// cuDNN's equations are the catalogue's, gate by gate; that of GRU has the reset gate after the
// product with r.
Work recurrent_cell(const Reader& call) {
  const Cell& cell = cell_of(call.op());
  const bool is_lstm = cell.mode == kLstmCell;
  const Tensor x = call.input(0, "x", 2);
  const Weights weights = weights_of(call, is_lstm ? 3 : 2);
  const Layer layer = layer_of(call, cell, x, weights);
  Recurrent all{.cell = describe(cell, layer),
                .x = describe_sequences(layer, layer.inputs),
                .y = describe_sequences(layer, layer.states),
                .states = describe_states(layer),
                .linear = {},
                .x_slot = slot_of_inputs(x, layer),
                .h_slot = slot_of_states(call.input(1, "h", 2), layer),
                .h_next_slot = slot_of_states(call.output(0, "h_next", 2), layer),
                .c_slots = {}};
  if (is_lstm)
    all.c_slots = {slot_of_states(call.input(2, "c", 2), layer),
                   slot_of_states(call.output(1, "c_next", 2), layer)};
  auto handle = Cudnn::library().take();
  const WeightBuffer buffer(handle.get(), cell, layer, all.cell);
  all.linear = buffer.linear_layers(weights);
  const Step step = step_of(handle.get(), all, buffer);
  return work_of(std::move(handle), {step});
}

}  // namespace mote::cudnn
