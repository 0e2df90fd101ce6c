// SPDX-License-Identifier: Apache-2.0
// Copies the weights of a cell's gates between the call's tensors and the one buffer that cuDNN
// requires, in cuDNN's layout.
#include <array>
#include <utility>

#include "recurrent.h"

namespace mote::cudnn {
namespace {

Tensor gate_of(Tensor t) {
  t.dims.erase(t.dims.begin());
  t.strides.erase(t.strides.begin());
  // The last axes are rows and columns; a bias has one column, as in cuDNN's description.
  if (t.rank() == 1) t = with_axis(std::move(t), 1);
  while (t.rank() < 4) t = with_axis(std::move(t), 0);
  return t;
}

Tensor dense_part(Tensor t) {
  t.strides = packed_strides(t.dims);
  return t;
}

Part part_of(const Tensor& t, std::size_t gate, bool is_there) {
  Part part{.of = gate_of(t),
            .first = static_cast<std::int64_t>(gate) * t.strides[0],
            .is_there = is_there,
            .in_tensor = nullptr,
            .in_buffer = nullptr};
  part.in_buffer = describe(dense_part(part.of));
  if (is_there) part.in_tensor = describe(part.of);
  return part;
}

void* address(const Part& part, const OnDevice& at) {
  return static_cast<char*>(at.data[part.of.slot]) +
         part.first * static_cast<std::int64_t>(size_of(part.of.dtype));
}

/// Checks cuDNN's documented layout: matrices are [1, rows, columns], row-major, and biases [1,
/// rows, 1].
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

}  // namespace

WeightBuffer::WeightBuffer(Handle* handle, const Cell& cell, const Layer& layer,
                           std::shared_ptr<RecurrentDesc> desc)
    : cell_(cell),
      dtype_(layer.dtype),
      desc_(std::move(desc)),
      of_matrix_(made(calls().create_tensor, calls().destroy_tensor)),
      of_bias_(made(calls().create_tensor, calls().destroy_tensor)) {
  calls().recurrent_weight_bytes(handle, desc_.get(), &bytes_);
}

// The bias of each gate is that of its product with x; the fourth bias of a GRU is that of the new
// gate's product with h.
std::vector<Linear> WeightBuffer::linear_layers(const Weights& weights) const {
  const std::size_t gates = cell_.gates.size();
  std::vector<Linear> all;
  for (std::size_t g = 0; g < gates; ++g) {
    for (const bool of_state : {false, true}) {
      Linear l{.number = cell_.gates[g] + (of_state ? static_cast<int>(gates) : 0),
               .matrix = of_state ? part_of(weights.r, g, weights.has_r)
                                  : part_of(weights.w, g, weights.has_w),
               .bias = {}};
      l.rows = l.matrix.of.dims[2];
      l.columns = l.matrix.of.dims[3];
      const bool is_new_gate = g + 1 == gates;
      if (!of_state)
        l.bias = part_of(weights.b, g, weights.has_b);
      else if (cell_.biases == kBothBiases)
        l.bias = part_of(weights.b, is_new_gate ? gates : g, weights.has_b && is_new_gate);
      all.push_back(std::move(l));
    }
  }
  return all;
}

template <typename F>
void WeightBuffer::for_each_part(Handle* handle, const std::vector<Linear>& all, void* buffer,
                                 const F& f) const {
  for (const Linear& l : all) {
    void *matrix = nullptr, *bias = nullptr;
    calls().recurrent_weights(handle, desc_.get(), 0, bytes_, buffer, l.number, of_matrix_.get(),
                              &matrix, of_bias_.get(), &bias);
    require_row_major(of_matrix_.get(), l.rows, l.columns);
    f(l.matrix, matrix);
    if (!l.bias) continue;
    require_row_major(of_bias_.get(), l.rows, 1);
    f(*l.bias, bias);
  }
}

void WeightBuffer::fill(Handle* handle, const std::vector<Linear>& all, void* buffer,
                        const OnDevice& at) const {
  for_each_part(handle, all, buffer, [&](const Part& part, void* to) {
    if (part.is_there)
      calls().transform(handle, one(dtype_), part.in_tensor.get(), address(part, at), zero(dtype_),
                        part.in_buffer.get(), to);
    else
      calls().set_all(handle, part.in_buffer.get(), to, zero(dtype_));
  });
}

void WeightBuffer::give(Handle* handle, const std::vector<Linear>& all, void* buffer,
                        const OnDevice& at) const {
  for_each_part(handle, all, buffer, [&](const Part& part, const void* from) {
    if (part.is_there)
      calls().transform(handle, one(dtype_), part.in_buffer.get(), from, zero(dtype_),
                        part.in_tensor.get(), address(part, at));
  });
}

}  // namespace mote::cudnn
