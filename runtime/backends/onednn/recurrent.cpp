// SPDX-License-Identifier: Apache-2.0
// Recurrent cells: a layer of one direction and one step. The gates are in oneDNN's order already;
// its weights are [layer, direction, input, gate, output], which mote's strides express.
#include "ops.h"

namespace mote::onednn {
namespace {

constexpr auto kKind = dnnl::prop_kind::forward_inference;
constexpr auto kOnce = dnnl::rnn_direction::unidirectional_left2right;
/// The number of the shared memory for the next state, which oneDNN writes in addition to the last
/// layer's output.
constexpr int kAgain = 0;

Argument step(const View& of, int number) { return of.with_axis(0).as(number); }
Argument state(const View& of, int number) { return of.with_axis(0).with_axis(0).as(number); }
/// Takes weights [gate, output, input], or [output, input] if there is one gate.
Argument weights(const View& of, int number) {
  const View gated = of.dims.size() == 2 ? of.with_axis(0) : of;
  return state(gated.permuted({2, 0, 1}), number);
}

/// Takes a bias [gate, output], or [output] if there is one gate.
Argument bias(const View& of) {
  return state(of.dims.size() == 1 ? of.with_axis(0) : of, DNNL_ARG_BIAS);
}

Argument again(const View& of) {
  Argument a = state(of, DNNL_ARG_DST_ITER);
  a.data = nullptr;
  a.shared = kAgain;
  return a;
}

/// Returns the arguments of a cell whose state is only h; its weights have that rank, its bias one
/// less.
std::vector<Argument> arguments_of(const Reader& call, int rank) {
  const View h_next = call.output(0, 2);
  return {step(call.input(0, 2), DNNL_ARG_SRC_LAYER),
          state(call.input(1, 2), DNNL_ARG_SRC_ITER),
          weights(call.input(2, rank), DNNL_ARG_WEIGHTS_LAYER),
          weights(call.input(3, rank), DNNL_ARG_WEIGHTS_ITER),
          bias(call.input(4, rank - 1)),
          step(h_next, DNNL_ARG_DST_LAYER),
          again(h_next)};
}

}  // namespace

Jobs lstm_cell(const Reader& call) {
  using Lstm = dnnl::lstm_forward;
  const View h_next = call.output(0, 2);
  const std::vector<Argument> arguments = {step(call.input(0, 2), DNNL_ARG_SRC_LAYER),
                                           state(call.input(1, 2), DNNL_ARG_SRC_ITER),
                                           state(call.input(2, 2), DNNL_ARG_SRC_ITER_C),
                                           weights(call.input(3, 3), DNNL_ARG_WEIGHTS_LAYER),
                                           weights(call.input(4, 3), DNNL_ARG_WEIGHTS_ITER),
                                           bias(call.input(5, 2)),
                                           step(h_next, DNNL_ARG_DST_LAYER),
                                           again(h_next),
                                           state(call.output(1, 2), DNNL_ARG_DST_ITER_C)};
  return {make_job<Lstm>(arguments, {Layouts::dense}, [&](const auto& d) {
    return Lstm::primitive_desc(
        Lstm::desc(kKind, kOnce, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], d[8]),
        attributes(), engine());
  })};
}

Jobs gru_cell(const Reader& call) {
  using Gru = dnnl::lbr_gru_forward;
  return {make_job<Gru>(arguments_of(call, 3), {Layouts::dense}, [&](const auto& d) {
    return Gru::primitive_desc(Gru::desc(kKind, kOnce, d[0], d[1], d[2], d[3], d[4], d[5], d[6]),
                               attributes(), engine());
  })};
}

Jobs rnn_cell(const Reader& call) {
  using Rnn = dnnl::vanilla_rnn_forward;
  return {make_job<Rnn>(arguments_of(call, 2), {Layouts::dense}, [&](const auto& d) {
    return Rnn::primitive_desc(Rnn::desc(kKind, dnnl::algorithm::eltwise_tanh, kOnce, d[0], d[1],
                                         d[2], d[3], d[4], d[5], d[6]),
                               attributes(), engine());
  })};
}

}  // namespace mote::onednn
