// SPDX-License-Identifier: Apache-2.0
// Makes tensors for the interpreter: views of inputs, storage for all others. In: declarations and
// the values of sizes; out: shapes, strides and memory.
#include "ir/storage.h"

#include <fmt/format.h>

#include "mote/base/error.h"

namespace mote::machine {

Tensor input_tensor(const LoopProgram& p, const TensorDecl& t,
                    const std::vector<std::int64_t>& shape, const Array& array) {
  if (array.dtype != t.dtype) {
    throw Error(fmt::format("{}: input {}: got {}, expected {}", p.name, t.name, name(array.dtype),
                            name(t.dtype)));
  }
  const auto count = static_cast<std::size_t>(element_count(array.shape));
  if (array.values.size() != count) {
    throw Error(fmt::format("{}: input {}: got {} values, expected {} for shape [{}]", p.name,
                            t.name, array.values.size(), count, fmt::join(array.shape, ", ")));
  }
  for (const Number& n : array.values) {
    if (n.is_real() == is_real(t.dtype)) continue;
    throw Error(fmt::format("{}: input {}: reals hold doubles, others int64", p.name, t.name));
  }
  Tensor tensor;
  tensor.declaration = &t;
  tensor.shape = shape;
  tensor.strides.resize(shape.size());
  tensor.input = array.values.data();
  const std::size_t missing = shape.size() - array.shape.size();
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > missing;) {
    const std::int64_t extent = array.shape[axis - missing];
    tensor.strides[axis] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  return tensor;
}

Tensor stored_tensor(const LoopProgram& p, const TensorDecl& t, const Binding& binding) {
  Tensor tensor;
  tensor.declaration = &t;
  for (const Expr& e : t.shape) tensor.shape.push_back(evaluate(e, binding.values));
  for (std::int64_t extent : tensor.shape) {
    if (extent >= 0) continue;
    throw InternalError(
        fmt::format("{}: {} has shape [{}]", p.name, t.name, fmt::join(tensor.shape, ", ")));
  }
  tensor.strides.resize(t.shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
    tensor.strides[axis] = stride;
    stride *= tensor.shape[axis];
  }
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  tensor.values.resize(count);
  tensor.stored.resize(count);
  return tensor;
}

}  // namespace mote::machine
