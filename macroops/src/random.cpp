// SPDX-License-Identifier: Apache-2.0
// Random ops: pure functions of seed, offset and an element's position, by Philox 4x32-10. Values
// are computed in double whatever the op's dtype, so that every backend draws the same.
#include <cmath>
#include <numbers>

#include "families.h"

namespace mote {
namespace {

const Shape& drawn_shape() {
  static const Shape shape = {"I", "J", "K", "L"};
  return shape;
}

/// Returns word number $offset + position of the seed's stream, 0..2^32-1.
Uop word(const char* position) {
  const Uop seed = param("seed", DType::i64), offset = param("offset", DType::i64);
  return map(MapOp::philox, std::vector<Uop>{seed, offset + iota(position, drawn_shape())});
}

/// Returns the upper 24 bits of the element's word as a fraction: 0 <= u < 1.
Uop unit() {
  const Uop bits = map(MapOp::shift_right, {word("((i0*J + i1)*K + i2)*L + i3"), 8});
  return cast(bits, DType::f64) * 0x1p-24;
}

ProgramSpec dropout(const Instance& instance) {
  const Uop x = input("x", instance.dtype, drawn_shape());
  const Uop kept = unit() >= param("ratio", DType::f64);
  const Uop training = iota("$training", drawn_shape()) > 0;
  const Uop scaled = x / (1 - param("ratio", instance.dtype));
  return spec({x}, {{"y", where(training, where(kept, scaled, 0), x)},
                    {"mask", kept || iota("$training", drawn_shape()) <= 0}});
}

ProgramSpec uniform(const Instance& instance) {
  const Uop x = input("x", instance.dtype, drawn_shape());
  const Uop low = param("low", DType::f64), high = param("high", DType::f64);
  return spec({x}, cast(low + (high - low) * unit(), instance.dtype));
}

/// Applies Box and Muller's transform to two words, of which the first is taken from (0, 1].
ProgramSpec normal(const Instance& instance) {
  const Uop x = input("x", instance.dtype, drawn_shape());
  const Uop first = word("2*(((i0*J + i1)*K + i2)*L + i3)");
  const Uop second = word("2*(((i0*J + i1)*K + i2)*L + i3) + 1");
  const Uop u = cast(first + 1, DType::f64) * 0x1p-32, v = cast(second, DType::f64) * 0x1p-32;
  const Uop angle = v * (2 * std::numbers::pi);
  const Uop z = sqrt(-2 * log(u)) * map(MapOp::cos, std::vector<Uop>{angle});
  const Uop y = param("mean", DType::f64) + param("scale", DType::f64) * z;
  return spec({x}, cast(y, instance.dtype));
}

ProgramSpec bernoulli(const Instance& instance) {
  const Uop x = input("x", instance.dtype, drawn_shape());
  return spec({x}, cast(unit() < cast(x, DType::f64), instance.dtype));
}

OpRecord random_record(std::string name, std::string equation, std::vector<ParamDecl> params,
                       std::string policy, std::string source,
                       ProgramSpec (*define)(const Instance&)) {
  params.push_back(offset_param("seed", 0, "which stream of random words"));
  params.push_back(offset_param("offset", 0, "position in the stream of the first element"));
  return {.name = std::move(name),
          .family = "random",
          .equation = std::move(equation),
          .inputs = {{"x"}},
          .dtypes = dtypes::kReal,
          .params = std::move(params),
          .in_place = {{0, 0}},
          .policy = std::move(policy),
          .source = std::move(source),
          .define = define};
}

}  // namespace

std::vector<OpRecord> random_ops() {
  const std::string stream =
      "word p of the stream: word p mod 4 of Philox 4x32-10 with counter p/4 and key seed";
  const std::string fraction =
      "u = (word offset + k) / 2^8 rounded down, / 2^24, k the element's row-major position; " +
      stream;
  const std::string shape_only = "x gives only the shape; ";
  const std::string element = "y[i, j, k, l] = ";
  return {
      random_record("dropout",
                    "mask = u >= ratio, y = mask ? x / (1 - ratio) : 0; without training mask is "
                    "true, y = x",
                    {value_param("ratio", 0.5, "share that is dropped, 0 <= ratio < 1"),
                     flag_param("training", 1, "0: nothing is dropped or scaled")},
                    "what is dropped is 0, NaN too; " + fraction, "ONNX opset 17 Dropout", dropout),
      random_record("uniform", element + "low + (high - low)*u",
                    {value_param("low", 0, "least value"), value_param("high", 1, "bound above")},
                    shape_only + "high only where rounding to T gives it; " + fraction,
                    "ONNX opset 17 RandomUniform, RandomUniformLike", uniform),
      random_record("normal",
                    element + "mean + scale * sqrt(-2*log((a + 1)/2^32)) * cos(2*pi*b/2^32)",
                    {value_param("mean", 0, "mean"), value_param("scale", 1, "standard deviation")},
                    shape_only +
                        "a, b: words offset + 2k and offset + 2k + 1, k the element's row-major "
                        "position; " +
                        stream,
                    "Box and Muller, 1958; ONNX opset 17 RandomNormal, RandomNormalLike", normal),
      random_record("bernoulli", element + "u < x[i, j, k, l] ? 1 : 0", {},
                    "never 1 where x is 0 or NaN, always where it is 1; " + fraction,
                    "ONNX opset 17 Bernoulli", bernoulli),
  };
}

}  // namespace mote
