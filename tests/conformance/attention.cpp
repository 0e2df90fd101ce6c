// SPDX-License-Identifier: Apache-2.0
// Adapter of attention. Attributes that the op has as parameters (causal, windows, grouped heads)
// are passed as such; past keys are concatenated with k, and a mask expresses each batch's length.
#include <limits>

#include "call.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// Returns x as [B, H, T, D]; three axes are [B, T, H*D].
Array with_heads(const Array& x, std::int64_t heads) {
  if (x.shape.size() == 4) return x;
  const Dims split = {x.shape.at(0), x.shape.at(1), heads, x.shape.at(2) / heads};
  return permuted(reshaped(x, split), {0, 2, 1, 3});
}

/// Returns the keys or values of the past, followed by the given ones.
Array with_past(const Call& c, const Array& x, std::size_t past) {
  return c.has(past) ? c.concat({c.in(past), x}, 2) : x;
}

/// Returns 0 where a key is seen, -inf where it is not.
Array hiding(const Call& c, const Array& seen, DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  return c.choose(seen, constant(dtype, 0), constant(dtype, -inf));
}

/// Returns the node's mask as a term of the scores; keys beyond its end are hidden.
std::optional<Array> given_mask(const Call& c, std::int64_t keys) {
  if (!c.has(3)) return std::nullopt;
  Array mask = c.in(3);
  if (mask.dtype == DType::boolean) mask = hiding(c, mask, c.dtype());
  Dims pads(2 * mask.shape.size(), 0);
  pads.back() = keys - mask.shape.back();
  const double inf = std::numeric_limits<double>::infinity();
  return pads.back() > 0 ? c.pad("constant", mask, pads, -inf) : mask;
}

Array counted(std::int64_t count, Dims shape) {
  Dims values;
  for (std::int64_t k = 0; k < count; ++k) values.push_back(k);
  return integers(DType::i64, std::move(shape), values);
}

/// The queries, the keys and values with those of the past, and the limits on the keys that a query
/// sees.
struct Heads {
  Array q, k, v;  ///< [B, H, T, D]
  std::int64_t past, causal;
  std::int64_t before, after;  ///< number of keys around its own that a query sees; -1: all
};

Heads heads_of(const Call& c) {
  const std::int64_t shared = c.integer("kv_num_heads", 1);
  return {with_heads(c.in(0), c.integer("q_num_heads", 1)),
          with_past(c, with_heads(c.in(1), shared), 4),
          with_past(c, with_heads(c.in(2), shared), 5),
          c.has(4) ? c.in(4).shape.at(2) : 0,
          c.integer("is_causal", 0),
          c.integer("left_window_size", -1),
          c.integer("right_window_size", -1)};
}

/// Returns the causal mask, window and lengths as one mask: the own key of query t is past + t, or
/// lengths[b] - T + t if there are lengths; nullopt if every key is seen.
std::optional<Array> sight_mask(const Call& c, const Heads& heads) {
  const std::int64_t queries = heads.q.shape[2], keys = heads.k.shape[2];
  const Array key = counted(keys, {keys});
  Array offset = integers(DType::i64, {}, {heads.past});
  std::optional<Array> seen;
  const auto demand = [&](const std::string& op, const Array& a, const Array& b) {
    const Array condition = c.binary(op, a, b);
    seen = seen ? c.binary("logical_and", *seen, condition) : condition;
  };
  if (c.has(6)) {
    const Array lengths = reshaped(c.in(6), {heads.q.shape[0], 1, 1, 1});
    offset = c.binary("sub", lengths, static_cast<double>(queries));
    demand("less", key, lengths);
  }
  const Array own = c.binary("add", counted(queries, {queries, 1}), offset);
  const Array ahead = c.binary("sub", key, own);
  const auto far = [](std::int64_t keys_away) { return integers(DType::i64, {}, {keys_away}); };
  if (heads.causal != 0) demand("less_or_equal", ahead, far(0));
  if (heads.before >= 0) demand("greater_or_equal", ahead, far(-heads.before));
  if (heads.after >= 0) demand("less_or_equal", ahead, far(heads.after));
  if (!seen) return std::nullopt;
  return hiding(c, *seen, c.dtype());
}

/// The parameters of the op, and a mask for all conditions that no parameter expresses.
struct Told {
  Params params;
  std::optional<Array> mask;
};
Told told(const Call& c, const Heads& heads) {
  const std::int64_t queries = heads.q.shape[2], keys = heads.k.shape[2];
  Told t{{{"scale", c.real("scale", 0)}}, given_mask(c, keys)};
  if (!c.has(6) && (heads.past == 0 || heads.past == keys - queries)) {
    t.params["causal"] = heads.causal;
    t.params["anchor"] = heads.past == 0 ? 0 : 1;
    t.params["window0"] = heads.before;
    t.params["window1"] = heads.after;
  } else if (const std::optional<Array> hidden = sight_mask(c, heads)) {
    t.mask = t.mask ? c.binary("add", *t.mask, *hidden) : *hidden;
  }
  if (t.mask) t.mask->shape.insert(t.mask->shape.begin(), 4 - t.mask->shape.size(), 1);
  return t;
}

Outputs attention(const Call& c) {
  if (c.wants(3)) throw NotApplicable("the scores themselves are no output of op attention");
  const Heads heads = heads_of(c);
  Told t = told(c, heads);
  const double cap = c.real("softcap", 0);
  if (cap > 0) t.params["softcap"] = cap;
  Array y = c.kernels().run(cap > 0 ? "attention_softcap" : "attention", c.dtype(),
                            {&heads.q, &heads.k, &heads.v, t.mask ? &*t.mask : nullptr}, t.params);
  if (c.in(0).shape.size() == 3) {
    y = permuted(y, {0, 2, 1, 3});
    y = reshaped(y, {y.shape[0], y.shape[1], y.shape[2] * y.shape[3]});
  }
  return {y, heads.k, heads.v};
}

}  // namespace

Adapters attention_adapters() { return {{"Attention", attention}}; }

}  // namespace mote::onnx
