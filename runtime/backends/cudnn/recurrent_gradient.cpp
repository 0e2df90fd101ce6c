// SPDX-License-Identifier: Apache-2.0
// The gradients of LSTM and GRU cells: cuDNN's layer of one step again, in training mode, which
// keeps the data that its gradient needs; then the gradients of x and the states, and after them
// those of the weights.
#include <optional>
#include <utility>

#include "ops.h"
#include "recurrent.h"

namespace mote::cudnn {
namespace {

using Slot = std::optional<std::size_t>;

void* if_any(const OnDevice& at, const Slot& slot) { return slot ? at.data[*slot] : nullptr; }

/// The tensors that the library's calls pass to each other, and their descriptors.
struct CellGradient {
  Layer layer;
  std::shared_ptr<RecurrentDesc> cell;
  std::shared_ptr<SequenceDesc> x_desc, y_desc;
  std::shared_ptr<TensorDesc> states, c_states;  ///< c_states: none if there is no c
  std::shared_ptr<TensorDesc> gradients_desc;    ///< the whole gradient buffer
  WeightBuffer buffer;
  std::vector<Linear> weights, gradients;
  std::size_t work_bytes = 0, reserve_bytes = 0;
  bool wants_weights = false;
  std::size_t gh_next = 0, x = 0, h = 0;
  Slot gc_next = {}, c = {};
  Slot gx = {}, gh = {}, gc = {};
  // These are in the workspace.
  std::size_t h_next = 0, weight_space = 0, gradient_space = 0, reserve = 0;
  Slot c_next = {};
};

void run_step(Handle* handle, const CellGradient& g, const OnDevice& at) {
  g.buffer.fill(handle, g.weights, at.data[g.weight_space], at);
  calls().recur(handle, g.cell.get(), kTrainingMode, nullptr, g.x_desc.get(), at.data[g.x],
                g.y_desc.get(), at.data[g.h_next], g.states.get(), at.data[g.h], nullptr,
                g.c_states.get(), if_any(at, g.c), if_any(at, g.c_next), g.buffer.bytes(),
                at.data[g.weight_space], g.work_bytes, at.workspace, g.reserve_bytes,
                at.data[g.reserve]);
}

/// Computes the gradients. h_next is both the layer's result and its last state: its gradient is
/// given as the result's.
void run_gradient(Handle* handle, const CellGradient& g, const OnDevice& at) {
  calls().recurrent_data_gradient(
      handle, g.cell.get(), nullptr, g.y_desc.get(), at.data[g.h_next], at.data[g.gh_next],
      g.x_desc.get(), if_any(at, g.gx), g.states.get(), at.data[g.h], nullptr, if_any(at, g.gh),
      g.c_states.get(), if_any(at, g.c), if_any(at, g.gc_next), if_any(at, g.gc), g.buffer.bytes(),
      at.data[g.weight_space], g.work_bytes, at.workspace, g.reserve_bytes, at.data[g.reserve]);
  if (!g.wants_weights) return;
  // The call adds to the buffer, so it begins with zeros.
  calls().set_all(handle, g.gradients_desc.get(), at.data[g.gradient_space], zero(g.layer.dtype));
  calls().recurrent_weight_gradient(
      handle, g.cell.get(), kAddGradients, nullptr, g.x_desc.get(), at.data[g.x], g.states.get(),
      at.data[g.h], g.y_desc.get(), at.data[g.h_next], g.buffer.bytes(), at.data[g.gradient_space],
      g.work_bytes, at.workspace, g.reserve_bytes, at.data[g.reserve]);
  g.buffer.give(handle, g.gradients, at.data[g.gradient_space], at);
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
CellGradient read_gradient(const Reader& call, const Cell& cell, Handle* handle) {
  const bool is_lstm = cell.mode == kLstmCell;
  const int first = is_lstm ? 2 : 1;
  const Tensor x = call.input(first, "x", 2);
  const Weights weights = weights_of(call, first + (is_lstm ? 3 : 2));
  const Weights gradients = gradients_of(call, is_lstm ? 3 : 2, weights);
  const Layer layer = layer_of(call, cell, x, weights);
  const auto desc = describe(cell, layer);
  const WeightBuffer buffer(handle, cell, layer, desc);
  const auto states = describe_states(layer);
  CellGradient g{.layer = layer,
                 .cell = desc,
                 .x_desc = describe_sequences(layer, layer.inputs),
                 .y_desc = describe_sequences(layer, layer.states),
                 .states = states,
                 .c_states = is_lstm ? states : nullptr,
                 .gradients_desc = nullptr,
                 .buffer = buffer,
                 .weights = buffer.linear_layers(weights),
                 .gradients = buffer.linear_layers(gradients),
                 .wants_weights = gradients.has_w || gradients.has_r || gradients.has_b,
                 .gh_next = slot_of_states(call.input(0, "gh_next", 2), layer),
                 .x = slot_of_inputs(x, layer),
                 .h = slot_of_states(call.input(first + 1, "h", 2), layer),
                 .gh = gradient_slot(call, 1, "gh", layer)};
  if (call.has_output(0)) g.gx = slot_of_inputs(call.output(0, "gx", 2), layer);
  if (!is_lstm) return g;
  g.c = slot_of_states(call.input(first + 2, "c", 2), layer);
  if (call.has_input(1)) g.gc_next = slot_of_states(call.input(1, "gc_next", 2), layer);
  g.gc = gradient_slot(call, 2, "gc", layer);
  return g;
}

/// Allocates in the workspace the tensors that the library's calls pass to each other, and x's
/// gradient if the call does not want it, since cuDNN always writes it.
void location_gradient(CellGradient& g, Handle* handle, Between& between) {
  calls().recurrent_work_bytes(handle, g.cell.get(), kTrainingMode, g.x_desc.get(), &g.work_bytes,
                               &g.reserve_bytes);
  const DType dtype = g.layer.dtype;
  const auto of_bytes = [&](std::size_t bytes) {
    const auto count = static_cast<std::int64_t>((bytes + size_of(dtype) - 1) / size_of(dtype));
    return between.tensor(dtype, {1, 1, 1, count});
  };
  const std::vector<std::int64_t> states = {g.layer.batch, g.layer.states};
  g.h_next = between.tensor(dtype, states).slot;
  if (g.c) g.c_next = between.tensor(dtype, states).slot;
  if (!g.gx) g.gx = between.tensor(dtype, {g.layer.batch, g.layer.inputs}).slot;
  g.weight_space = of_bytes(g.buffer.bytes()).slot;
  const Tensor gradients = of_bytes(g.buffer.bytes());
  g.gradient_space = gradients.slot;
  g.gradients_desc = describe(gradients);
  g.reserve = of_bytes(g.reserve_bytes).slot;
}

}  // namespace

Work recurrent_gradient(const Reader& call) {
  auto handle = Cudnn::library().take();
  CellGradient g = read_gradient(call, cell_of(call.op()), handle.get());
  Between between(call);
  location_gradient(g, handle.get(), between);
  const Step step{g.work_bytes, [g](Handle* with, const OnDevice& at) {
                    run_step(with, g, at);
                    run_gradient(with, g, at);
                  }};
  return between.work_of(std::move(handle), {step});
}

}  // namespace mote::cudnn
