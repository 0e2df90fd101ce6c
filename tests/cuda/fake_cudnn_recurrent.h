// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's recurrent layers: one of one direction, of sequences of one vector.
#pragma once

#include <cmath>
#include <optional>

#include "fake_cudnn.h"

namespace fake::cudnn {

constexpr int kTanh = 1, kLstm = 2, kGru = 3;
constexpr int kInputBias = 1, kBothBiases = 2, kStateBias = 3;
constexpr int kFmaMath = 3;
constexpr std::int64_t kGap = 5;
constexpr std::size_t kRecurrentWorkspace = 768;

struct RecurrentDesc {
  int algorithm = -1, mode = 0, biases = 0, direction = 0, input = 0;
  int type = 0, precision = 0, math = 0;
  std::int64_t inputs = 0, states = 0, projected = 0, layers = 0;
  std::uint32_t flags = 0;

  int gates() const { return mode == kLstm ? 4 : mode == kGru ? 3 : 1; }
  int linear_layers() const { return 2 * gates(); }
  std::int64_t columns(int layer) const { return layer < gates() ? inputs : states; }
  bool has_bias(int layer) const {
    return biases == kBothBiases || biases == (layer < gates() ? kInputBias : kStateBias);
  }
  /// Elements of the buffer in front of a linear layer's matrix, which its bias follows.
  std::int64_t first(int layer) const {
    std::int64_t at = kGap;
    for (int k = linear_layers() - 1; k > layer; --k) at += size(k);
    return at;
  }
  std::int64_t size(int layer) const {
    return states * columns(layer) + (has_bias(layer) ? states : 0) + kGap;
  }
  std::size_t bytes() const {
    return static_cast<std::size_t>(first(-1)) * fake::bytes_of(element_of(type));
  }
};

struct SequenceDesc {
  int type = -1, layout = 0, longest = 0;
  std::int64_t batch = 0, extent = 0;
  std::vector<int> lengths;
};

inline Dims packed_strides(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t inner = 1;
  for (std::size_t k = dims.size(); k-- > 0; inner *= dims[k]) strides[k] = inner;
  return strides;
}

inline bool is_packed_as(const TensorDesc& t, int type, const Dims& dims) {
  return t.type == type && t.dims == dims && t.strides == packed_strides(dims);
}

/// The sizes and layouts go together, and the layer is one that the fake computes.
inline bool is_plain(const RecurrentDesc& r) {
  return r.algorithm == 0 && r.direction == 0 && r.input == 0 && r.layers == 1 && r.mode != 0 &&
         r.projected == r.states;
}
inline bool fits(const RecurrentDesc& r, const SequenceDesc& x, const SequenceDesc& y) {
  return x.type == r.type && y.type == r.type && x.extent == r.inputs && y.extent == r.projected &&
         x.batch == y.batch && x.lengths == y.lengths && x.layout == y.layout &&
         (x.layout == 1 || r.flags == 1);
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// What training keeps of each state of each row, for the gradient: numbers of the layer's type,
/// kept as doubles. First the gates, by cuDNN's numbers; of an LSTM then tanh(c'), of a GRU the new
/// gate's product with the state. The gradient puts those of the linear layers in their place.
class Reserve {
 public:
  static constexpr std::int64_t kNumbers = 10;
  static constexpr int kResult = 8,
                       kState = 9;  ///< h' and h, which the gradient must be given again
  static std::size_t bytes(const RecurrentDesc& r, std::int64_t batch) {
    return static_cast<std::size_t>(batch * r.states * kNumbers) * sizeof(double);
  }
  Reserve(const RecurrentDesc& r, void* at) : r_(r), numbers_(at, Element::f64) {}
  double get(std::int64_t row, std::int64_t state, int k) const {
    return numbers_.get(index(row, state, k));
  }
  void set(std::int64_t row, std::int64_t state, int k, double value) const {
    numbers_.set(index(row, state, k), as_type(value));
  }
  /// Whether these are the result and the state of the forward call.
  bool is_of(std::int64_t batch, const Elements& result, const Elements& state) const {
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t k = 0; k < r_.states; ++k)
        if (!are_same(get(n, k, kResult), result.get(n * r_.states + k)) ||
            !are_same(get(n, k, kState), state.get(n * r_.states + k)))
          return false;
    return true;
  }
  double as_type(double value) const {
    return r_.type == 1 ? value : static_cast<double>(static_cast<float>(value));
  }

 private:
  static bool are_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
  std::int64_t index(std::int64_t row, std::int64_t state, int k) const {
    return (row * r_.states + state) * kNumbers + k;
  }
  const RecurrentDesc& r_;
  Elements numbers_;
};

/// A number as the layer multiplies it.
inline double operand(const RecurrentDesc& r, double value) {
  return r.type == 0 && r.math != kFmaMath ? to_tf32(value) : value;
}

}  // namespace fake::cudnn
