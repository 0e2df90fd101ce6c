// SPDX-License-Identifier: Apache-2.0
// Runs ops on small handwritten arrays by the evaluator.
#include "run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <utility>

namespace mote {
namespace {

Array whole(DType dtype, Dims shape, const std::vector<std::int64_t>& values) {
  Array a{dtype, std::move(shape), {}};
  for (const std::int64_t v : values) a.values.emplace_back(v);
  if (std::cmp_not_equal(a.values.size(), element_count(a.shape))) {
    throw std::invalid_argument("as many values as elements");
  }
  return a;
}

}  // namespace

Array tensor(DType dtype, Dims shape, const std::vector<double>& values) {
  Array a{dtype, std::move(shape), {}};
  for (const double v : values) a.values.push_back(store_as(v, dtype));
  if (std::cmp_not_equal(a.values.size(), element_count(a.shape))) {
    throw std::invalid_argument("as many values as elements");
  }
  return a;
}

Array f64(Dims shape, const std::vector<double>& values) {
  return tensor(DType::f64, std::move(shape), values);
}
Array f32(Dims shape, const std::vector<double>& values) {
  return tensor(DType::f32, std::move(shape), values);
}
Array i32(Dims shape, const std::vector<std::int64_t>& values) {
  return whole(DType::i32, std::move(shape), values);
}
Array i64(Dims shape, const std::vector<std::int64_t>& values) {
  return whole(DType::i64, std::move(shape), values);
}
Array boolean(Dims shape, const std::vector<std::int64_t>& values) {
  return whole(DType::boolean, std::move(shape), values);
}

Array integers(DType dtype, Dims shape, int seed) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  std::uint32_t state = static_cast<std::uint32_t>(seed) * 2654435761U + 1;
  for (double& v : values) {
    state = state * 1664525U + 1013904223U;
    v = static_cast<double>(state >> 16U & 15U) - 7;
  }
  return tensor(dtype, std::move(shape), values);
}

Array absent() { return {DType::boolean, {-1}, {}}; }

std::vector<Array> run_all(const std::string& op, DType dtype, const std::vector<Array>& inputs,
                           const Params& params) {
  Instance instance{dtype, 0};
  std::vector<Array> present;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].shape == absent().shape) continue;
    instance.input_mask |= mask_bit(k);
    present.push_back(inputs[k]);
  }
  return evaluate(*instantiate(find_op(op), instance), present, params);
}

Array run(const std::string& op, const std::vector<Array>& inputs, const Params& params) {
  return run_all(op, inputs.front().dtype, inputs, params).at(0);
}

double at(const Array& a, const Dims& index) {
  std::int64_t position = 0;
  for (std::size_t k = 0; k < index.size(); ++k) position = position * a.shape[k] + index[k];
  const Number& n = a.values.at(static_cast<std::size_t>(position));
  return n.is_real() ? n.real() : static_cast<double>(n.integer());
}

std::ostream& operator<<(std::ostream& out, const Array& a) {
  std::vector<std::string> values;
  for (const Number& n : a.values) {
    values.push_back(n.is_real() ? fmt::format("{}", n.real()) : fmt::format("{}", n.integer()));
  }
  return out << fmt::format("{}{} {{{}}}", name(a.dtype), a.shape, fmt::join(values, ", "));
}

}  // namespace mote
