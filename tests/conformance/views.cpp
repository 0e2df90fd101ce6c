// SPDX-License-Identifier: Apache-2.0
// Adapters of operators that move no element: another shape over the same memory, or results that
// are known without reading it. No kernel runs, so a test of these alone says nothing about mote;
// they serve models of several nodes that use them between ops.
#include <algorithm>

#include "call.h"
#include "memory.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

Outputs identity(const Call& c) { return {c.in(0)}; }

Outputs reshape(const Call& c) {
  const Array& x = c.in(0);
  Dims shape = c.dims(1, "shape");
  const bool zero_is_zero = c.integer("allowzero", 0) != 0;
  std::int64_t known = 1;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] == 0 && !zero_is_zero) shape[k] = x.shape.at(k);
    if (shape[k] >= 0) known *= shape[k];
  }
  for (std::int64_t& extent : shape) {
    if (extent < 0) extent = known == 0 ? 0 : element_count(x.shape) / known;
  }
  return {reshaped(x, std::move(shape))};
}

Outputs flatten(const Call& c) {
  const Array& x = c.in(0);
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  const std::int64_t axis = c.integer("axis", 1);
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return {reshaped(x, {volume(x.shape, 0, at), volume(x.shape, at, x.shape.size())})};
}

Outputs squeeze(const Call& c) {
  const Array& x = c.in(0);
  std::vector<std::size_t> axes;
  for (const std::int64_t a : c.dims(1, "axes")) axes.push_back(axis_of(a, x.shape.size()));
  Dims shape;
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    const bool gone = axes.empty() ? x.shape[k] == 1 : std::ranges::find(axes, k) != axes.end();
    if (!gone) shape.push_back(x.shape[k]);
  }
  return {reshaped(x, std::move(shape))};
}

Outputs unsqueeze(const Call& c) {
  const Array& x = c.in(0);
  const Dims given = c.dims(1, "axes");
  const std::size_t rank = x.shape.size() + given.size();
  std::vector<std::size_t> axes;
  for (const std::int64_t a : given) axes.push_back(axis_of(a, rank));
  Dims shape;
  auto next = x.shape.begin();
  for (std::size_t k = 0; k < rank; ++k) {
    const bool is_new = std::ranges::find(axes, k) != axes.end();
    shape.push_back(is_new ? 1 : *next++);
  }
  return {reshaped(x, std::move(shape))};
}

Outputs shape(const Call& c) {
  const auto& s = c.in(0).shape;
  const auto rank = static_cast<std::int64_t>(s.size());
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t from = clamped(c.integer("start", 0)), to = clamped(c.integer("end", rank));
  const Dims part = from < to ? Dims(s.begin() + from, s.begin() + to) : Dims();
  return {integers(DType::i64, {static_cast<std::int64_t>(part.size())}, part)};
}

Outputs size(const Call& c) { return {integers(DType::i64, {}, {element_count(c.in(0).shape)})}; }

Outputs constant_node(const Call& c) {
  if (c.has_attribute("value")) return {to_array(c.attribute("value").t.value_or(TensorData{}))};
  if (c.has_attribute("value_int")) {
    return {integers(DType::i64, {}, {c.attribute("value_int").i})};
  }
  if (c.has_attribute("value_ints")) {
    const Dims& ints = c.attribute("value_ints").ints;
    return {integers(DType::i64, {static_cast<std::int64_t>(ints.size())}, ints)};
  }
  if (c.has_attribute("value_float")) return {constant(DType::f32, c.attribute("value_float").f)};
  if (c.has_attribute("value_floats")) {
    const std::vector<float>& floats = c.attribute("value_floats").floats;
    return {array_of(DType::f32, {static_cast<std::int64_t>(floats.size())},
                     {floats.begin(), floats.end()})};
  }
  throw NotApplicable("a constant of strings or a sparse one");
}

}  // namespace

Adapters view_adapters() {
  return {{"Identity", identity}, {"Reshape", reshape},       {"Flatten", flatten},
          {"Squeeze", squeeze},   {"Unsqueeze", unsqueeze},   {"Shape", shape},
          {"Size", size},         {"Constant", constant_node}};
}

}  // namespace mote::onnx
