// SPDX-License-Identifier: Apache-2.0
// Attention of 16-bit reals: the product of q and k, softmax, and the product with v as one graph,
// which cuDNN's engines compute without storing the scores.
#include "attention.h"

#include <cmath>
#include <limits>
#include <utility>

#include "ops.h"

namespace mote::cudnn {
namespace {

Tensor mask_of(const Reader& call, int k, const Graph::Dims& scores) {
  Tensor mask = with_adjacent_rows(call.input(k, "mask", 4));
  for (std::size_t axis = 0; axis < 4; ++axis)
    if (mask.dims[axis] != 1 && mask.dims[axis] != scores[axis])
      nvidia::reject(mask.text() + " does not repeat to the scores");
  return mask;
}

/// True if keys after a query are hidden. Declines parameters that could hide all keys of a query.
bool is_causal(const Reader& call, std::int64_t queries, std::int64_t keys) {
  constexpr std::int64_t kAll = -1;
  if (call.integer("window0", kAll, kAll) != kAll || call.integer("window1", kAll, kAll) != kAll)
    decline("there is a window");
  if (call.integer("causal", 0) == 0) return false;
  if (call.integer("anchor", 0) != 0 && queries != keys)
    decline("causal from the bottom right, of other counts of queries and keys");
  return true;
}

}  // namespace

Tensor with_adjacent_rows(Tensor t) {
  if (t.dims[3] != 1 && t.strides[3] != 1) decline(t.text() + ": its last axis is not adjacent");
  return t;
}

Tensor with_last_axes_swapped(Tensor t) {
  std::swap(t.dims[2], t.dims[3]);
  std::swap(t.strides[2], t.strides[3]);
  return t;
}

AttentionCall operands_of(const Reader& call, int first) {
  const auto read = [&](int k, const char* name) {
    return with_adjacent_rows(call.input(first + k, name, 4));
  };
  AttentionCall a{.q = read(0, "q"), .k = read(1, "k"), .v = read(2, "v")};
  const std::int64_t heads = a.k.dims[1], keys = a.k.dims[2];
  nvidia::require_dims(a.k, {a.q.dims[0], heads, keys, a.q.dims[3]});
  nvidia::require_dims(a.v, {a.q.dims[0], heads, keys, a.v.dims[3]});
  if (a.q.dims[1] % heads != 0) nvidia::reject(a.k.text() + ": heads do not divide those of q");
  if (call.has_input(first + 3))
    a.mask = mask_of(call, first + 3, {a.q.dims[0], a.q.dims[1], a.q.dims[2], keys});
  a.scale = call.real("scale", 0);
  if (a.scale == 0) a.scale = 1 / std::sqrt(static_cast<double>(a.q.dims[3]));
  a.causal = is_causal(call, a.q.dims[2], keys);
  return a;
}

Graph::Node scores_of(Graph& graph, const AttentionCall& a, const Graph::Node& q,
                      const Graph::Node& transposed, const Graph::Node& scale) {
  const Graph::Node products = graph.between({a.q.dims[0], a.q.dims[1], a.q.dims[2], a.k.dims[2]});
  graph.matmul(q, transposed, products);
  const Graph::Node s = graph.map(kMultiply, products, scale);
  return a.mask ? graph.map(kAdd, s, graph.tensor(*a.mask)) : s;
}

Graph::Node hide_later_keys(Graph& graph, const Graph::Node& s) {
  const Graph::Node counts = graph.map(kNotLess, graph.index_along(s, 2), graph.index_along(s, 3));
  return graph.select(counts, s, graph.number(std::numeric_limits<float>::lowest(), 4));
}

Graph graph_of(const AttentionCall& a) {
  Graph graph;
  const Graph::Node q = graph.tensor(a.q), k = graph.tensor(with_last_axes_swapped(a.k));
  Graph::Node s = scores_of(graph, a, q, k, graph.number(a.scale, 4));
  if (a.causal) s = hide_later_keys(graph, s);
  const Graph::Dims rows = {s.dims[0], s.dims[1], s.dims[2], 1};
  const Graph::Node most = graph.between(rows), total = graph.between(rows);
  graph.reduce(kReduceMaximum, s, most);
  const Graph::Node weights = graph.map(kExp, graph.map(kSubtract, s, most));
  graph.reduce(kReduceAdd, weights, total);
  // cuDNN's engines for this graph are those of training, which store the logarithm of the sum for
  // the gradient.
  graph.map_into(a.sums ? graph.tensor(*a.sums) : graph.stored(rows), kAdd, most,
                 graph.map(kLogarithm, total));
  const Graph::Node p = graph.between(s.dims, type_of(a.y.dtype));
  graph.map_into(p, kDivide, weights, total);
  graph.matmul(p, graph.tensor(a.v), graph.tensor(a.y));
  return graph;
}

Work attention(const Reader& call) {
  AttentionCall a = operands_of(call, 0);
  a.y = with_adjacent_rows(call.output(0, "y", 4));
  nvidia::require_dims(a.y, {a.q.dims[0], a.q.dims[1], a.q.dims[2], a.v.dims[3]});
  auto handle = Cudnn::library().take();
  const Step step = graph_of(a).step(handle.get(), call.kind());
  return work_of(std::move(handle), {step});
}

}  // namespace mote::cudnn
