// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's recurrent layers and their gradients: one layer of one direction is a cell of
// the catalogue for each step, row by row. Weights lie otherwise in the buffer than in NVIDIA's:
// the last linear layer first, with gaps. The first call of a gradient gives those of x and the
// states, and puts those of the weights into the reserve, the second adds them. What NVIDIA's
// manual does not define is NaN: the states of a row without steps, and pads without a value for
// them.
#include <cmath>
#include <cstring>

#include "fake_cudnn.h"

using namespace fake;
using namespace fake::cudnn;

namespace {

constexpr std::int64_t kGap = 5;
constexpr std::size_t kRecurrentWorkspace = 768;

/// The bytes of a tensor without gaps.
std::size_t bytes_of(DType dtype, const Dims& dims) {
  return static_cast<std::size_t>(mote::checked_span(dtype, dims, contiguous_strides(dims)));
}
TensorDesc packed(int type, const Dims& dims) { return {type, dims, contiguous_strides(dims)}; }

/// A matrix or a bias in the buffer of weights, [1, rows, columns].
struct Part {
  TensorDesc desc;
  Out at;
};

struct RecurrentDesc {
  int algorithm = -1, mode = 0, biases = 0, direction = 0, input = 0;
  int type = 0, precision = 0, math = 0;
  std::int64_t inputs = 0, states = 0, projected = 0, layers = 0;
  std::uint32_t flags = 0;

  int gates() const { return mode == kLstmCell ? 4 : mode == kGruCell ? 3 : 1; }
  int linear_layers() const { return 2 * gates(); }
  std::int64_t columns(int layer) const { return layer < gates() ? inputs : states; }
  bool has_bias(int layer) const {
    return biases == kBothBiases || biases == (layer < gates() ? kInputBias : kStateBias);
  }
  std::size_t bytes() const { return bytes_of(dtype_of(type), {first(-1)}); }
  Part matrix(In buffer, int layer) const {
    return part({1, states, columns(layer)}, buffer, first(layer));
  }
  Part bias(In buffer, int layer) const {
    return part({1, states, 1}, buffer, first(layer) + states * columns(layer));
  }

 private:
  /// The elements of the buffer in front of a layer's matrix, which its bias follows.
  std::int64_t first(int layer) const {
    return kGap + (linear_layers() - 1 - layer) * (states * (std::max(inputs, states) + 1) + kGap);
  }
  Part part(const Dims& dims, In buffer, std::int64_t element) const {
    return {packed(type, dims),
            static_cast<char*>(const_cast<Out>(buffer)) + bytes_of(dtype_of(type), {element})};
  }
};

struct SequenceDesc {
  int type = -1, layout = 0, longest = 0;
  std::int64_t batch = 0, extent = 0;
  std::vector<int> lengths;
  double fill = std::nan("");  ///< what is behind a row's length, where the sequences are a result

