// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's gradients of LSTM and GRU layers, of what training kept: first those of x and
// the states, which put the gradients of the linear layers into the reserve, then those of the
// weights.
#include "fake_cudnn_recurrent.h"

using namespace fake::cudnn;

namespace {

/// One layer's gradient: of what its results' gradients are.
class Backward {
 public:
  Backward(const RecurrentDesc& r, std::int64_t batch, void* reserve)
      : r_(r), batch_(batch), reserve_(r, reserve) {}

  /// Of a state of one row, from h''s gradient, and from c''s to c's: the gradients of the linear
  /// layers; gives h's own share.
  double gates(std::int64_t n, std::int64_t k, double gh, double h, double c, double& gc) const {
    const auto kept = [&](int number) { return reserve_.get(n, k, number); };
    const auto put = [&](int layer, double value) { reserve_.set(n, k, layer, value); };
    if (r_.mode == kLstm) {
      const double in = kept(0), forget = kept(1), fresh = kept(2), out = kept(3), tanh = kept(4);
      gc = reserve_.as_type(gc + gh * out * (1 - tanh * tanh));
      const double of[] = {gc * fresh * in * (1 - in), gc * c * forget * (1 - forget),
                           gc * in * (1 - fresh * fresh), gh * tanh * out * (1 - out)};
      for (int layer = 0; layer < 8; ++layer) put(layer, of[layer % 4]);
      gc *= forget;
      return 0;
    }
    const double reset = kept(0), update = kept(1), fresh = kept(2), product = kept(3);
    const double of_fresh = gh * (1 - update) * (1 - fresh * fresh);
    const double of_reset = of_fresh * product * reset * (1 - reset);
    const double of_update = gh * (h - fresh) * update * (1 - update);
    for (const int half : {0, 3}) {
      put(half, of_reset);
      put(half + 1, of_update);
    }
    put(2, of_fresh);
    put(5, of_fresh * reset);
    return gh * update;
  }

  /// Through the weights of the layers from `first` on, one for each gate, to the operand's
  /// element.
  double through(const fake::Elements& weights, int first, std::int64_t n, std::int64_t column,
                 double start) const {
    fake::Sum sum(r_.type == 1);
    sum.add(start);
    for (int layer = first; layer < first + r_.gates(); ++layer)
      for (std::int64_t k = 0; k < r_.states; ++k)
        sum.add(operand(r_, weights.get(r_.first(layer) + k * r_.columns(layer) + column)) *
                operand(r_, reserve_.get(n, k, layer)));
    return sum.get();
  }

  /// Added to the gradients of a layer's matrix and bias.
  void add_weights(const fake::Elements& to, int layer, const fake::Elements& from) const {
    const std::int64_t columns = r_.columns(layer), at = r_.first(layer);
    for (std::int64_t k = 0; k < r_.states; ++k) {
      for (std::int64_t c = 0; c < columns; ++c) {
        fake::Sum sum(r_.type == 1);
        sum.add(to.get(at + k * columns + c));
        for (std::int64_t n = 0; n < batch_; ++n)
          sum.add(operand(r_, reserve_.get(n, k, layer)) * operand(r_, from.get(n * columns + c)));
        to.set(at + k * columns + c, sum.get());
      }
      if (!r_.has_bias(layer)) continue;
      const std::int64_t bias = at + r_.states * columns + k;
      fake::Sum sum(r_.type == 1);
      sum.add(to.get(bias));
      for (std::int64_t n = 0; n < batch_; ++n) sum.add(reserve_.get(n, k, layer));
      to.set(bias, sum.get());
    }
  }

 private:
  const RecurrentDesc& r_;
  std::int64_t batch_;
  Reserve reserve_;
};

bool has_room(const RecurrentDesc& r, const SequenceDesc& x, std::size_t weight_bytes,
              const void* weights, std::size_t work_bytes, const void* work,
              std::size_t reserve_bytes, const void* reserve) {
  return weight_bytes >= r.bytes() && fake::is_workspace(weights, weight_bytes) &&
         work_bytes >= kRecurrentWorkspace && fake::is_workspace(work, work_bytes) &&
         reserve_bytes >= Reserve::bytes(r, x.batch) && fake::is_workspace(reserve, reserve_bytes);
}

}  // namespace

