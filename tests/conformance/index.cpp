// SPDX-License-Identifier: Apache-2.0
// Adapters of operators that read or write at an index.
#include <fmt/format.h>

#include <algorithm>

#include "call.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

Outputs gather(const Call& c) {
  const Array& x = c.in(0);
  const std::size_t axis = axis_of(c.integer("axis", 0), x.shape.size());
  Array index = c.cast(c.in(1), DType::i64);
  Dims shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), index.shape.begin(), index.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.shape.end());
  index = reshaped(index, {element_count(index.shape)});
  return {reshaped(c.gather(x, axis, index), shape)};
}

/// The index may be shorter than x on the other axes.
Outputs gather_elements(const Call& c) {
  Array x = c.in(0);
  const std::size_t axis = axis_of(c.integer("axis", 0), x.shape.size());
  const Array index = c.cast(c.in(1), DType::i64);
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    if (k != axis && index.shape.at(k) < x.shape[k]) x = c.slice(x, k, 0, index.shape[k]);
  }
  const Array flat = around_axis(x, axis), at = around_axis(index, axis);
  return {reshaped(c.kernels().run("gather_elements", x.dtype, {&flat, &at}), index.shape)};
}

/// Converts index[…, k] over the axes [from, from + k) of x to one linear position each.
Array flat_positions(const Call& c, const Dims& shape, std::size_t from, const Array& index) {
  const std::int64_t k = index.shape.back();
  Dims extents, strides;
  for (std::size_t a = 0; std::cmp_less(a, k); ++a) {
    extents.push_back(shape.at(from + a));
    strides.push_back(volume(shape, from + a + 1, from + static_cast<std::size_t>(k)));
  }
  const Array extent = integers(DType::i64, {k}, extents),
              stride = integers(DType::i64, {k}, strides);
  const Array ahead = c.binary("add", index, extent);
  const Array from_start = c.choose(c.binary("less", index, 0.0), ahead, index);
  return c.reduce("sum", c.binary("mul", from_start, stride), {index.shape.size() - 1}, false);
}

/// Reads rows of a table; each batch reads its own part of it.
Outputs gather_nd(const Call& c) {
  const Array& x = c.in(0);
  const Array& index = c.in(1);
  const auto batch = static_cast<std::size_t>(c.integer("batch_dims", 0));
  const auto k = static_cast<std::size_t>(index.shape.back());
  const std::int64_t batches = volume(x.shape, 0, batch);
  const std::int64_t rows = volume(x.shape, batch, batch + k);
  const std::int64_t row = volume(x.shape, batch + k, x.shape.size());
  Array at = flat_positions(c, x.shape, batch, index);
  Dims shape = at.shape;
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(batch + k),
               x.shape.end());
  Dims starts;
  for (std::int64_t b = 0; b < batches; ++b) starts.push_back(b * rows);
  at = reshaped(at, {batches, element_count(at.shape) / std::max<std::int64_t>(batches, 1)});
  at = c.binary("add", at, integers(DType::i64, {batches, 1}, starts));
  at = reshaped(at, {element_count(at.shape)});
  const Array table = reshaped(x, {batches * rows, row});
  return {reshaped(c.kernels().run("embedding", x.dtype, {&table, &at}), shape)};
}

Outputs one_hot(const Call& c) {
  const Array index = c.cast(c.in(0), DType::i64);
  const std::size_t rank = index.shape.size();
  const std::size_t axis = axis_of(c.integer("axis", -1), rank + 1);
  const auto depth = static_cast<std::int64_t>(real_in(c.in(1)));
  Dims shape = index.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  const Array flat =
      reshaped(index, {volume(index.shape, 0, axis), volume(index.shape, axis, rank)});
  const Params params = {{"depth", depth}};
  return {reshaped(c.kernels().run("one_hot", c.in(2).dtype, {&flat, &c.in(2)}, params), shape)};
}

/// Returns the name of the op that combines by the node's reduction.
std::string combining(const Call& c, const std::string& op) {
  const std::string reduction = c.text("reduction", "none");
  return reduction == "none" ? op : fmt::format("{}_{}", op, reduction);
}

/// Index and updates may be smaller than x on the other axes; they are padded then, the index with
/// a position one beyond the end, which writes nothing.
Outputs scatter_elements(const Call& c) {
  const Array& x = c.in(0);
  const std::size_t rank = x.shape.size(), axis = axis_of(c.integer("axis", 0), rank);
  Array index = c.cast(c.in(1), DType::i64), updates = c.in(2);
  Dims pads(2 * rank, 0);
  for (std::size_t k = 0; k < rank; ++k) {
    if (k != axis) pads[rank + k] = x.shape[k] - index.shape.at(k);
  }
  if (pads != Dims(2 * rank, 0)) {
    index = c.pad("constant", index, pads, static_cast<double>(x.shape[axis]));
    updates = c.pad("constant", updates, pads);
  }
  const Array flat = around_axis(x, axis), to = around_axis(index, axis);
  const Array from = around_axis(updates, axis);
  const std::string op = combining(c, "scatter_elements");
  return {reshaped(c.kernels().run(op, x.dtype, {&flat, &to, &from}), x.shape)};
}

/// The op indexes up to three axes; positions in more axes become one number.
Outputs scatter_nd(const Call& c) {
  const Array& x = c.in(0);
  const std::int64_t columns = c.in(1).shape.back();
  const auto indexed = static_cast<std::size_t>(columns);
  Dims shape(x.shape.begin(), x.shape.begin() + columns);
  Array index = c.in(1);
  if (indexed > 3) {
    index = flat_positions(c, x.shape, 0, index);
    index.shape.push_back(1);
    shape = {volume(x.shape, 0, indexed)};
  }
  const std::int64_t row = volume(x.shape, indexed, x.shape.size());
  shape.insert(shape.begin(), 3 - shape.size(), 1);
  shape.push_back(row);
  const std::int64_t rows = volume(index.shape, 0, index.shape.size() - 1);
  const Array table = reshaped(x, shape), to = reshaped(index, {rows, index.shape.back()});
  const Array from = reshaped(c.in(2), {rows, row});
  const std::string op = combining(c, "scatter_nd");
  return {reshaped(c.kernels().run(op, x.dtype, {&table, &to, &from}), x.shape)};
}

}  // namespace

Adapters index_adapters() {
  return {{"Gather", gather},
          {"GatherElements", gather_elements},
          {"GatherND", gather_nd},
          {"OneHot", one_hot},
          {"Scatter", scatter_elements},
          {"ScatterElements", scatter_elements},
          {"ScatterND", scatter_nd}};
}

}  // namespace mote::onnx