  /// The elements as [steps, batch, extent]: all layouts but packed ones with pads, which the fake
  /// does not compute, and rows that come first.
  TensorDesc all() const { return packed(type, {longest, batch, extent}); }
  bool has_pads() const {
    return std::ranges::any_of(lengths, [&](int length) { return length != longest; });
  }
};

/// Returns true if cuDNN 9.19 has the type in that precision.
bool types_fit(int type, int precision) {
  if (type == kHalf) return precision == kHalf || precision == kFloat;
  return (type == kFloat || type == kDouble || type == kBfloat16) &&
         precision == compute_type(type);
}

/// The weights of the catalogue's cell: w [gates, H, I], r [gates, H, H], b [gates, H, 1], of which
/// a GRU has a row more, the bias of its new gate's product with the state.
std::vector<Dims> weight_dims(const RecurrentDesc& r) {
  const std::int64_t gates = r.gates(), biases = r.mode == kGruCell ? gates + 1 : gates;
  return {{gates, r.states, r.inputs}, {gates, r.states, r.states}, {biases, r.states, 1}};
}

/// Each matrix and bias of cuDNN's buffer, with its location in the catalogue's weights.
template <typename Visit>
void each_part(const RecurrentDesc& r, const std::vector<Tensor>& weights, In buffer,
               const Visit& visit) {
  const bool is_gru = r.mode == kGruCell;
  for (int gate = 0; gate < r.gates(); ++gate)
    for (const int half : {0, 1}) {
      // cuDNN's GRU has the reset gate first.
      const int layer = (is_gru && gate < 2 ? 1 - gate : gate) + half * r.gates();
      const int bias = is_gru && gate == 2 ? gate + half : gate;
      visit(weights[static_cast<std::size_t>(half)].slice(0, gate, 1), r.matrix(buffer, layer));
      if (r.has_bias(layer)) visit(weights[2].slice(0, bias, 1), r.bias(buffer, layer));
    }
}

/// The memory that a call is given besides its tensors.
struct Room {
  std::size_t bytes;
  In at;
  void require_bytes(std::size_t least) const {
    require(bytes >= least && is_workspace(at, bytes));
  }
};

/// Training keeps in doubles y, h and x, which the gradient must be given again, and from
/// the first call of the gradient to the second the gradients of the weights.
std::vector<Dims> kept_dims(const RecurrentDesc& r, std::int64_t steps, std::int64_t batch) {
  std::vector<Dims> all = weight_dims(r);
  all.insert(all.begin(), {{steps, batch, r.states}, {batch, r.states}, {steps, batch, r.inputs}});
  return all;
}
constexpr std::size_t kResult = 0, kState = 1, kInput = 2, kWeights = 3;
std::size_t reserve_bytes(const RecurrentDesc& r, std::int64_t steps, std::int64_t batch) {
  std::size_t bytes = 0;
  for (const Dims& dims : kept_dims(r, steps, batch)) bytes += bytes_of(DType::f64, dims);
  return bytes;
}

void add(const Tensor& to, const Tensor& addend) {
  mote::copy(result("add", {to, addend.reshape(to.shape())}), to);
}

/// The layer, of tensors without gaps.
class Steps {
 public:
  /// Refuses what the manual forbids, and layers that the fake does not compute.
  Steps(const RecurrentDesc& r, const SequenceDesc& x, const SequenceDesc& y, const TensorDesc& h,
        const TensorDesc* c, const Room& weights, const Room& work, const Room& reserve,
        bool is_training)
      : r_(r), x_(x), y_(y), weights_(weights.at), of_states_(packed(r.type, {x.batch, r.states})) {
    require(r.algorithm == kStandardAlgorithm && r.direction == kOneDirection &&
                r.input == kLinearInput && r.layers == 1 && r.mode >= kTanhCell &&
                r.projected == r.states && x.layout != kBatchMajor,
            kNotSupported);
    require(x.layout != kPacked || !x.has_pads(), kNotSupported);
    require(x.type == r.type && y.type == r.type && x.extent == r.inputs &&
            y.extent == r.projected && x.batch == y.batch && x.lengths == y.lengths &&
            x.longest == y.longest && x.layout == y.layout &&
            (x.layout == kPacked || r.flags == kWithPads));
    // The manual wants a step at least of the longest row.
    require(std::ranges::any_of(x.lengths, [](int length) { return length > 0; }));
    const Dims states = {1, x.batch, r.states};
    require(h == packed(r.type, states) && (c == nullptr || !is_lstm() || *c == h));
    weights.require_bytes(r.bytes());
    work.require_bytes(kRecurrentWorkspace);
    if (!is_training) return;
    reserve.require_bytes(reserve_bytes(r, x.longest, x.batch));
    const char* at = static_cast<const char*>(reserve.at);
    for (const Dims& dims : kept_dims(r, x.longest, x.batch)) {
      kept_.push_back(view(packed(kDouble, dims), at));
      at += bytes_of(DType::f64, dims);
    }
  }

  bool is_lstm() const { return r_.mode == kLstmCell; }

  void forward(In x, In h, In c, Out y, Out hy, Out cy) const {
    const Tensor inputs = read(x_.all(), x);
    const Tensor out = filled(y_.all().dims, y_.fill);
    const Tensor h_out = filled(of_states_.dims, std::nan("")), c_out = clone(h_out);
    const std::vector<Tensor> first = states(h, c);
    const std::vector<Tensor> weights = operands();
    for (std::int64_t row = 0; row < x_.batch; ++row) {
      const std::vector<Row> steps = row_steps(inputs, first, row, weights);
      for (std::size_t t = 0; t + 1 < steps.size(); ++t)
        mote::copy(steps[t + 1][0], of(out, static_cast<std::int64_t>(t), row));
      if (steps.size() == 1) continue;
      mote::copy(steps.back()[0], h_out.slice(0, row, 1));
      if (is_lstm()) mote::copy(steps.back()[1], c_out.slice(0, row, 1));
    }
    write(view(y_.all(), y), out);
    if (hy != nullptr) write(view(of_states_, hy), h_out);
    if (is_lstm()) write(view(of_states_, cy), c_out);
    if (kept_.empty()) return;
    mote::copy(read(y_.all(), y), kept_[kResult]);
    mote::copy(first[0], kept_[kState]);
    mote::copy(inputs, kept_[kInput]);
    for (std::size_t k = kWeights; k < kept_.size(); ++k) mote::fill(kept_[k], std::nan(""));
  }

