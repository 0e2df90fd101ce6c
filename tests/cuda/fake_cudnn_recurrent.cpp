// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's recurrent layers: one of one direction, by the equations of the manual. Weights
// lie otherwise in its buffer than in NVIDIA's: the last linear layer first, with gaps. With math
// that allows it, floats are rounded to tf32 before they are multiplied.
#include "fake_cudnn_recurrent.h"

using namespace fake::cudnn;

namespace {

/// Types go with precisions as cuDNN 9.19 has it.
bool types_fit(int type, int precision) {
  if (type == 2) return precision == 2 || precision == 0;
  return precision == (type == 9 ? 0 : type) && (type == 0 || type == 1 || type == 9);
}

/// One step of a layer, for one row of the batch.
class Step {
 public:
  Step(const RecurrentDesc& r, const void* weights, const void* x, const void* h, std::int64_t row)
      : r_(r),
        weights_(weights, element_of(r.type)),
        x_(x, element_of(r.type)),
        h_(h, element_of(r.type)),
        row_(row) {}

  double state(std::int64_t k) const { return h_.get(row_ * r_.states + k); }
  /// A linear layer's product, with its bias where it has one.
  double linear(int layer, std::int64_t k) const {
    const std::int64_t columns = r_.columns(layer), at = r_.first(layer);
    const bool is_input = layer < r_.gates();
    fake::Sum sum(r_.type == 1);
    for (std::int64_t c = 0; c < columns; ++c) {
      const double value = is_input ? x_.get(row_ * columns + c) : state(c);
      sum.add(operand(r_, weights_.get(at + k * columns + c)) * operand(r_, value));
    }
    if (r_.has_bias(layer)) sum.add(weights_.get(at + r_.states * columns + k));
    return sum.get();
  }
  double both(int gate, std::int64_t k) const {
    fake::Sum sum(r_.type == 1);
    sum.add(linear(gate, k));
    sum.add(linear(gate + r_.gates(), k));
    return sum.get();
  }
  /// h', and c' in place of c; what the gradient wants is kept where there is room for it.
  double next(std::int64_t k, double& c, const std::optional<Reserve>& kept) const {
    std::vector<double> numbers;
    const double h = next(k, c, numbers);
    if (!kept) return h;
    for (std::size_t n = 0; n < numbers.size(); ++n)
      kept->set(row_, k, static_cast<int>(n), numbers[n]);
    kept->set(row_, k, Reserve::kResult, h);
    kept->set(row_, k, Reserve::kState, state(k));
    return h;
  }

 private:
  double next(std::int64_t k, double& c, std::vector<double>& numbers) const {
    if (r_.mode == kTanh) return std::tanh(both(0, k));
    if (r_.mode == kLstm) {
      const double in = sigmoid(both(0, k)), forget = sigmoid(both(1, k)),
                   fresh = std::tanh(both(2, k)), out = sigmoid(both(3, k));
      c = forget * c + in * fresh;
      numbers = {in, forget, fresh, out, std::tanh(c)};
      return out * std::tanh(c);
    }
    const double reset = sigmoid(both(0, k)), update = sigmoid(both(1, k));
    const double fresh = std::tanh(linear(2, k) + reset * linear(5, k));
    numbers = {reset, update, fresh, linear(5, k)};
    return (1 - update) * fresh + update * state(k);
  }
  const RecurrentDesc& r_;
  fake::Elements weights_, x_, h_;
  std::int64_t row_;
};

}  // namespace

FAKE_EXPORT int cudnnCreateRNNDescriptor(RecurrentDesc** made) {
  if (const int status = fake::counted()) return of_driver(status);
  fake::make(made);
  return 0;
}
FAKE_EXPORT int cudnnDestroyRNNDescriptor(RecurrentDesc* made) {
  fake::unmake(made);
  return 0;
}
FAKE_EXPORT int cudnnSetRNNDescriptor_v8(RecurrentDesc* desc, int algorithm, int mode, int biases,
                                         int direction, int input, int type, int precision,
                                         int math, std::int32_t inputs, std::int32_t states,
                                         std::int32_t projected, std::int32_t layers, void* dropout,
                                         std::uint32_t flags) {
  if (const int status = fake::counted()) return of_driver(status);
  if (inputs < 1 || states < 1 || layers < 1 || projected < 1) return kBadParam;
  // Projections are an LSTM's alone.
  if (projected > states || (projected < states && mode != kLstm)) return kNotSupported;
  if (mode < 0 || mode > kGru || biases < 0 || biases > kStateBias || math < 0 || math > kFmaMath)
    return kBadParam;
  if (!types_fit(type, precision)) return kNotSupported;
  if (dropout != nullptr) return kNotSupported;  // the fake has none
  *desc = {algorithm, mode,   biases, direction, input,  type, precision,
           math,      inputs, states, projected, layers, flags};
  return 0;
}

