// SPDX-License-Identifier: Apache-2.0
// Adapters of operators that move elements.
#include <algorithm>
#include <numeric>

#include "call.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

Outputs transpose(const Call& c) {
  const std::size_t rank = c.in(0).shape.size();
  std::vector<std::size_t> order;
  for (const std::int64_t p : c.dims("perm")) order.push_back(axis_of(p, rank));
  for (std::size_t k = rank; !c.has_attribute("perm") && k-- > 0;) order.push_back(k);
  return {c.transpose(c.in(0), order)};
}

Outputs concat(const Call& c) {
  std::vector<Array> parts;
  for (std::size_t k = 0; k < c.input_count(); ++k) parts.push_back(c.in(k));
  return {c.concat(parts, axis_of(c.integer("axis", 1), parts.at(0).shape.size()))};
}

/// Slices one axis: negative positions count from the end, all are clamped as ONNX says.
Array sliced(const Call& c, const Array& x, std::size_t axis, std::int64_t start, std::int64_t end,
             std::int64_t step) {
  const std::int64_t n = x.shape.at(axis);
  if (step == 0) throw Error("Slice: a step is 0");
  const std::int64_t least = step < 0 ? -1 : 0, most = step < 0 ? n - 1 : n;
  const auto clamped = [&](std::int64_t at) {
    return std::clamp(at < 0 ? at + n : at, least, most);
  };
  const std::int64_t from = std::max<std::int64_t>(clamped(start), 0);
  const std::int64_t span = clamped(end) - from;
  const std::int64_t count = step > 0 ? (span + step - 1) / step : (-span - step - 1) / -step;
  return c.slice(x, axis, from, std::max<std::int64_t>(count, 0), step);
}

Outputs slice(const Call& c) {
  const Dims starts = c.dims(1, "starts"), ends = c.dims(2, "ends");
  const Dims axes = c.dims(3, "axes");
  const Dims steps = c.has(4) ? integers_in(c.in(4)) : Dims(starts.size(), 1);
  Array y = c.in(0);
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const std::int64_t axis = axes.empty() ? static_cast<std::int64_t>(k) : axes.at(k);
    y = sliced(c, y, axis_of(axis, y.shape.size()), starts[k], ends.at(k), steps.at(k));
  }
  return {y};
}

Outputs split(const Call& c) {
  const Array& x = c.in(0);
  const std::size_t axis = axis_of(c.integer("axis", 0), x.shape.size());
  const auto count = static_cast<std::int64_t>(c.node().outputs.size());
  const std::int64_t each = (x.shape.at(axis) + count - 1) / count;
  const Dims sizes = c.dims(1, "split", Dims(static_cast<std::size_t>(count), each));
  Outputs parts;
  std::int64_t start = 0;
  for (const std::int64_t s : sizes) {
    parts.push_back(c.slice(x, axis, start, std::min(s, x.shape[axis] - start)));
    start += s;
  }
  return parts;
}

/// Since opset 18 only some of the axes may be padded.
Outputs pad(const Call& c) {
  const std::size_t rank = c.in(0).shape.size();
  Dims pads = c.dims(1, "pads");
  if (c.has(3)) {
    const Dims given = pads, axes = integers_in(c.in(3));
    pads.assign(2 * rank, 0);
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const std::size_t axis = axis_of(axes[k], rank);
      pads[axis] = given.at(k);
      pads[axis + rank] = given.at(k + axes.size());
    }
  }
  const double value = c.has(2) ? real_in(c.in(2)) : c.real("value", 0);
  return {c.pad(c.text("mode", "constant"), c.in(0), pads, value)};
}

/// Keeps the middle of each axis, or puts zeros around it; an odd remainder goes to the end.
Outputs center_crop_pad(const Call& c) {
  const Array& x = c.in(0);
  const std::size_t rank = x.shape.size();
  const Dims wanted = integers_in(c.in(1)), axes = c.dims("axes");
  Dims pads(2 * rank, 0);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::size_t axis = axes.empty() ? k : axis_of(axes.at(k), rank);
    const std::int64_t missing = wanted[k] - x.shape.at(axis);
    pads[axis] = missing / 2;
    pads[axis + rank] = missing - missing / 2;
  }
  return {c.pad("constant", x, pads)};
}

Outputs tile(const Call& c) { return {c.tile(c.in(0), integers_in(c.in(1)))}; }

/// Copies elements that strides of 0 would repeat.
Outputs expand(const Call& c) {
  const Dims shape = broadcast_shape({c.in(0).shape, integers_in(c.in(1))});
  Dims from(shape.size() - c.in(0).shape.size(), 1), repeats;
  from.insert(from.end(), c.in(0).shape.begin(), c.in(0).shape.end());
  for (std::size_t k = 0; k < shape.size(); ++k) repeats.push_back(from[k] == 1 ? shape[k] : 1);
  return {c.tile(reshaped(c.in(0), from), repeats)};
}

/// Blocks of channels become blocks of pixels: a permutation between two views.
Outputs depth_to_space(const Call& c) {
  const Array& x = c.in(0);
  const std::int64_t b = c.integer("blocksize", 1), n = x.shape.at(0), h = x.shape.at(2),
                     w = x.shape.at(3), depth = x.shape.at(1) / (b * b);
  const bool crd = c.text("mode", "DCR") == "CRD";
  const Array y = crd ? c.transpose(reshaped(x, {n, depth, b, b, h, w}), {0, 1, 4, 2, 5, 3})
                      : c.transpose(reshaped(x, {n, b, b, depth, h, w}), {0, 3, 4, 1, 5, 2});
  return {reshaped(y, {n, depth, h * b, w * b})};
}
Outputs space_to_depth(const Call& c) {
  const Array& x = c.in(0);
  const std::int64_t b = c.integer("blocksize", 1), n = x.shape.at(0), depth = x.shape.at(1),
                     h = x.shape.at(2) / b, w = x.shape.at(3) / b;
  const bool crd = c.text("mode", "DCR") == "CRD";
  const std::vector<std::size_t> order = {0, crd ? 1U : 3U, crd ? 3U : 5U, crd ? 5U : 1U, 2, 4};
  const Array y = c.transpose(reshaped(x, {n, depth, h, b, w, b}), order);
  return {reshaped(y, {n, depth * b * b, h, w})};
}

/// Reverses the first elements in time of each batch.
Outputs reverse_sequence(const Call& c) {
  const std::int64_t batch = c.integer("batch_axis", 1), time = c.integer("time_axis", 0);
  const auto b = static_cast<std::size_t>(batch), t = static_cast<std::size_t>(time);
  const Dims lengths = integers_in(c.in(1));
  std::vector<Array> parts;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const Array one = c.slice(c.in(0), b, static_cast<std::int64_t>(k), 1);
    const std::int64_t length = lengths[k], rest = one.shape.at(t) - length;
    const Array turned = c.slice(one, t, length - 1, length, -1);
    parts.push_back(c.concat({turned, c.slice(one, t, length, rest)}, t));
  }
  return {c.concat(parts, b)};
}

}  // namespace

Adapters move_adapters() {
  return {{"Transpose", transpose},
          {"Concat", concat},
          {"Slice", slice},
          {"Split", split},
          {"Pad", pad},
          {"CenterCropPad", center_crop_pad},
          {"Tile", tile},
          {"Expand", expand},
          {"DepthToSpace", depth_to_space},
          {"SpaceToDepth", space_to_depth},
          {"ReverseSequence", reverse_sequence}};
}

}  // namespace mote::onnx
