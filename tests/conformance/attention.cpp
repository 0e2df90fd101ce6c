// Adapter of attention. What the op says by parameters (causal, windows, grouped heads) it is told;
// past keys are joined to k, and what depends on each batch's length becomes a mask.
#include <cmath>
#include <limits>

#include "call.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// [B, H, T, D]; three axes are [B, T, H*D].
Array with_heads(const Array& x, std::int64_t heads) {
  if (x.shape.size() == 4) return x;
  const Dims split = {x.shape.at(0), x.shape.at(1), heads, x.shape.at(2) / heads};
  return permuted(reshaped(x, split), {0, 2, 1, 3});
}

/// Keys or values of the past, then the given ones.
Array with_past(const Call& c, const Array& x, std::size_t past) {
  return c.has(past) ? c.concat({c.in(past), x}, 2) : x;
}

/// 0 where a key is seen, -inf where it is not.
Array hiding(const Call& c, const Array& seen, DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  return c.choose(seen, constant(dtype, 0), constant(dtype, -inf));
}

/// The node's mask as what is added to the scores; keys behind its end are hidden.
std::optional<Array> given_mask(const Call& c, std::int64_t keys) {
  if (!c.has(3)) return std::nullopt;
  Array mask = c.in(3);
  if (mask.dtype == DType::boolean) mask = hiding(c, mask, c.dtype());
  Dims pads(2 * mask.shape.size(), 0);
  pads.back() = keys - mask.shape.back();
  const double inf = std::numeric_limits<double>::infinity();
  if (pads.back() > 0) mask = c.pad("constant", mask, pads, -inf);
  Dims shape(4 - mask.shape.size(), 1);
  shape.insert(shape.end(), mask.shape.begin(), mask.shape.end());
  return reshaped(mask, shape);
}

Array counted(std::int64_t count, Dims shape) {
  Dims values;
  for (std::int64_t k = 0; k < count; ++k) values.push_back(k);
  return integers(DType::i64, std::move(shape), values);
}

/// Which keys a query sees.
struct Sight {
  std::int64_t causal, before, after;  ///< before and after its own key; -1: all
};

/// That as a mask, where the own key of query i is i + offset[b], and each batch has lengths[b]
/// keys if there are lengths.
Array sight_mask(const Call& c, const Sight& sight, const Array& offset, const Array* lengths,
                 std::int64_t queries, std::int64_t keys) {
  const Array key = counted(keys, {keys});
  const Array own = c.binary("add", counted(queries, {queries, 1}), offset);
  const Array ahead = c.binary("sub", key, own);  // [B, 1, T, S]
  Array seen = c.binary("less", key, static_cast<double>(keys));
  const auto demand = [&](const Array& condition) {
    seen = c.map("logical_and", {&seen, &condition});
  };
  if (lengths != nullptr) demand(c.binary("less", key, *lengths));
  if (sight.causal != 0) demand(c.binary("less_or_equal", ahead, 0.0));
  if (sight.before >= 0) {
    demand(c.binary("greater_or_equal", ahead, static_cast<double>(-sight.before)));
  }
  if (sight.after >= 0) {
    demand(c.binary("less_or_equal", ahead, static_cast<double>(sight.after)));
  }
  return hiding(c, seen, c.dtype());
}

Outputs attention(const Call& c) {
  if (c.wants(3)) throw NotApplicable("the scores themselves are no output of op attention");
  const Array q = with_heads(c.in(0), c.integer("q_num_heads", 1));
  const std::int64_t kv_heads = c.integer("kv_num_heads", 1);
  const Array k = with_past(c, with_heads(c.in(1), kv_heads), 4);
  const Array v = with_past(c, with_heads(c.in(2), kv_heads), 5);
  const std::int64_t queries = q.shape[2], keys = k.shape[2],
                     past = c.has(4) ? c.in(4).shape[2] : 0;
  const Sight sight = {c.integer("is_causal", 0), c.integer("left_window_size", -1),
                       c.integer("right_window_size", -1)};
  std::optional<Array> mask = given_mask(c, keys);
  Params params = {{"scale", c.real("scale", 0)}};
  if (!c.has(6) && (past == 0 || past == keys - queries)) {
    params["causal"] = sight.causal;
    params["anchor"] = past == 0 ? 0 : 1;
    params["window0"] = sight.before;
    params["window1"] = sight.after;
  } else {
    Array lengths, offset = integers(DType::i64, {}, {past});
    if (c.has(6)) {
      lengths = reshaped(c.in(6), {q.shape[0], 1, 1, 1});
      offset = c.binary("sub", lengths, static_cast<double>(queries));
    }
    const Array hidden = sight_mask(c, sight, offset, c.has(6) ? &lengths : nullptr, queries, keys);
    mask = mask ? c.binary("add", *mask, hidden) : hidden;
  }
  const double cap = c.real("softcap", 0);
  if (cap > 0) params["softcap"] = cap;
  if (mask) mask->shape.insert(mask->shape.begin(), 4 - mask->shape.size(), 1);
  Array y = c.kernels().run(cap > 0 ? "attention_softcap" : "attention", q.dtype,
                            {&q, &k, &v, mask ? &*mask : nullptr}, params);
  if (c.in(0).shape.size() == 3) {
    y = permuted(y, {0, 2, 1, 3});
    y = reshaped(y, {y.shape[0], y.shape[1], y.shape[2] * y.shape[3]});
  }
  return {y, k, v};
}

}  // namespace

Adapters attention_adapters() { return {{"Attention", attention}}; }

}  // namespace mote::onnx