  void backward(In y, In gy, In ghy, In gcy, In h, In c, Out gx, Out ghx, Out gcx) const {
    require_kept(kResult, y_.all(), y);
    require_kept(kState, of_states_, h);
    const Tensor of_y = gy == nullptr ? filled(y_.all().dims, 0) : read(y_.all(), gy);
    const Tensor x_out = filled(x_.all().dims, x_.fill);
    const std::vector<Tensor> last = {or_zeros(ghy), or_zeros(gcy)}, first = states(h, c);
    std::vector<Tensor> state_outs = {filled(of_states_.dims, std::nan("")),
                                      filled(of_states_.dims, std::nan(""))};
    for (std::size_t k = kWeights; k < kept_.size(); ++k) mote::fill(kept_[k], 0.0);
    const std::vector<Tensor> weights = operands();
    for (std::int64_t row = 0; row < x_.batch; ++row) {
      const std::vector<Row> steps = row_steps(kept_[kInput], first, row, weights);
      Row gradients;
      for (std::size_t k = 0; k < steps[0].size(); ++k)
        gradients.push_back(clone(last[k].slice(0, row, 1)));
      for (auto t = static_cast<std::int64_t>(steps.size()) - 2; t >= 0; --t) {
        add(gradients[0], of(of_y, t, row));
        gradients = step_gradient(gradients, steps, t, row, weights, of(x_out, t, row));
      }
      if (steps.size() == 1) continue;
      for (std::size_t k = 0; k < gradients.size(); ++k)
        mote::copy(gradients[k], state_outs[k].slice(0, row, 1));
    }
    write(view(x_.all(), gx), x_out);
    if (ghx != nullptr) write(view(of_states_, ghx), state_outs[0]);
    if (gcx != nullptr) write(view(of_states_, gcx), state_outs[1]);
  }

  void add_weights(In x, In h, In y) const {
    require_kept(kResult, y_.all(), y);
    require_kept(kState, of_states_, h);
    require_kept(kInput, x_.all(), x);
    each_part(r_, {kept_.begin() + kWeights, kept_.end()}, weights_,
              [](const Tensor& of, const Part& to) { write(view(to.desc, to.at), of, 1, 1); });
  }

 private:
  using Row = std::vector<Tensor>;  ///< h and, for an LSTM, c, each [1, H]

