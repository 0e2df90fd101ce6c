// Attention of 16 bits: the product of q and k, softmax, and the product with v as one graph, which
// cuDNN's engines compute without storing the scores.
#include "attention.h"

#include <cmath>
#include <limits>
#include <utility>

#include "ops.h"

namespace mote::cudnn {
namespace {

Tensor read(const Reader& call, int k, const char* name) {
  Tensor t = call.input(k, name, 4);
  if (t.dims[3] != 1 && t.strides[3] != 1) decline(t.text() + ": its last axis is not adjacent");
  return t;
}

Tensor mask_of(const Reader& call, const Graph::Dims& scores) {
  const Tensor mask = read(call, 3, "mask");
  for (std::size_t axis = 0; axis < 4; ++axis)
    if (mask.dims[axis] != 1 && mask.dims[axis] != scores[axis])
      nvidia::reject(mask.text() + " does not repeat to the scores");
  return mask;
}

/// Whether keys behind a query are hidden. What could hide all keys of a query is declined.
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

Graph graph_of(const AttentionCall& a) {
  const Graph::Dims scores = {a.q.dims[0], a.q.dims[1], a.q.dims[2], a.k.dims[2]};
  const Graph::Dims rows = {scores[0], scores[1], scores[2], 1};
  Tensor transposed = a.k;
  std::swap(transposed.dims[2], transposed.dims[3]);
  std::swap(transposed.strides[2], transposed.strides[3]);
  Graph graph;
  const Graph::Node products = graph.between(scores);
  graph.matmul(graph.tensor(a.q), graph.tensor(transposed), products);
  Graph::Node s = graph.map(kMultiply, products, graph.number(a.scale, 4));
  if (a.mask) s = graph.map(kAdd, s, graph.tensor(*a.mask));
  if (a.causal) {
    const Graph::Node counts =
        graph.map(kNotLess, graph.index_along(s, 2), graph.index_along(s, 3));
    s = graph.select(counts, s, graph.number(std::numeric_limits<float>::lowest(), 4));
  }
  const Graph::Node most = graph.between(rows), total = graph.between(rows);
  graph.reduce(kReduceMaximum, s, most);
  const Graph::Node weights = graph.map(kExp, graph.map(kSubtract, s, most));
  graph.reduce(kReduceAdd, weights, total);
  // Its engines are those of training, which store the logarithm of the sum for the gradient.
  graph.map_into(graph.stored(rows), kAdd, most, graph.map(kLogarithm, total));
  const Graph::Node p = graph.between(scores, type_of(a.y.dtype));
  graph.map_into(p, kDivide, weights, total);
  graph.matmul(p, graph.tensor(a.v), graph.tensor(a.y));
  return graph;
}

Work attention(const Reader& call) {
  AttentionCall a{.q = read(call, 0, "q"),
                  .k = read(call, 1, "k"),
                  .v = read(call, 2, "v"),
                  .y = call.output(0, "y", 4)};
  const std::int64_t heads = a.k.dims[1], keys = a.k.dims[2];
  nvidia::require_dims(a.k, {a.q.dims[0], heads, keys, a.q.dims[3]});
  nvidia::require_dims(a.v, {a.q.dims[0], heads, keys, a.v.dims[3]});
  nvidia::require_dims(a.y, {a.q.dims[0], a.q.dims[1], a.q.dims[2], a.v.dims[3]});
  if (a.q.dims[1] % heads != 0) nvidia::reject(a.k.text() + ": heads do not divide those of q");
  if (a.y.dims[3] != 1 && a.y.strides[3] != 1) decline(a.y.text() + ": E is not adjacent");
  if (call.has_input(3)) a.mask = mask_of(call, {a.q.dims[0], a.q.dims[1], a.q.dims[2], keys});
  a.scale = call.real("scale", 0);
  if (a.scale == 0) a.scale = 1 / std::sqrt(static_cast<double>(a.q.dims[3]));
  a.causal = is_causal(call, a.q.dims[2], keys);
  auto handle = Cudnn::library().take();
  const Step step = graph_of(a).step(handle.get(), call.kind());
  return work_of(std::move(handle), {step});
}

}  // namespace mote::cudnn
