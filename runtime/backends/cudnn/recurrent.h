// SPDX-License-Identifier: Apache-2.0
// Cells of RNN, LSTM and GRU as cuDNN's recurrent layers of one step, and sequences of their steps.
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
/// Returns the cell of lstm_cell, gru_cell or rnn_cell, of their sequences, or of gradients.
const Cell& cell_of(const std::string& op);

/// One layer of one direction: x[T,N,I] and h[N,H] to y[T,N,H] and h[N,H].
struct Layer {
  DType dtype = DType::f32;
  int math = kFmaMath;
  std::int64_t batch = 1, inputs = 1, states = 1;
  std::int64_t steps = 1;
  bool has_lengths = false;  ///< rows have their own numbers of steps
};
std::shared_ptr<RecurrentDesc> describe(const Cell& cell, const Layer& layer);
/// Describes sequences [T,N,extent], without gaps, of which each row has all steps, or as many as
/// its length. What is behind a row's length is 0 where cuDNN writes it.
std::shared_ptr<SequenceDesc> describe_sequences(const Layer& layer, std::int64_t extent,
                                                 const std::vector<int>& lengths = {});
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
/// Returns the layer of a call with these tensors, of which x is one step [N,I], or a sequence
/// [T,N,I]; rejects other extents.
Layer layer_of(const Reader& call, const Cell& cell, const Tensor& x, const Weights& weights);
/// Return the slot of a tensor without gaps that must be [N,H] (states), [N,I] or [T,N,I] (inputs),
/// or [T,N,H] (results).
std::size_t slot_of_states(const Tensor& t, const Layer& layer);
std::size_t slot_of_inputs(const Tensor& t, const Layer& layer);
std::size_t slot_of_results(const Tensor& t, const Layer& layer);

/// The lengths of rows, i64[N], which are read when the call runs.
class RowLengths {
 public:
  /// Reads input k of the call; there may be none.
  RowLengths(const Reader& call, int k, const Layer& layer);
  bool are_given() const { return slot_.has_value(); }
  /// Returns the length of each row, from 0 to the number of steps, once the work so far on the
  /// stream is done; none if none are given.
  std::vector<int> read(const OnDevice& at) const;
  /// Copies the states of the rows without steps, for which cuDNN's manual promises nothing.
  void keep_states(Handle* handle, const std::vector<int>& lengths, const void* from,
                   void* to) const;
  /// Writes zeros to the states of these rows.
  void clear_states(Handle* handle, const std::vector<int>& lengths, void* states) const;

 private:
  Layer layer_;
  std::optional<std::size_t> slot_;
  std::shared_ptr<TensorDesc> row_;
};
/// Sequences [T,N,extent] in the order of a way backwards, which cuDNN has only beside one
/// forwards: copies with the last step first.
class Reversal {
 public:
  /// Reads the parameter; declines a way backwards of rows that have lengths, whose steps are not
  /// reversed together.
  Reversal(const Reader& call, const Layer& layer);
  bool is_asked() const { return is_asked_; }
  /// Copies all steps; `extent` is I or H.
  void copy(const OnDevice& at, const void* from, void* to, std::int64_t extent) const;

 private:
  Layer layer_;
  bool is_asked_ = false;
};
/// True if rows have lengths, and none a step: cuDNN is not asked then.
bool are_empty(const std::vector<int>& lengths);

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