  std::string op() const {
    return is_lstm() ? "lstm_cell" : r_.mode == kGruCell ? "gru_cell" : "rnn_cell";
  }
  /// One vector of sequences, as a matrix of one row.
  static Tensor of(const Tensor& sequences, std::int64_t t, std::int64_t row) {
    return sequences.select(0, t).slice(0, row, 1);
  }
  std::vector<Tensor> states(In h, In c) const {
    std::vector<Tensor> all = {read(of_states_, h)};
    if (is_lstm()) all.push_back(read(of_states_, c));
    return all;
  }
  Tensor or_zeros(In data) const {
    return data == nullptr ? filled(of_states_.dims, 0) : read(of_states_, data);
  }
  /// Returns the states of a row before each step, and behind the last. They are stored between
  /// steps in the layer's type.
  std::vector<Row> row_steps(const Tensor& x, const std::vector<Tensor>& first, std::int64_t row,
                             const std::vector<Tensor>& weights) const {
    std::vector<Row> all(1);
    for (const Tensor& state : first) all[0].push_back(clone(state.slice(0, row, 1)));
    for (std::int64_t t = 0; t < x_.lengths[static_cast<std::size_t>(row)]; ++t) {
      Row next = results(op(), inputs({}, of(x, t, row), all.back(), weights));
      for (Tensor& state : next) state = rounded(state, dtype_of(r_.type));
      all.push_back(std::move(next));
    }
    return all;
  }
  /// Returns the gradients of the states before a step from those behind it; adds those of the
  /// weights, and writes that of x.
  Row step_gradient(const Row& after, const std::vector<Row>& steps, std::int64_t t,
                    std::int64_t row, const std::vector<Tensor>& weights, const Tensor& gx) const {
    const auto at = static_cast<std::size_t>(t);
    std::vector<Tensor> given = inputs(after, of(kept_[kInput], t, row), steps[at], weights);
    if (r_.mode == kTanhCell) given.back() = steps[at + 1][0];  // in the bias's place
    const std::vector<Tensor> all = results(op() + ".grad", given);
    mote::copy(all[0], gx);
    const std::size_t count = kept_.size() - kWeights;
    for (std::size_t k = 0; k < count; ++k) add(kept_[kWeights + k], all[all.size() - count + k]);
    return {all.begin() + 1, all.begin() + 1 + static_cast<std::ptrdiff_t>(after.size())};
  }
  void require_kept(std::size_t k, const TensorDesc& desc, In data) const {
    const Tensor given = read(desc, data);
    require(std::memcmp(kept_[k].data(), given.data(), bytes_of(DType::f64, desc.dims)) == 0);
  }
  /// Rounds the operands of the layer's products: floats to tf32, if the math allows it.
  Tensor operand(const Tensor& values) const {
    return r_.type == kFloat && r_.math != kFmaMath ? rounded_to_tf32(converted(values)) : values;
  }
  /// The weights of the catalogue's cell, from the buffer.
  std::vector<Tensor> operands() const {
    std::vector<Tensor> weights;
    for (const Dims& dims : weight_dims(r_)) weights.push_back(filled(dims, 0));
    each_part(r_, weights, weights_, [](const Tensor& of, const Part& from) {
      mote::copy(result("add", {of, read(from.desc, from.at)}), of);
    });
    for (std::size_t k = 0; k < 2; ++k) weights[k] = operand(weights[k]);
    weights[2] = weights[2].select(2, 0);
    for (Tensor& t : weights)
      if (r_.gates() == 1) t = t.select(0, 0);
    return weights;
  }
  /// The op's inputs, behind those that its gradient has.
  std::vector<Tensor> inputs(std::vector<Tensor> all, const Tensor& x, const Row& before,
                             const std::vector<Tensor>& weights) const {
    all.push_back(operand(x));
    all.insert(all.end(), before.begin(), before.end());
    all.insert(all.end(), weights.begin(), weights.end());
    return all;
  }

  const RecurrentDesc& r_;
  const SequenceDesc &x_, &y_;
  In weights_;
  TensorDesc of_states_;
  std::vector<Tensor> kept_;
};

}  // namespace

FAKE_EXPORT int cudnnCreateRNNDescriptor(RecurrentDesc** made) { return create(made); }
FAKE_EXPORT int cudnnDestroyRNNDescriptor(RecurrentDesc* made) { return destroy(made); }
FAKE_EXPORT int cudnnSetRNNDescriptor_v8(RecurrentDesc* desc, int algorithm, int mode, int biases,
                                         int direction, int input, int type, int precision,
                                         int math, std::int32_t inputs, std::int32_t states,
                                         std::int32_t projected, std::int32_t layers, void* dropout,
                                         std::uint32_t flags) {
  if (const int status = counted()) return of_driver(status);
  if (inputs < 1 || states < 1 || layers < 1 || projected < 1) return kBadParam;
  // Projections are an LSTM's alone.
  if (projected > states || (projected < states && mode != kLstmCell)) return kNotSupported;
  if (mode < 0 || mode > kGruCell || biases < 0 || biases > kStateBias || math < kDefaultMath ||
      math > kFmaMath)
    return kBadParam;
  if (!types_fit(type, precision)) return kNotSupported;
  if (dropout != nullptr) return kNotSupported;  // the fake has none
  *desc = {algorithm, mode,   biases, direction, input,  type, precision,
           math,      inputs, states, projected, layers, flags};
  return 0;
}

FAKE_EXPORT int cudnnCreateRNNDataDescriptor(SequenceDesc** made) { return create(made); }
FAKE_EXPORT int cudnnDestroyRNNDataDescriptor(SequenceDesc* made) { return destroy(made); }
FAKE_EXPORT int cudnnSetRNNDataDescriptor(SequenceDesc* desc, int type, int layout, int longest,
                                          int batch, int extent, const int* lengths, void* fill) {
  if (const int status = counted()) return of_driver(status);
  if (longest < 1 || batch < 1 || extent < 1 || layout < 0 || layout > kBatchMajor)
    return kBadParam;
  SequenceDesc set{type, layout, longest, batch, extent, {lengths, lengths + batch}};
  if (fill != nullptr) set.fill = factor(fill, dtype_of(type));
  for (const int length : set.lengths)
    if (length < 0 || length > longest) return kBadParam;
  // Packed sequences are ordered by their lengths, the longest first.
  if (layout == kPacked && !std::ranges::is_sorted(set.lengths, std::greater())) return kBadParam;
  *desc = std::move(set);
  return 0;
}

