// SPDX-License-Identifier: Apache-2.0
// Changes shapes on the caller's side, element by element.
#include "shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mote/base/error.h"

namespace mote::onnx {
namespace {

Dims strides_of(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
  return strides;
}

/// Returns the elements of x at the row-major positions of `shape`, where axis k steps by
/// strides[k].
Array viewed(const Array& x, const Dims& shape, const Dims& strides) {
  Array y{x.dtype, shape, {}};
  Dims index(shape.size(), 0);
  for (std::int64_t n = element_count(shape); n > 0; --n) {
    std::int64_t at = 0;
    for (std::size_t k = 0; k < index.size(); ++k) at += index[k] * strides[k];
    y.values.push_back(x.values.at(static_cast<std::size_t>(at)));
    for (std::size_t k = shape.size(); k-- > 0;) {
      if (++index[k] < shape[k]) break;
      index[k] = 0;
    }
  }
  return y;
}

Dims with_rank(const Dims& shape, std::size_t rank) {
  Dims longer(rank - shape.size(), 1);
  longer.insert(longer.end(), shape.begin(), shape.end());
  return longer;
}

std::size_t greatest_rank(const std::vector<Dims>& shapes) {
  std::size_t rank = 0;
  for (const Dims& s : shapes) rank = std::max(rank, s.size());
  return rank;
}

}  // namespace

std::int64_t volume(const Dims& shape, std::size_t from, std::size_t to) {
  std::int64_t count = 1;
  for (std::size_t k = from; k < to; ++k) count *= shape.at(k);
  return count;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n) throw Error(fmt::format("axis {} of a tensor of rank {}", axis, n));
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

Array reshaped(Array x, Dims shape) {
  if (element_count(shape) != element_count(x.shape)) {
    throw Error(fmt::format("{} cannot become {}", x.shape, shape));
  }
  x.shape = std::move(shape);
  return x;
}

Array permuted(const Array& x, const std::vector<std::size_t>& order) {
  const Dims strides = strides_of(x.shape);
  Dims shape, steps;
  for (const std::size_t axis : order) {
    shape.push_back(x.shape.at(axis));
    steps.push_back(strides.at(axis));
  }
  return viewed(x, shape, steps);
}

Array diagonal(const Array& x, std::size_t first, std::size_t second) {
  Dims shape = x.shape, strides = strides_of(x.shape);
  if (shape.at(first) != shape.at(second)) throw Error("the diagonal of unequal extents");
  const auto gone = static_cast<std::ptrdiff_t>(second);
  strides[first] += strides[second];
  shape.erase(shape.begin() + gone);
  strides.erase(strides.begin() + gone);
  return viewed(x, shape, strides);
}

Array broadcast_to(const Array& x, const Dims& shape) {
  const Dims own = with_rank(x.shape, shape.size());
  Dims strides = strides_of(own);
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (own[k] == shape[k]) continue;
    if (own[k] != 1) throw Error(fmt::format("{} does not broadcast to {}", x.shape, shape));
    strides[k] = 0;
  }
  return viewed(x, shape, strides);
}

Dims broadcast_shape(const std::vector<Dims>& shapes) {
  Dims common(greatest_rank(shapes), 1);
  for (const Dims& s : shapes) {
    const Dims shape = with_rank(s, common.size());
    for (std::size_t k = 0; k < common.size(); ++k) {
      if (shape[k] == 1 || shape[k] == common[k]) continue;
      if (common[k] != 1) throw Error(fmt::format("shapes do not broadcast: {}", shapes));
      common[k] = shape[k];
    }
  }
  return common;
}

Array around_axis(Array x, std::size_t axis) {
  const Dims& s = x.shape;
  Dims shape = {volume(s, 0, axis), s.at(axis), volume(s, axis + 1, s.size())};
  return reshaped(std::move(x), std::move(shape));
}

Array channels_in_the_middle(const Array& x) {
  return reshaped(x, {x.shape.at(0), x.shape.at(1), volume(x.shape, 2, x.shape.size())});
}

std::vector<Dims> merged(const std::vector<Dims>& shapes, std::size_t rank) {
  const Dims common = broadcast_shape(shapes);
  std::vector<Dims> full, result(shapes.size());
  for (const Dims& s : shapes) full.push_back(with_rank(s, common.size()));
  std::optional<std::size_t> last;
  for (std::size_t k = 0; k < common.size(); ++k) {
    if (common[k] == 1) continue;
    const auto repeats = [&](std::size_t t, std::size_t axis) { return full[t][axis] == 1; };
    bool joins = last.has_value();
    for (std::size_t t = 0; t < full.size(); ++t)
      joins = joins && repeats(t, k) == repeats(t, *last);
    for (std::size_t t = 0; t < full.size(); ++t) {
      if (joins) {
        result[t].back() *= full[t][k];
      } else {
        result[t].push_back(full[t][k]);
      }
    }
    last = k;
  }
  for (Dims& shape : result) {
    if (shape.size() > rank) {
      throw NotApplicable(fmt::format("shapes {} do not merge to {} axes", shapes, rank));
    }
    shape = with_rank(shape, rank);
  }
  return result;
}

Array array_of(DType dtype, Dims shape, const std::vector<double>& values) {
  Array a{dtype, std::move(shape), {}};
  for (const double v : values) a.values.push_back(store_as(v, dtype));
  return a;
}

Array integers(DType dtype, Dims shape, const std::vector<std::int64_t>& values) {
  Array a{dtype, std::move(shape), {}};
  for (const std::int64_t v : values) a.values.push_back(store_as(v, dtype));
  return a;
}

Array constant(DType dtype, double value) { return array_of(dtype, {}, {value}); }

std::vector<std::int64_t> integers_in(const Array& x) {
  std::vector<std::int64_t> values;
  for (const Number& n : x.values) {
    if (n.is_real()) throw Error("a tensor of integers was expected");
    values.push_back(n.integer());
  }
  return values;
}

double real_in(const Array& x) {
  if (x.values.size() != 1) throw Error(fmt::format("{} is no single value", x.shape));
  return store_as(x.values.front(), DType::f64).real();
}

}  // namespace mote::onnx