FAKE_EXPORT int cudnnRNNBackwardData_v8(Handle* handle, RecurrentDesc* r, const std::int32_t*,
                                        SequenceDesc* yd, const void* y, const void* gy,
                                        SequenceDesc* xd, void* gx, TensorDesc* hd, const void* hx,
                                        const void* ghy, void* ghx, TensorDesc* cd, const void* cx,
                                        const void* gcy, void* gcx, std::size_t weight_bytes,
                                        const void* weights, std::size_t work_bytes, void* work,
                                        std::size_t reserve_bytes, void* reserve) {
  return computing(handle, [&] {
    if (!is_plain(*r) || r->mode == kTanh || xd->longest != 1) return kNotSupported;
    const Dims states = {1, xd->batch, r->states};
    const bool is_lstm = r->mode == kLstm;
    if (!fits(*r, *xd, *yd) || !is_packed_as(*hd, r->type, states) || hx == nullptr ||
        gx == nullptr || y == nullptr || is_lstm != (cx != nullptr))
      return kBadParam;
    if (is_lstm && !is_packed_as(*cd, r->type, states)) return kBadParam;
    if (!has_room(*r, *xd, weight_bytes, weights, work_bytes, work, reserve_bytes, reserve))
      return kBadParam;
    const fake::Element type = element_of(r->type);
    const Backward backward(*r, xd->batch, reserve);
    const fake::Elements from_weights(weights, type), h(hx, type), c(cx, type), of_y(gy, type),
        of_hy(ghy, type), of_cy(gcy, type), to_x(gx, type), to_h(ghx, type), to_c(gcx, type);
    if (!Reserve(*r, reserve).is_of(xd->batch, fake::Elements(y, type), h)) return kBadParam;
    std::vector<double> shares, of_c;
    each(states, [&](const Dims& at) {
      const std::int64_t k = at[1] * r->states + at[2];
      const double gh = of_y.get(k) + (ghy == nullptr ? 0 : of_hy.get(k));
      double gc = is_lstm && gcy != nullptr ? of_cy.get(k) : 0;
      shares.push_back(backward.gates(at[1], at[2], gh, h.get(k), is_lstm ? c.get(k) : 0, gc));
      of_c.push_back(gc);
    });
    each(states, [&](const Dims& at) {
      const std::int64_t k = at[1] * r->states + at[2];
      const auto n = static_cast<std::size_t>(k);
      if (ghx != nullptr)
        to_h.set(k, backward.through(from_weights, r->gates(), at[1], at[2], shares[n]));
      if (is_lstm && gcx != nullptr) to_c.set(k, of_c[n]);
    });
    each({1, xd->batch, r->inputs}, [&](const Dims& at) {
      to_x.set(at[1] * r->inputs + at[2], backward.through(from_weights, 0, at[1], at[2], 0));
    });
    return 0;
  });
}

FAKE_EXPORT int cudnnRNNBackwardWeights_v8(Handle* handle, RecurrentDesc* r, int mode,
                                           const std::int32_t*, SequenceDesc* xd, const void* x,
                                           TensorDesc* hd, const void* hx, SequenceDesc* yd,
                                           const void* y, std::size_t weight_bytes, void* weights,
                                           std::size_t work_bytes, void* work,
                                           std::size_t reserve_bytes, void* reserve) {
  return computing(handle, [&] {
    if (!is_plain(*r) || r->mode == kTanh || mode != 0) return kNotSupported;
    if (!fits(*r, *xd, *yd) || !is_packed_as(*hd, r->type, {1, xd->batch, r->states}) ||
        hx == nullptr || y == nullptr)
      return kBadParam;
    if (!has_room(*r, *xd, weight_bytes, weights, work_bytes, work, reserve_bytes, reserve))
      return kBadParam;
    const fake::Element type = element_of(r->type);
    const Backward backward(*r, xd->batch, reserve);
    const fake::Elements to(weights, type), from_x(x, type), from_h(hx, type);
    if (!Reserve(*r, reserve).is_of(xd->batch, fake::Elements(y, type), from_h)) return kBadParam;
    for (int layer = 0; layer < r->linear_layers(); ++layer)
      backward.add_weights(to, layer, layer < r->gates() ? from_x : from_h);
    return 0;
  });
}
