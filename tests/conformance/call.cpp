// SPDX-License-Identifier: Apache-2.0
// Parts of most adapters: attributes with defaults, and ops on tensors of any rank.
#include "call.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "mote/base/error.h"

namespace mote::onnx {

const Array& Call::in(std::size_t k) const {
  if (!has(k)) throw Error(fmt::format("{}: input {} is missing", node_.op_type, k));
  return *inputs_[k];
}

const Attribute& Call::attribute(const std::string& name) const {
  const auto at = node_.attributes.find(name);
  if (at == node_.attributes.end()) {
    throw Error(fmt::format("{}: attribute {} is missing", node_.op_type, name));
  }
  return at->second;
}

std::int64_t Call::integer(const std::string& name, std::int64_t otherwise) const {
  return has_attribute(name) ? attribute(name).i : otherwise;
}
double Call::real(const std::string& name, double otherwise) const {
  return has_attribute(name) ? double{attribute(name).f} : otherwise;
}
std::string Call::text(const std::string& name, const std::string& otherwise) const {
  return has_attribute(name) ? attribute(name).s : otherwise;
}
Dims Call::dims(const std::string& name, const Dims& otherwise) const {
  return has_attribute(name) ? attribute(name).ints : otherwise;
}
Dims Call::dims(std::size_t k, const std::string& name, const Dims& otherwise) const {
  return has(k) ? integers_in(in(k)) : dims(name, otherwise);
}

Array Call::map(const std::string& op, const std::vector<const Array*>& args, const Params& params,
                std::optional<DType> instance) const {
  std::vector<Dims> shapes;
  for (const Array* a : args) {
    if (a != nullptr) shapes.push_back(a->shape);
  }
  const std::vector<Dims> flat = merged(shapes, 4);
  std::vector<Array> views;
  views.reserve(args.size());
  std::vector<const Array*> given;
  for (const Array* a : args) {
    if (a != nullptr) views.push_back(reshaped(*a, flat[views.size()]));
    given.push_back(a != nullptr ? &views.back() : nullptr);
  }
  const DType dtype = instance.value_or(args.front()->dtype);
  return reshaped(kernels_.run(op, dtype, given, params), broadcast_shape(shapes));
}

Array Call::cast(const Array& x, DType to) const {
  return x.dtype == to ? x : unary(fmt::format("cast_{}", name(to)), x);
}

Array Call::slice(const Array& x, std::size_t axis, std::int64_t start, std::int64_t count,
                  std::int64_t step) const {
  const Array flat = around_axis(x, axis);
  Dims shape = x.shape;
  shape.at(axis) = count;
  const Params params = {{"start", start}, {"count", count}, {"step", step}};
  return reshaped(kernels_.run("slice", x.dtype, {&flat}, params), std::move(shape));
}

Array Call::gather(const Array& x, std::size_t axis, const Array& position) const {
  const Array flat = around_axis(x, axis);
  Dims shape = x.shape;
  shape.at(axis) = element_count(position.shape);
  return reshaped(kernels_.run("gather", x.dtype, {&flat, &position}), std::move(shape));
}

Array Call::concat(const std::vector<Array>& parts, std::size_t axis) const {
  Array all = parts.at(0);
  for (std::size_t k = 1; k < parts.size(); ++k) {
    Dims shape = all.shape;
    shape.at(axis) += parts[k].shape.at(axis);
    const Array a = around_axis(all, axis), b = around_axis(parts[k], axis);
    all = reshaped(kernels_.run("concat", a.dtype, {&a, &b}), std::move(shape));
  }
  return all;
}

Array Call::tile(const Array& x, const Dims& repeats) const {
  const std::size_t rank = x.shape.size();
  Array y = x;
  for (std::size_t k = 0; k < rank; ++k) {
    if (repeats.at(k) == 0) y = slice(y, k, 0, 0);
  }
  Dims shape = x.shape, extents, times;
  for (std::size_t k = 0; k < rank; ++k) {
    shape[k] *= repeats[k];
    if (repeats[k] == 1 && !extents.empty()) {
      extents.back() *= x.shape[k];
    } else {
      extents.push_back(x.shape[k]);
      times.push_back(repeats[k]);
    }
  }
  if (element_count(y.shape) == 0) return reshaped(y, shape);
  if (extents.size() > 4) {
    throw NotApplicable(fmt::format("tile has 4 axes, this needs {}", extents.size()));
  }
  Params params;
  for (std::size_t k = 0; k < times.size(); ++k) {
    params[fmt::format("repeats{}", k + 4 - times.size())] = times[k];
  }
  extents.insert(extents.begin(), 4 - extents.size(), 1);
  y = reshaped(x, extents);
  return reshaped(kernels_.run("tile", x.dtype, {&y}, params), shape);
}

Array Call::pad(const std::string& mode, const Array& x, const Dims& pads, double value) const {
  const std::size_t rank = x.shape.size();
  if (rank > 4) throw NotApplicable(fmt::format("pad_{} has 4 axes, the tensor {}", mode, rank));
  Params params;
  for (std::size_t k = 0; k < rank; ++k) {
    params[fmt::format("pads{}", k + 4 - rank)] = pads.at(k);
    params[fmt::format("pads{}", k + 8 - rank)] = pads.at(k + rank);
  }
  if (mode == "constant") params["value"] = value;
  Dims shape(4 - rank, 1);
  shape.insert(shape.end(), x.shape.begin(), x.shape.end());
  const Array flat = reshaped(x, shape);
  const Array y = kernels_.run("pad_" + mode, x.dtype, {&flat}, params);
  return reshaped(y, {y.shape.end() - static_cast<std::ptrdiff_t>(rank), y.shape.end()});
}

// Proceeds axis by axis to the end: each step swaps the axis with all that follow it.
Array Call::transpose(const Array& x, const std::vector<std::size_t>& order) const {
  Array y = x;
  std::vector<std::size_t> standing(order.size());
  std::iota(standing.begin(), standing.end(), 0);
  for (const std::size_t axis : order) {
    const auto location = std::ranges::find(standing, axis);
    if (location == standing.end()) throw Error(fmt::format("no permutation: axis {} twice", axis));
    const auto k = static_cast<std::size_t>(location - standing.begin());
    Dims shape = y.shape;
    const Array flat = around_axis(std::move(y), k);
    y = kernels_.run("transpose", x.dtype, {&flat});
    std::rotate(shape.begin() + static_cast<std::ptrdiff_t>(k),
                shape.begin() + static_cast<std::ptrdiff_t>(k) + 1, shape.end());
    std::rotate(location, location + 1, standing.end());
    y = reshaped(std::move(y), std::move(shape));
  }
  return y;
}

Array Call::reduce(const std::string& op, const Array& x, const std::vector<std::size_t>& axes,
                   bool keep, const Params& params) const {
  std::vector<std::size_t> reduced = axes;
  std::ranges::sort(reduced);
  const auto is_reduced = [&](std::size_t k) { return std::ranges::binary_search(reduced, k); };
  const bool adjacent = !reduced.empty() && reduced.back() - reduced.front() + 1 == reduced.size();
  std::vector<std::size_t> order;
  Dims shape;
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    if (!is_reduced(k)) order.push_back(k);
    if (!is_reduced(k) || keep) shape.push_back(is_reduced(k) ? 1 : x.shape[k]);
  }
  const auto before = adjacent ? reduced.front() : order.size();
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(before), reduced.begin(), reduced.end());
  Array flat = permuted(x, order);
  const Dims& s = flat.shape;
  const std::size_t after = before + reduced.size();
  flat =
      reshaped(flat, {volume(s, 0, before), volume(s, before, after), volume(s, after, s.size())});
  return reshaped(kernels_.run(op, x.dtype, {&flat}, params), std::move(shape));
}

Array Call::matmul(const Array& a, const Array& b) const {
  const auto batch = [](const Dims& s) { return Dims(s.begin(), s.end() - 2); };
  const auto canonical = [](const Array& x, Dims outer) {
    outer.insert(outer.end(), x.shape.end() - 2, x.shape.end());
    return reshaped(x, std::move(outer));
  };
  const std::vector<Dims> outer = merged({batch(a.shape), batch(b.shape)}, 2);
  const Array left = canonical(a, outer[0]), right = canonical(b, outer[1]);
  Dims shape = broadcast_shape({batch(a.shape), batch(b.shape)});
  shape.push_back(a.shape[a.shape.size() - 2]);
  shape.push_back(b.shape.back());
  return reshaped(kernels_.run("matmul", a.dtype, {&left, &right}), std::move(shape));
}

}  // namespace mote::onnx
