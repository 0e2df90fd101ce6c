// Cells of RNN, LSTM and GRU as cuDNN's recurrent layers of one step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "describe.h"

namespace mote::cudnn {

/// A kind of cell as cuDNN has it. `gates`: cuDNN's number of each gate, in the catalogue's order.
struct Cell {
  int mode = kTanhCell;
  int biases = kInputBias;
  std::span<const int> gates;
};
/// lstm_cell, gru_cell or rnn_cell.
const Cell& cell_of(const std::string& op);

/// One layer of one direction: x[N,I] and h[N,H] to h[N,H].
struct Layer {
  DType dtype = DType::f32;
  int math = kFmaMath;
  std::int64_t batch = 1, inputs = 1, states = 1;
};
std::shared_ptr<RecurrentDesc> describe(const Cell& cell, const Layer& layer);
/// Sequences of one vector each, without gaps.
std::shared_ptr<SequenceDesc> describe_sequences(const Layer& layer, std::int64_t extent);
/// States [1,N,H], without gaps.
std::shared_ptr<TensorDesc> describe_states(const Layer& layer);

}  // namespace mote::cudnn
