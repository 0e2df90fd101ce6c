// Cells of RNN, LSTM and GRU: cuDNN's layer of one direction over sequences of one vector. It wants
// the weights of all gates in one buffer, laid out as it says: they are copied into the workspace.
#include "recurrent.h"

#include <array>
#include <utility>

#include "ops.h"

namespace mote::cudnn {
namespace {

constexpr int kLayers = 1;
constexpr std::array kOneGate = {0};
/// Input, forget, new memory, output gate.
constexpr std::array kLstmGates = {0, 1, 2, 3};
/// The catalogue's update, reset, new; cuDNN's reset, update, new.
constexpr std::array kGruGates = {1, 0, 2};
constexpr Cell kRnn = {kTanhCell, kInputBias, kOneGate};
constexpr Cell kLstm = {kLstmCell, kInputBias, kLstmGates};
// The reset gate multiplies r h + b3, and not b2: two biases.
constexpr Cell kGru = {kGruCell, kBothBiases, kGruGates};

/// What of a tensor is one gate's: elements from `first` on, of rank 4.
struct Part {
  Tensor of;
  std::int64_t first = 0;
};
Part gate_of(const Tensor& t, std::size_t gate) {
  Part part{t, static_cast<std::int64_t>(gate) * t.strides[0]};
  part.of.dims.erase(part.of.dims.begin());
  part.of.strides.erase(part.of.strides.begin());
  // Rows, and one column where it is a bias: as cuDNN describes its own.
  if (part.of.rank() == 1) part.of = with_axis(std::move(part.of), 1);
  while (part.of.rank() < 4) part.of = with_axis(std::move(part.of), 0);
  return part;
}

Tensor dense_part(Tensor t) {
  t.strides = packed_strides(t.dims);
  return t;
}

/// A matrix or a bias of cuDNN's buffer, and where it comes from: zeros where `from` is none.
struct Filling {
  std::optional<Part> from;
  std::shared_ptr<TensorDesc> source;  ///< `from` as it lies
  std::shared_ptr<TensorDesc> target;  ///< without gaps
};
Filling filling_of(const Tensor& like, std::optional<Part> from) {
  Filling f{std::move(from), nullptr, describe(dense_part(like))};
  if (f.from) f.source = describe(f.from->of);
  return f;
}

/// One of cuDNN's linear layers: a gate's product with x, or with h.
struct Linear {
  int number = 0;
  std::int64_t rows = 0, columns = 0;
  DType dtype = DType::f32;
  Filling matrix;
  std::optional<Filling> bias;
};

void fill(Handle* handle, const Filling& f, DType dtype, void* to, const OnDevice& at) {
  if (!f.from) {
    calls().set_all(handle, f.target.get(), to, zero(dtype));
    return;
  }
  const void* from = static_cast<const char*>(at.data[f.from->of.slot]) +
                     f.from->first * static_cast<std::int64_t>(size_of(dtype));
  calls().transform(handle, one(dtype), f.source.get(), from, zero(dtype), f.target.get(), to);
}

/// cuDNN documents its matrices as [1, rows, columns], row-major, and its biases as [1, rows, 1].
void require_row_major(const TensorDesc* desc, std::int64_t rows, std::int64_t columns) {
  constexpr int kRank = 3;
  int type = 0, rank = 0;
  std::array<int, kRank> dims{}, strides{};
  calls().get_tensor(desc, kRank, &type, &rank, dims.data(), strides.data());
  const bool is_right = rank == kRank && dims[0] == 1 && dims[1] == rows && dims[2] == columns &&
                        (rows == 1 || strides[1] == columns) && (columns == 1 || strides[2] == 1);
  if (!is_right)
    throw cuda::LibraryError(cuda::Failure::broken,
                             "cudnnGetRNNWeightParams: weights are not row-major");
}

/// The tensors of a call, and what they become.
struct Recurrent {
  std::shared_ptr<RecurrentDesc> cell;
  std::shared_ptr<SequenceDesc> x, y;
  std::shared_ptr<TensorDesc> states, of_matrix, of_bias;
  std::vector<Linear> linear;
  std::size_t weight_bytes = 0, work_bytes = 0;
  std::size_t x_slot = 0, h_slot = 0, h_next_slot = 0;
  std::optional<std::pair<std::size_t, std::size_t>> c_slots;  ///< c, c_next
};

void fill_weights(Handle* handle, const Recurrent& r, void* space, const OnDevice& at) {
  for (const Linear& l : r.linear) {
    void *matrix = nullptr, *bias = nullptr;
    calls().recurrent_weights(handle, r.cell.get(), 0, r.weight_bytes, space, l.number,
                              r.of_matrix.get(), &matrix, r.of_bias.get(), &bias);
    require_row_major(r.of_matrix.get(), l.rows, l.columns);
    fill(handle, l.matrix, l.dtype, matrix, at);
    if (!l.bias) continue;
    require_row_major(r.of_bias.get(), l.rows, 1);
    fill(handle, *l.bias, l.dtype, bias, at);
  }
}

Step step_of(Handle* handle, Recurrent r) {
  calls().recurrent_weight_bytes(handle, r.cell.get(), &r.weight_bytes);
  std::size_t reserve = 0;
  calls().recurrent_work_bytes(handle, r.cell.get(), kInference, r.x.get(), &r.work_bytes,
                               &reserve);
  const std::size_t weights = aligned(r.weight_bytes);
  return {weights + r.work_bytes, [r = std::move(r), weights](Handle* with, const OnDevice& at) {
            char* const space = static_cast<char*>(at.workspace);
            fill_weights(with, r, space, at);
            const auto slots = r.c_slots.value_or(std::pair<std::size_t, std::size_t>());
            const bool has_c = r.c_slots.has_value();
            calls().recur(with, r.cell.get(), kInference, nullptr, r.x.get(), at.data[r.x_slot],
                          r.y.get(), at.data[r.h_next_slot], r.states.get(), at.data[r.h_slot],
                          nullptr, has_c ? r.states.get() : nullptr,
                          has_c ? at.data[slots.first] : nullptr,
                          has_c ? at.data[slots.second] : nullptr, r.weight_bytes, space,
                          r.work_bytes, space + weights, 0, nullptr);
          }};
}

Tensor states_of(Tensor t, const Layer& layer) {
  nvidia::require_dims(t, {layer.batch, layer.states});
  if (!nvidia::is_dense(t)) decline(t.text() + " has gaps");
  return t;
}

/// The linear layers of all gates: b of each gate lies beside the product with x, and that of a
/// GRU's new gate with h, its fourth, beside that.
std::vector<Linear> linear_layers(const Cell& cell, const Tensor& w, const Tensor& r,
                                  const Tensor& b) {
  const std::size_t gates = cell.gates.size();
  std::vector<Linear> all;
  for (std::size_t g = 0; g < gates; ++g) {
    const Part bias = gate_of(b, g);
    for (const bool of_state : {false, true}) {
      const Part matrix = gate_of(of_state ? r : w, g);
      Linear l{.number = cell.gates[g] + (of_state ? static_cast<int>(gates) : 0),
               .rows = matrix.of.dims[2],
               .columns = matrix.of.dims[3],
               .dtype = w.dtype,
               .matrix = filling_of(matrix.of, matrix),
               .bias = {}};
      if (!of_state)
        l.bias = filling_of(bias.of, bias);
      else if (cell.biases == kBothBiases)
        l.bias =
            filling_of(bias.of, g + 1 == gates ? std::optional(gate_of(b, gates)) : std::nullopt);
      all.push_back(std::move(l));
    }
  }
  return all;
}

}  // namespace

const Cell& cell_of(const std::string& op) {
  return op == "lstm_cell" ? kLstm : op == "gru_cell" ? kGru : kRnn;
}

std::shared_ptr<RecurrentDesc> describe(const Cell& cell, const Layer& layer) {
  auto desc = made(calls().create_recurrent, calls().destroy_recurrent);
  const int type = type_of(layer.dtype), states = static_cast<int>(layer.states);
  calls().set_recurrent(desc.get(), kStandardAlgorithm, cell.mode, cell.biases, kOneDirection,
                        kLinearInput, type, type, layer.math, static_cast<int>(layer.inputs),
                        states, states, kLayers, nullptr, kWithoutPads);
  return desc;
}

std::shared_ptr<SequenceDesc> describe_sequences(const Layer& layer, std::int64_t extent) {
  auto desc = made(calls().create_sequences, calls().destroy_sequences);
  const std::vector<int> lengths(static_cast<std::size_t>(layer.batch), 1);
  calls().set_sequences(desc.get(), type_of(layer.dtype), kPacked, 1, static_cast<int>(layer.batch),
                        static_cast<int>(extent), lengths.data(), nullptr);
  return desc;
}

std::shared_ptr<TensorDesc> describe_states(const Layer& layer) {
  const std::int64_t row = layer.states;
  return describe({.name = "states",
                   .dtype = layer.dtype,
                   .dims = {kLayers, layer.batch, row},
                   .strides = {layer.batch * row, row, 1}});
}

// cuDNN's equations are the catalogue's, gate by gate; that of GRU has the reset gate after the
// product with r.
Work recurrent_cell(const Reader& call) {
  const Cell& cell = cell_of(call.op());
  const bool is_lstm = cell.mode == kLstmCell;
  const int weights = is_lstm ? 3 : 2;
  const auto gates = static_cast<std::int64_t>(cell.gates.size());
  const Tensor x = call.input(0, "x", 2), w = call.input(weights, "w", 3),
               r = call.input(weights + 1, "r", 3), b = call.input(weights + 2, "b", 2);
  const Layer layer{.dtype = x.dtype,
                    .math = call.kind() == Kind::f32 ? kFmaMath : kDefaultMath,
                    .batch = x.dims[0],
                    .inputs = x.dims[1],
                    .states = w.dims[1]};
  nvidia::require_dims(w, {gates, layer.states, layer.inputs});
  nvidia::require_dims(r, {gates, layer.states, layer.states});
  nvidia::require_dims(b, {gates + (cell.mode == kGruCell ? 1 : 0), layer.states});
  if (!nvidia::is_dense(x)) decline(x.text() + " has gaps");
  Recurrent all{.cell = describe(cell, layer),
                .x = describe_sequences(layer, layer.inputs),
                .y = describe_sequences(layer, layer.states),
                .states = describe_states(layer),
                .of_matrix = made(calls().create_tensor, calls().destroy_tensor),
                .of_bias = made(calls().create_tensor, calls().destroy_tensor),
                .linear = linear_layers(cell, w, r, b),
                .x_slot = x.slot,
                .h_slot = states_of(call.input(1, "h", 2), layer).slot,
                .h_next_slot = states_of(call.output(0, "h_next", 2), layer).slot,
                .c_slots = {}};
  if (is_lstm)
    all.c_slots = {states_of(call.input(2, "c", 2), layer).slot,
                   states_of(call.output(1, "c_next", 2), layer).slot};
  auto handle = Cudnn::library().take();
  const Step step = step_of(handle.get(), std::move(all));
  return work_of(std::move(handle), {step});
}

}  // namespace mote::cudnn
