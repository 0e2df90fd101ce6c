// Ops that draw random numbers: a function of seed and position, so that every backend draws the
// same.
#include "families.h"

namespace mote {
namespace {

/// Element k, counted row-major, of the stream of seed from offset on: 24 random bits as a multiple
/// of 2^-24 in [0, 1).
Uop uniform_like(const Uop& x) {
  const Shape shape = shape_of(x);
  const Uop position = iota("((i0*J + i1)*K + i2)*L + i3 + $offset", shape);
  const Uop bits = map(MapOp::philox, std::vector{param("seed", DType::i64), position});
  const Uop leading = map(MapOp::shift_right, {Operand(bits), Operand(8)});
  return cast(leading, DType::f64) * 0x1p-24;
}

ProgramSpec dropout(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
  const Uop ratio = param("ratio", DType::f64);
  const Uop is_inference = iota("$training", shape_of(x)) < 1;
  const Uop kept = is_inference || uniform_like(x) >= ratio;
  const Uop scaled = x * (1 / (1 - param("ratio", instance.dtype)));
  return spec({x}, {{"y", where(is_inference, x, where(kept, scaled, 0))}, {"mask", kept}});
}

ProgramSpec bernoulli(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"I", "J", "K", "L"});
  return spec({x}, cast(uniform_like(x) < cast(x, DType::f64), instance.dtype));
}

ParamDecl seed_param() { return offset_param("seed", 0, "key of the random bits"); }
ParamDecl stream_param() {
  return offset_param("offset", 0, "position of the first element in the stream of the seed");
}

}  // namespace

std::vector<OpRecord> random_ops() {
  const std::string bits =
      "u[k] is the upper 24 of the 32 bits of word k mod 4 of block k div 4 of Philox 4x32-10 "
      "under the key seed, times 2^-24; k is the row-major position plus offset";
  return {
      {.name = "dropout",
       .family = "random",
       .equation = "mask = u >= ratio; y = mask ? x/(1 - ratio) : 0; without training y = x",
       .inputs = {{"x"}},
       .dtypes = dtypes::kReal,
       .params = {value_param("ratio", 0.5, "share of elements that are dropped"),
                  flag_param("training", 1, "0: y = x and every element is kept"), seed_param(),
                  stream_param()},
       .in_place = {{0, 0}},
       .policy = bits + "; a dropped NaN is 0",
       .source = "ONNX opset 13 Dropout; bits as in Salmon et al., SC 2011",
       .define = dropout},
      {.name = "bernoulli",
       .family = "random",
       .equation = "y = u < x ? 1 : 0",
       .inputs = {{"x"}},
       .dtypes = dtypes::kReal,
       .params = {seed_param(), stream_param()},
       .in_place = {{0, 0}},
       .policy = bits + "; a NaN probability gives 0",
       .source = "ONNX opset 15 Bernoulli; bits as in Salmon et al., SC 2011",
       .define = bernoulli},
  };
}

}  // namespace mote
