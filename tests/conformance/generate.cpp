// SPDX-License-Identifier: Apache-2.0
// Adapters of operators that make tensors from only a shape or a few numbers, and of those that
// keep a triangle.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "call.h"
#include "memory.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

Outputs constant_of_shape(const Call& c) {
  const Dims shape = integers_in(c.in(0));
  const Array value = c.has_attribute("value")
                          ? to_array(c.attribute("value").t.value_or(TensorData{}))
                          : constant(DType::f32, 0);
  return {reshaped(c.tile(reshaped(value, {1}), {element_count(shape)}), shape)};
}

Array triangle(const Call& c, const Array& x, bool upper, std::int64_t diagonal) {
  const std::size_t rank = x.shape.size();
  const Array flat =
      reshaped(x, {volume(x.shape, 0, rank - 2), x.shape[rank - 2], x.shape[rank - 1]});
  const Params params = {{"diagonal", diagonal}};
  return reshaped(c.kernels().run(upper ? "triu" : "tril", x.dtype, {&flat}, params), x.shape);
}

Outputs trilu(const Call& c) {
  const std::int64_t diagonal = c.has(1) ? integers_in(c.in(1)).at(0) : 0;
  return {triangle(c, c.in(0), c.integer("upper", 1) != 0, diagonal)};
}

/// Makes ones on one diagonal: the part that both triangles keep.
Outputs eye_like(const Call& c) {
  const auto like = element_type_of(c.dtype());
  const auto type = c.integer("dtype", static_cast<std::int64_t>(like));
  const std::optional<DType> dtype = dtype_of(static_cast<ElementType>(type));
  if (!dtype) throw NotApplicable("an element type that mote does not have");
  const Array ones = broadcast_to(constant(*dtype, 1), c.in(0).shape);
  const std::int64_t k = c.integer("k", 0);
  return {triangle(c, triangle(c, ones, true, k), false, k)};
}

/// Computes 0, 1, 2, … as a running sum of ones that excludes the element itself.
Array counted(const Call& c, DType dtype, std::int64_t count) {
  const Array ones = broadcast_to(constant(dtype, 1), {1, count, 1});
  const Params params = {{"exclusive", 1}};
  return reshaped(c.kernels().run("cumsum", dtype, {&ones}, params), {count});
}

/// Computes start + delta * n.
Outputs range(const Call& c) {
  const double start = real_in(c.in(0)), limit = real_in(c.in(1)), delta = real_in(c.in(2));
  const auto count = static_cast<std::int64_t>(std::max(std::ceil((limit - start) / delta), 0.0));
  const Array n = counted(c, c.dtype(), count);
  return {c.binary("add", c.binary("mul", n, c.in(2)), c.in(0))};
}

/// Computes first - second cos(2 pi n / N) + third cos(4 pi n / N), N = size, or size - 1 if not
/// periodic.
Adapter window(double first, double second, double third) {
  return [=](const Call& c) -> Outputs {
    const auto type = static_cast<ElementType>(c.integer("output_datatype", 1));
    const std::optional<DType> dtype = dtype_of(type);
    if (!dtype) throw NotApplicable("an element type that mote does not have");
    const std::int64_t size = integers_in(c.in(0)).at(0);
    const auto period = static_cast<double>(c.integer("periodic", 1) != 0 ? size : size - 1);
    const Array angle = c.binary("mul", counted(c, *dtype, size), 2 * std::numbers::pi / period);
    const Array once = c.binary("mul", c.unary("cos", angle), second);
    const Array twice = c.binary("mul", c.unary("cos", c.binary("mul", angle, 2.0)), third);
    return {c.binary("add", c.binary("sub", first, once), twice)};
  };
}

}  // namespace

Adapters generate_adapters() {
  return {{"ConstantOfShape", constant_of_shape},
          {"Trilu", trilu},
          {"EyeLike", eye_like},
          {"Range", range},
          {"HannWindow", window(0.5, 0.5, 0)},
          {"HammingWindow", window(25.0 / 46, 21.0 / 46, 0)},
          {"BlackmanWindow", window(0.42, 0.5, 0.08)}};
}

}  // namespace mote::onnx
