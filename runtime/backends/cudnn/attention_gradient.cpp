// SPDX-License-Identifier: Apache-2.0
// The gradient of attention of bf16, in two graphs: the forward one again, for the logarithms of
// softmax's sums, and the one by which cuDNN recognises the gradient:
// p = exp(s - sums), gv = pᵀ gy, gp = gy vᵀ, gs = p (gp - sum gy y) scale, gk = gsᵀ q, gq = gs k.
#include <utility>

#include "attention.h"
#include "ops.h"

namespace mote::cudnn {
namespace {

/// Before this version cuDNN uses keys beyond the last if their number is no multiple of 128,
/// according to its own frontend.
constexpr std::size_t kTakesAnyCountOfKeys = 91600;
constexpr std::int64_t kKeys = 128;

/// Returns x with its last axes swapped, in the dtype in which it is multiplied.
Graph::Node swapped(Graph& graph, const Graph::Node& x, DType dtype) {
  const Tensor as = {.name = "", .dtype = dtype, .dims = x.dims, .strides = packed_strides(x.dims)};
  return graph.reshaped(x, with_last_axes_swapped(as));
}

/// Computes to = a b for all heads of queries; those that share a head of keys are summed.
void multiply_into(Graph& graph, const Tensor& to, const Graph::Node& a, const Graph::Node& b) {
  const std::int64_t heads = a.dims[1];
  const Graph::Node sums = graph.tensor(to);
  if (to.dims[1] == heads) return graph.matmul(a, b, sums);
  const Graph::Node each = graph.between({to.dims[0], heads, to.dims[2], to.dims[3]});
  graph.matmul(a, b, each);
  graph.reduce(kReduceAdd, each, sums);
}

}  // namespace

Graph graph_of(const AttentionGradientCall& g) {
  const AttentionCall& a = g.forward;
  Graph graph;
  const Graph::Dims rows = {a.q.dims[0], a.q.dims[1], a.q.dims[2], 1};
  const Graph::Node gy = graph.tensor(g.gy), q = graph.tensor(a.q),
                    k = graph.tensor(with_last_axes_swapped(a.k)),
                    v = graph.tensor(with_last_axes_swapped(a.v)), scale = graph.number(a.scale, 4);
  const Graph::Node along = graph.between(rows), common = graph.stored(rows);
  graph.reduce(kReduceAdd, graph.map(kMultiply, gy, graph.tensor(a.y)), along);
  // cuDNN recognises the gradient by this factor, which is that of an absent dropout.
  graph.map_into(common, kMultiply, along, graph.number(1, 4));
  Graph::Node s = graph.map(kSubtract, scores_of(graph, a, q, k, scale), graph.tensor(*a.sums));
  if (a.causal) s = hide_later_keys(graph, s);
  const Graph::Node p = graph.map(kExp, s);
  multiply_into(graph, g.gv, swapped(graph, p, a.q.dtype), gy);
  const Graph::Node gp = graph.between(p.dims);
  graph.matmul(gy, v, gp);
  const Graph::Node gs =
      graph.map(kMultiply, graph.map(kMultiply, graph.map(kSubtract, gp, common), p), scale);
  multiply_into(graph, g.gk, swapped(graph, gs, a.q.dtype), q);
  graph.matmul(gs, graph.reshaped(k, a.k), graph.tensor(g.gq));
  return graph;
}

Work attention_gradient(const Reader& call) {
  AttentionGradientCall g{.forward = operands_of(call, 1),
                          .gy = with_adjacent_rows(call.input(0, "gy", 4)),
                          .gq = {},
                          .gk = {},
                          .gv = {}};
  AttentionCall& a = g.forward;
  const std::vector<std::int64_t> dims = {a.q.dims[0], a.q.dims[1], a.q.dims[2], a.v.dims[3]};
  const Tensor y = with_adjacent_rows(call.input(5, "y", 4));
  nvidia::require_dims(g.gy, dims);
  nvidia::require_dims(y, dims);
  // If only gv is wanted, y and v may have no data.
  if (!call.has_output(0) && !call.has_output(1)) decline("neither gq nor gk is asked for");
  if (call.has_output(3)) decline("the gradient of the mask is asked for");
  if (calls().version() < kTakesAnyCountOfKeys && a.k.dims[2] % kKeys != 0)
    decline("before 9.16 cuDNN wants a multiple of 128 keys");
  Between between(call);
  const auto written = [&](int k, const char* name, const Tensor& like) {
    if (!call.has_output(k)) return between.tensor(like.dtype, like.dims);
    Tensor t = with_adjacent_rows(call.output(k, name, 4));
    nvidia::require_dims(t, like.dims);
    return t;
  };
  g.gq = written(0, "gq", a.q);
  g.gk = written(1, "gk", a.k);
  g.gv = written(2, "gv", a.v);
  a.sums = between.tensor(DType::f32, {dims[0], dims[1], dims[2], 1});
  a.y = between.tensor(y.dtype, dims);
  auto handle = Cudnn::library().take();
  std::vector<Step> steps = {graph_of(a).step(handle.get(), call.kind())};
  a.y = y;
  steps.push_back(graph_of(g).step(handle.get(), call.kind()));
  return between.work_of(std::move(handle), std::move(steps));
}

}  // namespace mote::cudnn