FAKE_EXPORT int cudnnGetRNNWeightSpaceSize(Handle* h, RecurrentDesc* r, std::size_t* bytes) {
  if (const int status = asking(h)) return status;
  *bytes = r->bytes();
  return r->algorithm < 0 ? kBadParam : 0;
}
FAKE_EXPORT int cudnnGetRNNTempSpaceSizes(Handle* h, RecurrentDesc* r, int mode, SequenceDesc* x,
                                          std::size_t* work, std::size_t* reserve) {
  if (const int status = asking(h)) return status;
  if (r->algorithm < 0 || x->type != r->type || (mode != kInference && mode != kTrainingMode))
    return kBadParam;
  *work = kRecurrentWorkspace;
  *reserve = mode == kTrainingMode ? reserve_bytes(*r, x->longest, x->batch) : 0;
  return 0;
}
FAKE_EXPORT int cudnnGetRNNWeightParams(Handle* h, RecurrentDesc* r, std::int32_t layer,
                                        std::size_t bytes, const void* space, std::int32_t number,
                                        TensorDesc* of_matrix, void** matrix, TensorDesc* of_bias,
                                        void** bias) {
  if (const int status = asking(h)) return status;
  if (layer != 0 || number < 0 || number >= r->linear_layers() || bytes < r->bytes())
    return kBadParam;
  const Part of_layer = r->matrix(space, number), beside = r->bias(space, number);
  *of_matrix = of_layer.desc;
  *matrix = of_layer.at;
  *of_bias = beside.desc;
  *bias = r->has_bias(number) ? beside.at : nullptr;
  return 0;
}

FAKE_EXPORT int cudnnRNNForward(Handle* h, RecurrentDesc* r, int mode, const std::int32_t*,
                                SequenceDesc* xd, In x, SequenceDesc* yd, Out y, TensorDesc* hd,
                                In hx, Out hy, TensorDesc* cd, In cx, Out cy,
                                std::size_t weight_bytes, In weights, std::size_t work_bytes,
                                Out work, std::size_t reserve_bytes, Out reserve) {
  return computing(h, [&] {
    const Steps step(*r, *xd, *yd, *hd, cd, {weight_bytes, weights}, {work_bytes, work},
                     {reserve_bytes, reserve}, mode == kTrainingMode);
    require(hx != nullptr, kNotSupported);
    require(step.is_lstm() == (cx != nullptr) && step.is_lstm() == (cy != nullptr));
    step.forward(x, hx, cx, y, hy, cy);
  });
}
FAKE_EXPORT int cudnnRNNBackwardData_v8(Handle* h, RecurrentDesc* r, const std::int32_t*,
                                        SequenceDesc* yd, In y, In gy, SequenceDesc* xd, Out gx,
                                        TensorDesc* hd, In hx, In ghy, Out ghx, TensorDesc* cd,
                                        In cx, In gcy, Out gcx, std::size_t weight_bytes,
                                        In weights, std::size_t work_bytes, Out work,
                                        std::size_t reserve_bytes, Out reserve) {
  return computing(h, [&] {
    const Steps step(*r, *xd, *yd, *hd, cd, {weight_bytes, weights}, {work_bytes, work},
                     {reserve_bytes, reserve}, true);
    require(hx != nullptr && gx != nullptr && y != nullptr && step.is_lstm() == (cx != nullptr));
    step.backward(y, gy, ghy, gcy, hx, cx, gx, ghx, gcx);
  });
}
FAKE_EXPORT int cudnnRNNBackwardWeights_v8(Handle* h, RecurrentDesc* r, int mode,
                                           const std::int32_t*, SequenceDesc* xd, In x,
                                           TensorDesc* hd, In hx, SequenceDesc* yd, In y,
                                           std::size_t weight_bytes, Out weights,
                                           std::size_t work_bytes, Out work,
                                           std::size_t reserve_bytes, Out reserve) {
  return computing(h, [&] {
    const Steps step(*r, *xd, *yd, *hd, nullptr, {weight_bytes, weights}, {work_bytes, work},
                     {reserve_bytes, reserve}, true);
    require(mode == kAddGradients, kNotSupported);
    require(hx != nullptr && y != nullptr);
    step.add_weights(x, hx, y);
  });
}
