// SPDX-License-Identifier: Apache-2.0
// Cells of RNN, LSTM and GRU as cuDNN's recurrent layers of one step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "describe.h"

namespace mote::cudnn {

/// A kind of cell in cuDNN. `gates` has cuDNN's number of each gate, in the catalogue's order.
struct Cell {
  int mode = kTanhCell;
  int biases = kInputBias;
  std::span<const int> gates;
};
/// Returns the cell of lstm_cell, gru_cell or rnn_cell, or of their gradients.
const Cell& cell_of(const std::string& op);

/// One layer of one direction: x[N,I] and h[N,H] to h[N,H].
struct Layer {
  DType dtype = DType::f32;
  int math = kFmaMath;
  std::int64_t batch = 1, inputs = 1, states = 1;
};
std::shared_ptr<RecurrentDesc> describe(const Cell& cell, const Layer& layer);
/// Describes sequences of one vector each, without gaps.
std::shared_ptr<SequenceDesc> describe_sequences(const Layer& layer, std::int64_t extent);
/// Describes states [1,N,H], without gaps.
std::shared_ptr<TensorDesc> describe_states(const Layer& layer);

/// The weights of a cell in the catalogue's layout, by gate: those of x, those of the state, and
/// the biases. If they are gradients, a call may leave some out.
struct Weights {
  Tensor w, r, b;
  bool has_w = true, has_r = true, has_b = true;
};
/// Reads the inputs of a call from `first` on.
Weights weights_of(const Reader& call, int first);
/// Returns the layer of a call with these tensors; rejects other extents.
Layer layer_of(const Reader& call, const Cell& cell, const Tensor& x, const Weights& weights);
/// Return the slot of a tensor that must be [N,H] (states) or [N,I] (inputs), without gaps.
std::size_t slot_of_states(const Tensor& t, const Layer& layer);
std::size_t slot_of_inputs(const Tensor& t, const Layer& layer);

/// A matrix or a bias of one gate, in the catalogue's tensor and in cuDNN's buffer.
struct Part {
  Tensor of;               ///< has rank 4; its slot is the tensor's
  std::int64_t first = 0;  ///< the index of its first element in the tensor
  bool is_there = true;    ///< if false, zeros in the buffer and no tensor
  std::shared_ptr<TensorDesc> in_tensor, in_buffer;
};
/// One of cuDNN's linear layers: a gate's product with x, or with h.
struct Linear {
  int number = 0;
  std::int64_t rows = 0, columns = 0;
  Part matrix;
  std::optional<Part> bias;
};

/// The buffer in which cuDNN has the weights of all gates, in cuDNN's layout.
class WeightBuffer {
 public:
  WeightBuffer(Handle* handle, const Cell& cell, const Layer& layer,
               std::shared_ptr<RecurrentDesc> desc);
  std::size_t bytes() const { return bytes_; }
  /// Copies from the tensors into the buffer.
  void fill(Handle* handle, const std::vector<Linear>& all, void* buffer, const OnDevice& at) const;
  /// Copies from the buffer into the tensors that are present.
  void give(Handle* handle, const std::vector<Linear>& all, void* buffer, const OnDevice& at) const;
  std::vector<Linear> linear_layers(const Weights& weights) const;

 private:
  template <typename F>
  void for_each_part(Handle* handle, const std::vector<Linear>& all, void* buffer,
                     const F& f) const;
  const Cell& cell_;
  DType dtype_;
  std::shared_ptr<RecurrentDesc> desc_;
  std::shared_ptr<TensorDesc> of_matrix_, of_bias_;
  std::size_t bytes_ = 0;
};

}  // namespace mote::cudnn
