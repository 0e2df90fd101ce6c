// SPDX-License-Identifier: Apache-2.0
// Pools of maxima as they are written with max_pool2d, one or two axes at a time. The last axes
// come first, so that the first of equal maxima is found in row-major order.
#include <cstdint>
#include <string>
#include <vector>

#include "gradient/composed.h"

namespace mote {
namespace {

using Value = FormulaValue;

/// The first of max_pool2d's parameters that has that name, for an axis of another pool.
std::string axis_param(Formula& f, const char* name, int from, int to) {
  const auto value = static_cast<std::int64_t>(f.param(name + std::to_string(from)));
  return std::string(" ") + name + std::to_string(to) + "=" + std::to_string(value);
}

/// The parameters by which axis `to` of max_pool2d is pooled as axis `from` of the op.
std::string pool_axis(Formula& f, int from, int to) {
  std::string text;
  for (const char* name : {"kernel", "stride", "dilation", "pads"})
    text += axis_param(f, name, from, to);
  return text + axis_param(f, "pads", from + 3, to + 2);
}

/// Pools windows of one axis that begin at i extent/count and end at (i + 1) extent/count, rounded
/// down and up.
Value pooled_to(Formula& f, Value x, int axis, std::int64_t count) {
  const int canonical = axis - (f.shape(x).size() - 4);
  const std::int64_t extent = f.shape(x)[axis];
  const auto pool = [&](Value part, std::int64_t kernel) {
    const std::string at = std::to_string(canonical - 2);
    const std::string other = std::to_string(3 - canonical);
    const std::string text = std::to_string(kernel);
    return f.op("max_pool2d kernel" + at + "=" + text + " stride" + at + "=" + text + " kernel" +
                    other + "=1",
                {part});
  };
  if (extent % count == 0) return pool(x, extent / count);
  std::vector<Value> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * extent / count;
    const std::int64_t end = ((i + 1) * extent + count - 1) / count;
    parts.push_back(pool(f.slice(x, axis, begin, end - begin), end - begin));
  }
  return f.joined(parts, axis);
}

}  // namespace

void write_max_pool3d(Formula& f) {
  const AxisList shape = f.shape(f.x());
  const int depth = shape.size() - 3;
  std::int64_t images = 1;
  for (int axis = 0; axis < depth; ++axis) images *= shape[axis];
  const std::string ceil_mode =
      " ceil_mode=" + std::to_string(static_cast<std::int64_t>(f.param("ceil_mode")));
  const Value planes =
      f.reshaped(f.x(), {images, shape[depth], shape[depth + 1], shape[depth + 2]});
  const Value pooled =
      f.op("max_pool2d" + pool_axis(f, 1, 0) + pool_axis(f, 2, 1) + ceil_mode, {planes});
  const AxisList of_planes = f.shape(pooled);
  const Value rows = f.reshaped(pooled, {images, 1, shape[depth], of_planes[2] * of_planes[3]});
  const Value y = f.op("max_pool2d" + pool_axis(f, 0, 0) + " kernel1=1" + ceil_mode, {rows});
  AxisList whole;
  for (int axis = 0; axis < depth; ++axis) whole.push_back(shape[axis]);
  whole.push_back(f.shape(y)[2]);
  whole.push_back(of_planes[2]);
  whole.push_back(of_planes[3]);
  f.give(0, f.reshaped(y, whole));
}

void write_adaptive_max_pool2d(Formula& f) {
  const int rank = f.shape(f.x()).size();
  if (f.element_count() == 0) return f.give(0, f.filled(0, f.shape(f.gy())));
  const Value columns =
      pooled_to(f, f.x(), rank - 1, static_cast<std::int64_t>(f.param("output1")));
  f.give(0, pooled_to(f, columns, rank - 2, static_cast<std::int64_t>(f.param("output0"))));
}

}  // namespace mote