FAKE_EXPORT int cudnnCreateRNNDataDescriptor(SequenceDesc** made) {
  if (const int status = fake::counted()) return of_driver(status);
  fake::make(made);
  return 0;
}
FAKE_EXPORT int cudnnDestroyRNNDataDescriptor(SequenceDesc* made) {
  fake::unmake(made);
  return 0;
}
FAKE_EXPORT int cudnnSetRNNDataDescriptor(SequenceDesc* desc, int type, int layout, int longest,
                                          int batch, int extent, const int* lengths, void*) {
  if (const int status = fake::counted()) return of_driver(status);
  if (longest < 1 || batch < 1 || extent < 1 || layout < 0 || layout > 2) return kBadParam;
  SequenceDesc set{type, layout, longest, batch, extent, {lengths, lengths + batch}};
  for (const int length : set.lengths)
    if (length < 0 || length > longest) return kBadParam;
  // Packed sequences stand by their lengths, the longest first.
  if (layout == 1 && !std::ranges::is_sorted(set.lengths, std::greater())) return kBadParam;
  *desc = std::move(set);
  return 0;
}

FAKE_EXPORT int cudnnGetRNNWeightSpaceSize(Handle* handle, RecurrentDesc* r, std::size_t* bytes) {
  if (const int status = asking(handle)) return status;
  *bytes = r->bytes();
  return r->algorithm < 0 ? kBadParam : 0;
}
FAKE_EXPORT int cudnnGetRNNTempSpaceSizes(Handle* handle, RecurrentDesc* r, int mode,
                                          SequenceDesc* x, std::size_t* work,
                                          std::size_t* reserve) {
  if (const int status = asking(handle)) return status;
  if (r->algorithm < 0 || x->type != r->type || mode < 0 || mode > 1) return kBadParam;
  *work = kRecurrentWorkspace;
  *reserve = mode == 1 ? Reserve::bytes(*r, x->batch) : 0;
  return 0;
}
FAKE_EXPORT int cudnnGetRNNWeightParams(Handle* handle, RecurrentDesc* r, std::int32_t layer,
                                        std::size_t bytes, const void* space, std::int32_t number,
                                        TensorDesc* of_matrix, void** matrix, TensorDesc* of_bias,
                                        void** bias) {
  if (const int status = asking(handle)) return status;
  if (layer != 0 || number < 0 || number >= r->linear_layers() || bytes < r->bytes())
    return kBadParam;
  const auto address = [&](std::int64_t element) {
    return static_cast<char*>(const_cast<void*>(space)) +
           element * static_cast<std::int64_t>(fake::bytes_of(element_of(r->type)));
  };
  const Dims dims = {1, r->states, r->columns(number)}, column = {1, r->states, 1};
  *of_matrix = {r->type, dims, packed_strides(dims)};
  *matrix = address(r->first(number));
  *bias = nullptr;
  if (r->has_bias(number)) {
    *of_bias = {r->type, column, packed_strides(column)};
    *bias = address(r->first(number) + r->states * r->columns(number));
  }
  return 0;
}

FAKE_EXPORT int cudnnRNNForward(Handle* handle, RecurrentDesc* r, int mode, const std::int32_t*,
                                SequenceDesc* xd, const void* x, SequenceDesc* yd, void* y,
                                TensorDesc* hd, const void* hx, void* hy, TensorDesc* cd,
                                const void* cx, void* cy, std::size_t weight_bytes,
                                const void* weights, std::size_t work_bytes, void* work,
                                std::size_t reserve_bytes, void* reserve) {
  return computing(handle, [&] {
    if (!is_plain(*r) || xd->longest != 1 || hx == nullptr) return kNotSupported;
    const bool is_training = mode == 1;
    if (is_training && (reserve_bytes < Reserve::bytes(*r, xd->batch) ||
                        !fake::is_workspace(reserve, reserve_bytes)))
      return kBadParam;
    const std::optional<Reserve> kept =
        is_training ? std::optional<Reserve>(std::in_place, *r, reserve) : std::nullopt;
    const Dims states = {1, xd->batch, r->states};
    if (!fits(*r, *xd, *yd) || !is_packed_as(*hd, r->type, states)) return kBadParam;
    const bool is_lstm = r->mode == kLstm;
    if (is_lstm != (cx != nullptr) || is_lstm != (cy != nullptr)) return kBadParam;
    if (is_lstm && !is_packed_as(*cd, r->type, states)) return kBadParam;
    if (weight_bytes < r->bytes() || !fake::is_workspace(weights, weight_bytes)) return kBadParam;
    if (work_bytes < kRecurrentWorkspace || !fake::is_workspace(work, work_bytes)) return kBadParam;
    const fake::Element type = element_of(r->type);
    const fake::Elements to_y(y, type), to_h(hy, type), from_c(cx, type), to_c(cy, type);
    std::vector<double> next, cells;
    each(states, [&](const Dims& at) {
      double c = is_lstm ? from_c.get(at[1] * r->states + at[2]) : 0;
      next.push_back(Step(*r, weights, x, hx, at[1]).next(at[2], c, kept));
      cells.push_back(c);
    });
    for (std::size_t k = 0; k < next.size(); ++k) {
      const auto at = static_cast<std::int64_t>(k);
      to_y.set(at, next[k]);
      if (hy != nullptr) to_h.set(at, next[k]);
      if (is_lstm) to_c.set(at, cells[k]);
    }
    return 0;
  });
}
