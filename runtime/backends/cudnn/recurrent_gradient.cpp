// The gradients of LSTM and GRU cells: cuDNN's layer of one step again, in training, which keeps
// what its gradient wants; then the gradients of x and the states, and after them those of the
// weights.
#include <algorithm>
#include <optional>

#include "ops.h"
#include "recurrent.h"

namespace mote::cudnn {
namespace {

using Slot = std::optional<std::size_t>;

void* if_any(const OnDevice& at, const Slot& slot) { return slot ? at.data[*slot] : nullptr; }

/// What passes between the calls of the library, and what they are told.
struct Gradient {
  std::shared_ptr<RecurrentDesc> cell;
  std::shared_ptr<SequenceDesc> x_desc, y_desc;
  std::shared_ptr<TensorDesc> states, c_states;  ///< c_states: none where there is no c
  std::shared_ptr<TensorDesc> gradients_desc;    ///< all of that buffer
  WeightBuffer buffer;
  std::vector<Linear> weights, gradients;
  std::size_t work_bytes = 0, reserve_bytes = 0;
  DType dtype = DType::f32;
  bool wants_weights = false;
  std::size_t gh_next = 0, x = 0, h = 0;
  Slot gc_next = {}, c = {};
  std::size_t gx = 0;
  Slot gh = {}, gc = {};
  // In the workspace.
  std::size_t h_next = 0, weight_space = 0, gradient_space = 0, reserve = 0;
  Slot c_next = {};
};

void forward(Handle* handle, const Gradient& g, const OnDevice& at) {
  g.buffer.fill(handle, g.weights, at.data[g.weight_space], at);
  calls().recur(handle, g.cell.get(), kTrainingMode, nullptr, g.x_desc.get(), at.data[g.x],
                g.y_desc.get(), at.data[g.h_next], g.states.get(), at.data[g.h], nullptr,
                g.c_states.get(), if_any(at, g.c), if_any(at, g.c_next), g.buffer.bytes(),
                at.data[g.weight_space], g.work_bytes, at.workspace, g.reserve_bytes,
                at.data[g.reserve]);
}

/// h_next is both the layer's result and its last state: its gradient is given as the result's.
void backward(Handle* handle, const Gradient& g, const OnDevice& at) {
  calls().recurrent_data_gradient(
      handle, g.cell.get(), nullptr, g.y_desc.get(), at.data[g.h_next], at.data[g.gh_next],
      g.x_desc.get(), at.data[g.gx], g.states.get(), at.data[g.h], nullptr, if_any(at, g.gh),
      g.c_states.get(), if_any(at, g.c), if_any(at, g.gc_next), if_any(at, g.gc), g.buffer.bytes(),
      at.data[g.weight_space], g.work_bytes, at.workspace, g.reserve_bytes, at.data[g.reserve]);
  if (!g.wants_weights) return;
  // It adds to what is there.
  calls().set_all(handle, g.gradients_desc.get(), at.data[g.gradient_space], zero(g.dtype));
  calls().recurrent_weight_gradient(
      handle, g.cell.get(), kAddGradients, nullptr, g.x_desc.get(), at.data[g.x], g.states.get(),
      at.data[g.h], g.y_desc.get(), at.data[g.h_next], g.buffer.bytes(), at.data[g.gradient_space],
      g.work_bytes, at.workspace, g.reserve_bytes, at.data[g.reserve]);
  g.buffer.give(handle, g.gradients, at.data[g.gradient_space], at);
}

/// The gradients that the call asks for, from its output `first` on; extents of others are those of
/// the weights.
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

/// Where the gradient of a state goes, if it is asked for.
Slot state_slot(const Reader& call, int k, const char* name, const Layer& layer) {
  if (!call.has_output(k)) return {};
  return states_of(call.output(k, name, 2), layer).slot;
}

}  // namespace

Work recurrent_gradient(const Reader& call) {
  const Cell& cell = cell_of(call.op());
  const bool is_lstm = cell.mode == kLstmCell;
  int in = is_lstm ? 2 : 1;  // behind the gradients of the results
  const Tensor x = call.input(in++, "x", 2), h = call.input(in++, "h", 2);
  const int c_at = is_lstm ? in++ : -1;
  const Weights weights{.w = call.input(in, "w", 3),
                        .r = call.input(in + 1, "r", 3),
                        .b = call.input(in + 2, "b", 2)};
  const Layer layer = layer_of(call, cell, x, weights);
  auto handle = Cudnn::library().take();
  const auto desc = describe(cell, layer);
  const WeightBuffer buffer(handle.get(), cell, layer, desc);
  const Weights gradients = gradients_of(call, is_lstm ? 3 : 2, weights);
  Gradient g{.cell = desc,
             .x_desc = describe_sequences(layer, layer.inputs),
             .y_desc = describe_sequences(layer, layer.states),
             .states = describe_states(layer),
             .c_states = is_lstm ? describe_states(layer) : nullptr,
             .gradients_desc = nullptr,
             .buffer = buffer,
             .weights = buffer.linear_layers(weights),
             .gradients = buffer.linear_layers(gradients),
             .dtype = layer.dtype,
             .wants_weights = gradients.has_w || gradients.has_r || gradients.has_b,
             .gh_next = states_of(call.input(0, "gh_next", 2), layer).slot,
             .x = inputs_of(x, layer).slot,
             .h = states_of(h, layer).slot};
  calls().recurrent_work_bytes(handle.get(), desc.get(), kTrainingMode, g.x_desc.get(),
                               &g.work_bytes, &g.reserve_bytes);
  Between between(call);
  const auto bytes = [&](std::size_t count) {
    const std::size_t size = size_of(layer.dtype);
    return between.tensor(layer.dtype,
                          {1, 1, 1, static_cast<std::int64_t>((count + size - 1) / size)});
  };
  const std::vector<std::int64_t> states = {layer.batch, layer.states};
  if (is_lstm) {
    g.c = states_of(call.input(c_at, "c", 2), layer).slot;
    if (call.has_input(1)) g.gc_next = states_of(call.input(1, "gc_next", 2), layer).slot;
    g.gc = state_slot(call, 2, "gc", layer);
    g.c_next = between.tensor(layer.dtype, states).slot;
  }
  g.gh = state_slot(call, 1, "gh", layer);
  g.gx = call.has_output(0) ? inputs_of(call.output(0, "gx", 2), layer).slot
                            : between.tensor(layer.dtype, x.dims).slot;
  g.h_next = between.tensor(layer.dtype, states).slot;
  g.weight_space = bytes(buffer.bytes()).slot;
  const Tensor of_gradients = bytes(buffer.bytes());
  g.gradient_space = of_gradients.slot;
  g.gradients_desc = describe(of_gradients);
  g.reserve = bytes(g.reserve_bytes).slot;
  const std::size_t work_bytes = g.work_bytes;
  const Step step{work_bytes, [g = std::move(g)](Handle* with, const OnDevice& at) {
                    forward(with, g, at);
                    backward(with, g, at);
                  }};
  return between.work_of(std::move(handle), {step});
}

}  // namespace mote::cudnn
